import { describe, expect } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { testsOf } from './driver.ts'
import { aReplica, heldBy, longMs, runSettlement, seenOf, succeeded } from './requests.ts'
import { every, listed, never } from './rows.ts'
import type { Subject } from './subject.ts'

const values: readonly { readonly title: string; readonly value: Json }[] = [
  { title: 'nothing', value: null },
  { title: 'booleans', value: [true, false] },
  {
    title: 'large and small numbers',
    value: [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, Number.MIN_VALUE, 1e21, 0.1 + 0.2, 0],
  },
  {
    title: 'text of all kinds',
    value: ['', ' ', 'ü', 'u\u0308', '漢字', '😀', '\u202e', '\n\r\t\u0001\u007f', '"', '\\', "'", '\\u0000', '$1', '?', '%s', '{}'],
  },
  { title: 'deep nesting', value: JSON.parse(`${'[{"a":'.repeat(50)}1${'}]'.repeat(50)}`) as Json },
  { title: 'strange keys', value: JSON.parse('{"__proto__":{"a":1},"constructor":2,"":3," ":4,"a.b":5,"1":6}') as Json },
  { title: 'much of it', value: Array.from({ length: 2000 }, (_, i) => `entry ${i}`) },
]

export function reading(subject: Subject): void {
  const test = testsOf(subject)

  describe('what is read is what was written', () => {
    for (const { title, value } of values) {
      test(`data, checkpoints and results hold ${title}`, async arena => {
        await arena.due({ data: value })
        const grant = await arena.grant()
        // keys included that comparing by structure would not see
        const text = JSON.stringify(value)
        const same = (other: unknown) =>
          expect(JSON.stringify(sorted(other as Json))).toBe(JSON.stringify(sorted(JSON.parse(text) as Json)))
        same(grant.row.definition.data)
        expect(await arena.store.checkpoint(heldBy(grant), value)).toBe(true)
        same((await arena.row()).open?.checkpoint)
        await arena.settle(runSettlement(grant, { kind: 'final', verdict: 'succeeded', successor: null, result: value }))
        same((await arena.runs())[0]?.result)
      })
    }

    test('instants keep their milliseconds, and never is never', async arena => {
      const at = (await arena.now()) + 12_345_678
      for (const instant of [at, at + 1, at + 999, Date.UTC(2199, 11, 31, 23, 59, 59, 999)]) {
        const row = await arena.job({ schedule: listed(instant, instant + 1) })
        expect(row).toMatchObject({ nextAt: instant, afterAt: instant + 1, dueAt: instant })
      }
      const row = await arena.job({ schedule: listed(at + 5) })
      expect(row).toMatchObject({ nextAt: at + 5, afterAt: never })
      expect(await arena.job({ schedule: null })).toMatchObject({ nextAt: never, afterAt: never, dueAt: never })
      await arena.control({ kind: 'pause', name: 'job', until: at + 7, by: null, why: null })
      expect((await arena.row()).pause?.until).toBe(at + 7)
    })

    test('errors, reasons and log tails keep their text', async arena => {
      await arena.due()
      const grant = await arena.grant()
      const error = { name: 'Err"or', message: "it's \u001b[31mred\u001b[0m 😀\nline 2\r\n", stack: '' }
      const logTail = '12:00 a\r\n12:01 forged\n\ttab \\ end'
      await arena.settle(runSettlement(grant, { kind: 'final', verdict: 'failed', successor: null, error, logTail }))
      expect((await arena.runs())[0]).toMatchObject({ error, logTail, reason: null })
    })

    test('a policy of extremes is kept', async arena => {
      const policy = {
        windowMs: Number.MAX_SAFE_INTEGER,
        maxAttempts: 2_000_000_000,
        retries: 0,
        misfireLimit: 1,
        jitterMs: 86_400_000,
        takeOver: false,
      }
      const row = await arena.job({ policy, backoffMs: 1, backoffMaxMs: 2 ** 31, schedule: every(2 ** 31) })
      expect(row.definition).toMatchObject({ policy, backoffMs: 1, backoffMaxMs: 2 ** 31 })
    })

    test('a definition is kept as it was declared, not what became of it', async arena => {
      const data = { list: [1] }
      await arena.job({ data })
      data.list.push(2)
      const row = await arena.row()
      expect(row.definition.data).toEqual({ list: [1] })
      const read = row.definition.data as { list: number[] }
      read.list.push(3)
      expect((await arena.row()).definition.data).toEqual({ list: [1] })
    })
  })

  describe('read', () => {
    test('jobs: all that are not removed, or one by its name', async arena => {
      const names = async (filter: object) => (await arena.store.read('jobs', filter)).jobs.map(({ name }) => name)
      for (const name of ['b', 'a', 'gone']) await arena.job({ name })
      const gone = await arena.row('gone')
      await arena.control({ kind: 'remove', name: 'gone', seen: seenOf(gone), lines: [], nextAt: gone.nextAt })
      await arena.acquire({ name: 'lease' })
      await arena.job({ name: 'many', policy: { overlap: 'allow' } })
      await arena.trigger('m', 'many')
      await arena.startOne()
      expect((await names({})).sort()).toEqual(['a', 'b', 'many'])
      expect((await names({ removed: true })).sort()).toEqual(['a', 'b', 'gone', 'many'])
      expect((await names({ all: true })).sort()).toEqual(['a', 'b', 'lease', 'many', 'many'])
      expect(await names({ name: 'b' })).toEqual(['b'])
      expect(await names({ name: 'gone' })).toEqual([])
      expect(await names({ name: 'gone', removed: true })).toEqual(['gone'])
      expect(await names({ name: 'lease' })).toEqual([])
      expect(await names({ name: 'nobody' })).toEqual([])
    })

    test('asks: what waits, the oldest first', async arena => {
      await arena.job()
      await arena.control({ kind: 'backfill', name: 'job', id: 'b', at: 1000, until: 5000, schedule: every(1000) })
      await arena.trigger('m')
      const now = await arena.now()
      const asks = await arena.asks()
      expect(asks).toEqual([
        { id: 'b', kind: 'backfill', at: 1000, until: 5000, schedule: every(1000) },
        { id: 'm', kind: 'manual', at: asks[1]?.at, until: asks[1]?.at, schedule: null },
      ])
      expect(Math.abs(now - (asks[1]?.at ?? 0))).toBeLessThan(60_000)
      expect((await arena.store.read('asks', { name: 'nobody' })).asks).toEqual([])
    })

    test('leases: who holds what, until when, and who held it last', async arena => {
      const leases = async () => (await arena.store.read('leases', {})).leases.toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1))
      const { fence } = await arena.due()
      await arena.acquire({ name: 'a lease', owner: 'b' })
      const lease = await arena.row('a lease')
      const byName = { jobId: 'a lease', owner: 'b', acquiredAt: lease.acquiredAt, expiredAt: lease.dueAt, held: true, fence: lease.fence }
      expect(await leases()).toEqual([byName, { jobId: 'job', owner: null, acquiredAt: null, expiredAt: null, held: false, fence }])
      const grant = await arena.grant({ owner: 'a' })
      const { row } = grant
      expect(await leases()).toEqual([
        byName,
        { jobId: 'job', owner: 'a', acquiredAt: row.acquiredAt, expiredAt: row.dueAt, held: true, fence: row.fence },
      ])
      await arena.settle(runSettlement(grant, succeeded(grant)))
      const { endedAt } = await arena.row()
      expect((await leases())[1]).toEqual({
        jobId: 'job',
        owner: 'a',
        acquiredAt: row.acquiredAt,
        expiredAt: endedAt,
        held: false,
        fence: row.fence,
      })
    })

    test('replicas: who declared, who was heard of when, and not who has left', async arena => {
      const replica = aReplica({ id: 'a', host: 'höst', version: '1.2.3', release: 'r9', role: 'all', tasks: ['x', 'y z'], capacity: 12 })
      await arena.store.declare({ replica, jobs: [], liveForMs: longMs })
      const read = async () => (await arena.store.read('replicas', {})).replicas
      const [first] = await read()
      expect(first).toMatchObject({ ...replica, running: 0, draining: false })
      expect(first?.seenAt).toBe(first?.startedAt)
      await arena.sleep(5)
      await arena.claim({ owner: 'a', tasks: ['x'] })
      const [second] = await read()
      expect(second?.startedAt).toBe(first?.startedAt)
      expect(second?.seenAt).toBeGreaterThan(first?.seenAt ?? never)
      await arena.control({ kind: 'leave', replicaId: 'a' })
      expect(await read()).toEqual([])
      expect(await arena.control({ kind: 'leave', replicaId: 'a' })).toBe('done')
    })

    test('status: the store’s clock, which goes on', async arena => {
      const first = await arena.store.read('status', {})
      await arena.sleep(20)
      const second = await arena.store.read('status', {})
      expect(Number.isInteger(first.now)).toBe(true)
      expect(second.now - first.now).toBeGreaterThanOrEqual(19)
      expect(first.schemaVersion).toBeGreaterThanOrEqual(1)
    })

    test('fitness: nothing stands against a store that is fit', async arena => {
      const fitness = await arena.store.read('fitness', {})
      expect(fitness).toMatchObject({ kind: arena.store.kind, refusals: [] })
      expect(fitness.schema.found).toBe(fitness.schema.wanted)
      expect(Math.abs(fitness.now - (await arena.now()))).toBeLessThan(60_000)
      expect(fitness.latencyMs).toBeGreaterThanOrEqual(0)
    })

    test('two connections see the same', async arena => {
      await arena.due()
      const { row } = await arena.grant()
      const other = await arena.connect()
      expect((await other.read('jobs', { name: 'job' })).jobs).toEqual([row])
    })
  })
}

/** Keys in one order: stores may keep them in another. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value as Record<string, Json>).sort(([a], [b]) => (a < b ? -1 : 1))
  // a list, because a key may be __proto__
  return entries.map(([key, of]) => [key, sorted(of)])
}
