// What an app asks of an instance while it runs: trigger and schedule, and when it may.
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { MemoryDatabase, memory } from '../store/memory/index.ts'
import type { JobOptions } from './job-options.ts'
import { Onetick, type OnetickOptions } from './onetick.ts'

let database = new MemoryDatabase()
const instances: Onetick[] = []

function instance(options: OnetickOptions = {}): Onetick {
  const onetick = new Onetick({ store: memory({ database }), lease: '1s', ...options })
  instances.push(onetick)
  return onetick
}

afterEach(async () => {
  await Promise.all(instances.splice(0).map(onetick => onetick.stop({ drainTimeout: 1 })))
  database = new MemoryDatabase()
})

const asks = async () => (await memory({ database }).read('asks', { name: 'job' })).asks

test.each([
  [{ id: '' }, 'ONETICK_NAME: The id is empty.'],
  [{ id: 7 }, 'ONETICK_NAME: The id is number, not text.'],
  [{ id: null }, 'ONETICK_NAME: The id is null, not text.'],
  [{ id: 'a\0b' }, 'ONETICK_NAME'],
  [{ id: 'a\u001b[2J' }, 'ONETICK_NAME'],
  [{ id: '\ud800' }, 'ONETICK_NAME'],
  [{ id: 'x'.repeat(256) }, 'ONETICK_NAME'],
  [{ key: 'order-1' }, "ONETICK_OPTION: trigger has an option 'key' that does not exist. It may have id."],
  ['order-1', 'ONETICK_OPTION: trigger was given string for its options, not an object.'],
  [null, 'ONETICK_OPTION'],
])('trigger with %j is refused, and asks for nothing', async (options, message) => {
  const worker = instance().job('job', {}, () => undefined)
  await worker.start()
  // so that nobody takes up what is asked for
  await worker.stop()
  const onetick = instance({ role: 'client' })
  await onetick.start()
  await expect(onetick.trigger('job', options as object)).rejects.toThrow(message)
  expect(await asks()).toEqual([])
})

test('trigger without an id, and with one that is undefined, makes one of its own each time', async () => {
  const onetick = instance().job('job', {}, () => undefined)
  await onetick.start()
  const ids = [await onetick.trigger('job'), await onetick.trigger('job', { id: undefined } as object)]
  expect(new Set(ids).size).toBe(2)
})

test.each(['nobody', 'a\0b', ''])('trigger of the job %j, which is not there, is refused', async name => {
  const onetick = instance()
  await onetick.start()
  await expect(onetick.trigger(name)).rejects.toThrow(/^ONETICK_(JOB_UNKNOWN|NAME): /)
})

const calls: readonly [string, (onetick: Onetick) => Promise<unknown>][] = [
  ['trigger', onetick => onetick.trigger('job')],
  ['schedule', onetick => onetick.schedule('job', { task: 'job', schedule: 'every 1h' })],
]

test.each(calls)('%s before start asks for start, during it waits for it, and after stop for another instance', async (_what, call) => {
  const onetick = instance().job('job', {}, () => undefined)
  await expect(call(onetick)).rejects.toMatchObject({ code: 'ONETICK_NOT_STARTED', remedy: 'Call start() first.' })
  const starting = onetick.start()
  await call(onetick)
  await starting
  await onetick.stop()
  await expect(call(onetick)).rejects.toMatchObject({ code: 'ONETICK_STOPPED' })
})

test('a run that ends during the drain may ask for the next', async () => {
  const asked: string[] = []
  const onetick = instance()
  onetick.job('job', {}, () => undefined)
  onetick.job('first', {}, async () => {
    void onetick.stop()
    await new Promise(resolve => setTimeout(resolve, 50))
    asked.push(await onetick.trigger('job', { id: 'next' }))
  })
  await onetick.start()
  await onetick.trigger('first')
  await expect.poll(() => asked).toEqual(['next'])
  await onetick.stop()
  expect((await asks()).map(({ id }) => id)).toEqual(['next'])
})

test('jobs and tasks are declared before the start', async () => {
  const onetick = instance()
  await onetick.start()
  expect(() => onetick.job('a', {}, () => undefined)).toThrow(/^ONETICK_STARTED: job was called after start\. .*schedule\(\)/)
  expect(() => onetick.task('a', () => undefined)).toThrow(/^ONETICK_STARTED: task was called after start/)
  const stopped = instance()
  await stopped.stop()
  expect(() => stopped.task('a', () => undefined)).toThrow(/^ONETICK_STOPPED/)
})

test('schedule takes a task that this process defines, or another replica, and refuses one that nobody does', async () => {
  const schedule = 'every 1h'
  const [one, other] = [instance().task('mine', () => undefined), instance().task('theirs', () => undefined)]
  await one.start()
  await one.schedule('a', { task: 'mine', schedule })
  await expect(one.schedule('b', { task: 'theirs', schedule })).rejects.toThrow(
    "ONETICK_TASK_UNKNOWN: The job 'b' names the task 'theirs'. Define the task in this process, or correct the name.",
  )
  await other.start()
  await one.schedule('b', { task: 'theirs', schedule })
  await expect(one.schedule('c', { schedule } as JobOptions & { task: string })).rejects.toThrow('ONETICK_NAME: The task name is undefined')
  expect((await memory({ database }).read('jobs', {})).jobs.map(({ name }) => name)).toEqual(['a', 'b'])
})

test('a client schedules tasks that only its workers know, which may be down just now', async () => {
  const client = instance({ role: 'client' })
  await client.start()
  await client.schedule('job', { task: 'theirs', schedule: 'every 1h' })
  expect((await memory({ database }).read('jobs', {})).jobs).toMatchObject([{ name: 'job', task: 'theirs' }])
})

test('an instant that has passed is refused by schedule, and is a warning where it is declared', async () => {
  const warned: (Error & { code?: string })[] = []
  const onWarning = (warning: Error): void => void warned.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const onetick = instance().job('late', { schedule: '2020-01-01T00:00:00Z' }, () => undefined)
  await onetick.start()
  await expect(onetick.schedule('later', { task: 'late', schedule: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({
    code: 'ONETICK_SCHEDULE_NEVER',
  })
  await expect.poll(() => warned).toMatchObject([{ code: 'ONETICK_SCHEDULE_NEVER' }])
  expect(warned[0]?.message).toContain("The job 'late' is not scheduled: ONETICK_SCHEDULE_NEVER: The schedule '2020-01-01T00:00:00Z'")
})

test('an instant skipped by hand far ahead moves the next edit of its job, at start and at run time, and of no other', async () => {
  const store = memory({ database })
  const onetick = instance().job('task', {}, () => undefined)
  await onetick.start()
  for (const name of ['job', 'other']) await onetick.schedule(name, { task: 'task', schedule: 'every 1h' })
  const nextAt = async (name: string): Promise<number> => (await store.read('jobs', { name })).jobs[0]?.nextAt ?? 0
  let row = (await store.read('jobs', { name: 'job' })).jobs[0]!
  for (let hour = 1; hour <= 10; hour++) {
    const { name, rev, asked, nextAt: at } = row
    const cursor = { nextAt: at + 3_600_000, afterAt: at + 7_200_000 }
    expect((await store.control({ kind: 'skipNext', name, seen: { rev, asked, nextAt: at, open: null }, cursor })).kind).toBe('done')
    row = (await store.read('jobs', { name })).jobs[0]!
  }
  const { lastAt } = row
  const other = await nextAt('other')
  await onetick.schedule('job', { task: 'task', schedule: 'every 20m' })
  expect(await nextAt('job')).toBe((lastAt ?? 0) + 1_200_000)
  // the same by a release that declares both in one batch
  await onetick.stop()
  const release = instance().task('task', () => undefined)
  for (const name of ['job', 'other']) release.job(name, { task: 'task', schedule: 'every 30m' })
  await release.start()
  expect(await nextAt('job')).toBe((lastAt ?? 0) + 1_800_000)
  expect(await nextAt('other')).toBeLessThanOrEqual(other)
})
