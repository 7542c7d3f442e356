import { expect, test } from 'vitest'
import { OnetickError } from '../domain/errors.ts'
import { compileSchedule } from '../schedule/index.ts'
import { definitionOf, type JobOptions } from './job-options.ts'
import { Onetick } from './onetick.ts'
import { timingOf } from './timing.ts'

const timing = timingOf({})
const define = (options: object) => definitionOf('job', options as JobOptions, timing, compileSchedule)

test('a job needs nothing chosen to be safe', () => {
  expect(define({ schedule: '@daily' }).policy).toEqual({
    overlap: 'skip',
    misfire: 'latest',
    windowMs: 86_400_000,
    misfireLimit: 100,
    takeOver: true,
    maxAttempts: 3,
    retries: 0,
    strategy: 'race',
    jitterMs: 0,
  })
})

const circle: Record<string, unknown> = {}
circle.self = circle

test.each([
  [{ schedule: '60 * * * *' }, 'ONETICK_SCHEDULE'],
  [{ schedule: '0 0 30 2 *' }, 'ONETICK_SCHEDULE_NEVER'],
  [{ schedule: '@daily', timeZone: 'Mars/X' }, 'ONETICK_TIME_ZONE'],
  [{ timeZone: 'UTC' }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', cron: 'x' }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', overlap: 'forbid' }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', maxAttempts: 0 }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', retries: 1.5 }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', misfireWindow: '24' }, 'ONETICK_DURATION'],
  [{ schedule: '@daily', backoff: '1 s' }, 'ONETICK_DURATION'],
  [{ schedule: '@daily', data: circle }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', data: 1n }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', data: () => 0 }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', data: 'x'.repeat(70_000) }, 'ONETICK_OPTION'],
  [{ schedule: '@daily', data: 'a\0b' }, 'ONETICK_OPTION'],
  ['@daily', 'ONETICK_OPTION'],
  [null, 'ONETICK_OPTION'],
])('options no. %# are refused', (options, code) => {
  const refusal = (() => {
    try {
      return define(options as object)
    } catch (error) {
      return error
    }
  })()
  expect(refusal).toBeInstanceOf(OnetickError)
  expect(refusal).toMatchObject({ code })
  expect((refusal as OnetickError).remedy).not.toBe('')
})

test.each([
  [{ lease: '500ms' }, 'ONETICK_DURATION'],
  [{ lease: '30' }, 'ONETICK_DURATION'],
  [{ lease: '10s', heartbeat: '5s' }, 'ONETICK_OPTION'],
  [{ concurrency: 0 }, 'ONETICK_OPTION'],
  [{ role: 'master' }, 'ONETICK_OPTION'],
  [{ leese: '10s' }, 'ONETICK_OPTION'],
  [{ migrate: 'no' }, 'ONETICK_OPTION'],
  [{ namespace: '' }, 'ONETICK_NAME'],
  [{ namespace: 'a\u202eb' }, 'ONETICK_NAME'],
  [{ replica: '' }, 'ONETICK_NAME'],
  [{ replica: 'a\0b' }, 'ONETICK_NAME'],
  [null, 'ONETICK_OPTION'],
])('a replica with %j is refused with %s', (options, code) => {
  expect(() => new Onetick(options as object)).toThrow(code)
})

test('a job declared twice, a task nobody defined, a job without a handler: each is told at once', async () => {
  const onetick = new Onetick({ store: 'memory:' })
  onetick.job('a', { schedule: '@daily' }, () => undefined)
  expect(() => onetick.job('a', { schedule: '@daily', task: 'other' })).toThrow('ONETICK_NAME_TAKEN')
  expect(() => onetick.job('b', { schedule: '@daily' })).toThrow('ONETICK_OPTION')
  onetick.job('c', { schedule: '@daily', task: 'nobody' })
  await expect(onetick.start()).rejects.toThrow('ONETICK_TASK_UNKNOWN')
})

test.each([
  ['', { schedule: '@daily' }, 'ONETICK_NAME: The job name is empty.'],
  ['a', { schedule: '@daily', task: '' }, 'ONETICK_NAME: The task name is empty.'],
  [
    'a',
    { schedule: '@daily', cron: 'x' },
    "ONETICK_OPTION: The job 'a' has an option 'cron' that does not exist. It may have schedule, timeZone, ",
  ],
  ['a', { schedule: '@daily', maxAttempts: 0 }, "ONETICK_OPTION: maxAttempts of the job 'a' is '0'; it must be a whole number from 1"],
  ['a', { schedule: '@daily', backoff: '5' }, "ONETICK_DURATION: backoff of the job 'a' is '5', not a duration."],
  ['a', { schedule: '@daily' }, "ONETICK_OPTION: The job 'a' has neither a handler nor a task."],
])('a job %j with %j is refused in words that say what is wrong', (name, options, message) => {
  expect(() => new Onetick({ store: 'memory:' }).job(name, options)).toThrow(message)
})

test('more retries than attempts leave room for are refused, with the number that would do', () => {
  const onetick = new Onetick({ store: 'memory:' })
  const retrying = (options: JobOptions) => () => onetick.job('a', { schedule: '@daily', ...options }, () => undefined)
  expect(retrying({ retries: 5 })).toThrow(
    /^ONETICK_OPTION: retries of the job 'a' is 5, but maxAttempts is 3.*Set maxAttempts to 6 or more/,
  )
  expect(retrying({ retries: 1, maxAttempts: 1 })).toThrow('ONETICK_OPTION')
  expect(retrying({ retries: 5, maxAttempts: 6 })).not.toThrow()
})

test('a duration may be a number of milliseconds, and is no text without a unit', () => {
  expect(new Onetick({ lease: 20_000 }).timing.leaseMs).toBe(20_000)
  expect(() => new Onetick({ lease: '20000' })).toThrow(
    /^ONETICK_DURATION: lease is '20000', not a duration\. .*or milliseconds as a number\.$/,
  )
})

test('a name that is taken is told of as what it is', () => {
  const onetick = new Onetick({ store: 'memory:' })
  onetick.job('a', { schedule: '@daily' }, () => undefined)
  onetick.task('t', () => undefined)
  expect(() => onetick.job('a', { schedule: '@daily' }, () => undefined)).toThrow("The job 'a' is declared twice.")
  expect(() => onetick.task('t', () => undefined)).toThrow("The task 't' is defined twice.")
  expect(() => onetick.job('t', {}, () => undefined)).toThrow("The job 't' has a handler, and there is a task of that name.")
  // what was refused has left nothing behind
  expect(onetick.declared.map(({ name }) => name)).toEqual(['a'])
  onetick.job('t', { task: 't' })
})

test('no store: told at the start, never a private file by surprise', async () => {
  await expect(new Onetick({ store: undefined }).start()).rejects.toThrow('ONETICK_STORE_MISSING')
})

test.each([{ signal: true }, { signals: 'SIGTERM' }, null])('start with %j is refused', async options => {
  await expect(new Onetick({ store: 'memory:' }).start(options as object)).rejects.toThrow('ONETICK_OPTION')
})

test.each([{ drain: '1s' }, { drainTimeout: '1' }, 'now', null])('stop with %j is refused, and stops nothing', async options => {
  const onetick = new Onetick({ store: 'memory:' })
  await onetick.start()
  await expect(onetick.stop(options as object)).rejects.toThrow(/^ONETICK_(OPTION|DURATION)/)
  await onetick.trigger('nothing').catch(error => expect(error).toMatchObject({ code: 'ONETICK_JOB_UNKNOWN' }))
  await onetick.stop()
})

test.each([5, true, {}])('a store that is %j is refused with a code', async store => {
  await expect(new Onetick({ store: store as never }).start()).rejects.toThrow('ONETICK_STORE_URL')
})

test.each(['postgres://u:p@s3cr3t/x@127.0.0.1/test', 'postgres://u:12#s3cr3t@127.0.0.1/test', 'postgres://u:12?s3cr3t@127.0.0.1/test'])(
  'a password that is not percent-encoded is refused and not shown (%#)',
  async store => {
    await expect(new Onetick({ store }).start()).rejects.toThrow(/^ONETICK_STORE_URL(?!.*(s3cr3t|12[#?]))/)
  },
)

test('a store URL that is not known is told of without its password', async () => {
  await expect(new Onetick({ store: 'oracle://me:secret@host/db' }).start()).rejects.toThrow(/ONETICK_STORE_URL(?!.*secret)/)
})
