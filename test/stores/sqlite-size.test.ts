// The SQLite store with many jobs and a long ledger: indexes are used, and the loop comes around.
import { expect, test } from 'vitest'
import type { OpenFile } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import {
  claimRequest,
  type DatabaseFile,
  declaration,
  declareRequest,
  heldLease,
  longMs,
  openFile,
  quickFolder,
  untilStoreTime,
  withFile,
} from './fixtures/sqlite-file.ts'
import { longestBlock } from './fixtures/sqlite-process.ts'

async function declareMany(store: Store, count: number, tasks: readonly string[]): Promise<void> {
  const { now } = await store.read('status', {})
  const jobs = Array.from({ length: count }, (_, index) =>
    declaration(`job ${index}`, [now + longMs + index, now + 2 * longMs], { task: tasks[index % tasks.length]! }),
  )
  const { results } = await store.declare(declareRequest(jobs, tasks))
  expect(new Set(results)).toEqual(new Set(['new']))
  expect(results).toHaveLength(count)
}

/** Lines behind the store's back: the first job's and the second's in turn, a second apart, the youngest a day old. */
function fillLedger(file: DatabaseFile, count: number, now: number): void {
  file.raw(database =>
    database.exec(`
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
      insert into onetick_runs (row_id, job, cause, scheduled_at, until_at, count, attempt, fence, ended_at, outcome, final)
      select 1 + n % 2, 1 + n % 2, '', n, n, 1, 1, n, ${now - 86_400_000} - (${count} - n) * 1000, 'succeeded', n % 1000 = 0 from numbers`),
  )
}

test('no verb and no reading goes through a whole table', () =>
  withFile(async file => {
    const texts = new Set<string>()
    const spying: OpenFile = path => {
      const database = openFile(path)
      return {
        exec: sql => database.exec(sql),
        close: () => database.close(),
        prepare: sql => {
          texts.add(sql)
          return database.prepare(sql)
        },
      }
    }
    const store = await file.migrated({ driver: spying })
    await declareMany(store, 3, ['task'])
    const { now } = await store.read('status', {})
    await store.control({ kind: 'trigger', name: 'job 0', id: 'ask' })
    const { grants } = await store.claim(await claimRequest(store))
    const { row } = grants[0]!
    await store.renew({ owner: 'me', ttlMs: longMs, leases: [{ rowId: row.id, fence: row.fence }] })
    await store.checkpoint({ rowId: row.id, owner: 'me', fence: row.fence }, 1)
    const occurrence = { cause: 'ask', scheduledAt: now }
    const end = { kind: 'final', verdict: 'succeeded', successor: null } as const
    await store.settle({ owner: 'me', items: [{ kind: 'run', rowId: row.id, fence: row.fence - 1, occurrence, end }] })
    await store.transaction(await heldLease(store, 'lease'), async () => 1)
    await store.control({ kind: 'backfill', name: 'job 1', id: 'back', at: now, until: now + 1, schedule: { schedule: 'every 1s' } })
    await store.control({ kind: 'leave', replicaId: 'you' })
    await store.control({ kind: 'prune', keepMs: 0, keepLines: 0 })
    for (const name of [undefined, 'job 1']) {
      await store.read('jobs', { all: true, ...(name === undefined ? {} : { name }) })
      await store.read('runs', { limit: 10, ...(name === undefined ? {} : { job: name }) })
    }
    await store.read('asks', { name: 'job 0' })
    await store.read('leases', {})
    await store.read('replicas', {})
    const plans = file.raw(database =>
      [...texts]
        .filter(sql => /^(select|update|insert|delete)/.test(sql))
        .map(sql => ({
          sql,
          plan: (database.prepare(`explain query plan ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail),
        })),
    )
    expect(plans.length).toBeGreaterThan(30)
    expect(plans.filter(({ plan }) => plan.some(detail => /^SCAN (onetick_|[jra]\b)/.test(detail)))).toEqual([])
  }))

test('10,000 jobs are declared, claimed from and read in pieces that leave the loop its turns', () =>
  withFile(async file => {
    const store = await file.migrated()
    const tasks = Array.from({ length: 50 }, (_, index) => `task ${index}`)
    const { workedMs } = await longestBlock(async () => {
      await declareMany(store, 10_000, tasks)
      expect(await store.claim(await claimRequest(store, { tasks }))).toMatchObject({ grants: [], moreDue: false, anyLeased: false })
      const { jobs } = await store.read('jobs', {})
      expect(jobs).toHaveLength(10_000)
      expect(new Set(jobs.map(({ name }) => name)).size).toBe(10_000)
      expect((await store.read('leases', {})).leases).toHaveLength(10_000)
      expect((await store.read('jobs', { name: 'job 77' })).jobs).toHaveLength(1)
    })
    expect(workedMs).toBeLessThan(100)
  }, quickFolder))

test('a claim takes so much at once, and says that there is more', () =>
  withFile(async file => {
    const store = await file.migrated()
    const { now } = await store.read('status', {})
    await store.declare(declareRequest(Array.from({ length: 700 }, (_, index) => declaration(`job ${index}`, [now + 800, now + longMs]))))
    await untilStoreTime(store, now + 900)
    const first = await store.claim(await claimRequest(store, { limit: 1000 }))
    expect(first.moreDue).toBe(true)
    const second = await store.claim(await claimRequest(store, { limit: 1000 }))
    expect([first.grants.length, second.grants.length, second.moreDue]).toEqual([500, 200, false])
    const held = [...first.grants, ...second.grants].map(({ row }) => ({ rowId: row.id, fence: row.fence, row }))
    const renewed = await store.renew({ owner: 'me', ttlMs: longMs, leases: held })
    expect(renewed.leases.map(({ rowId, state }) => ({ rowId, state }))).toEqual(held.map(({ rowId }) => ({ rowId, state: 'held' })))
    const end = { kind: 'final', verdict: 'succeeded', successor: null } as const
    const items = held.map(({ rowId, fence, row }) => ({
      kind: 'run' as const,
      rowId,
      fence,
      occurrence: { cause: '', scheduledAt: row.open!.scheduledAt },
      end,
    }))
    const settled = await store.settle({ owner: 'me', items })
    expect(settled.results).toEqual(items.map(() => ({ kind: 'settled' })))
  }, quickFolder))

test('the ledger is searched to its end, line by line downwards, in windows', () =>
  withFile(async file => {
    const store = await file.migrated()
    await declareMany(store, 3, ['task'])
    const { now } = await store.read('status', {})
    fillLedger(file, 45_000, now)
    const ids = async (filter: { job?: string; since?: number; before?: number; limit: number; final?: boolean }): Promise<number[]> =>
      (await store.read('runs', filter)).runs.map(({ id }) => id)
    const { workedMs } = await longestBlock(async () => {
      expect(await ids({ limit: 3 })).toEqual([45_000, 44_999, 44_998])
      expect(await ids({ limit: 100, final: true })).toEqual(Array.from({ length: 45 }, (_, index) => 45_000 - index * 1000))
      expect(await ids({ limit: 3, final: true, before: 2500 })).toEqual([2000, 1000])
      expect(await ids({ limit: 3, job: 'job 1', before: 5 })).toEqual([3, 1])
      expect(await ids({ limit: 100, job: 'job 1', final: true })).toEqual([])
      expect(await ids({ limit: 100, job: 'job 2' })).toEqual([])
      expect(await ids({ limit: 100, job: 'nothing' })).toEqual([])
      expect(await ids({ limit: 100, since: now - 86_400_000 - 2500 })).toEqual([45_000, 44_999, 44_998])
      expect(await ids({ limit: 100, job: 'job 0', since: now - 86_400_000 - 2500 })).toEqual([45_000, 44_998])
    })
    expect(workedMs).toBeLessThan(100)
    expect((await file.open({ namespace: 'other' }).read('runs', { limit: 10 })).runs).toEqual([])
  }, quickFolder))

test('a long ledger is pruned in steps, down to what is kept', () =>
  withFile(async file => {
    const store = await file.migrated()
    await declareMany(store, 1000, ['task'])
    const { now } = await store.read('status', {})
    fillLedger(file, 20_000, now)
    const { workedMs } = await longestBlock(async () => {
      await store.control({ kind: 'prune', keepMs: 7 * 86_400_000, keepLines: 100 })
      expect((await store.read('runs', { limit: 100_000 })).runs).toHaveLength(20_000)
      expect((await store.control({ kind: 'prune', keepMs: 3_600_000, keepLines: 100 })).kind).toBe('done')
    })
    expect(workedMs).toBeLessThan(100)
    const { runs } = await store.read('runs', { limit: 100_000 })
    // the newest hundred of each; the last final line of job 0 is among them, job 1 has none
    expect(runs.map(({ id }) => id)).toEqual(Array.from({ length: 200 }, (_, index) => 20_000 - index))
  }, quickFolder))
