import { describe, test } from 'vitest'
import { overlaps } from './fixtures/audit.ts'
import { Fleet, leaseMs } from './fixtures/fleet.ts'
import { inLength, isChosen, measured, once, sharedKinds } from './fixtures/site.ts'
import { until } from './fixtures/witness.ts'

describe.each(sharedKinds)('a handler that blocks the loop, on %s', kind => {
  test.skipIf(!isChosen(kind))(
    'a handler that computes for many leases keeps its lease: one attempt, one verdict',
    async ({ expect, onTestFinished }) => {
      const leases = inLength({ short: 4, full: 10 })
      const fleet = await Fleet.on(kind, { tasks: { spin: { kind: 'spin', ms: leases * leaseMs } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.startAll(2)
      const rounds = inLength({ short: 1, full: 3 })
      for (let round = 1; round <= rounds; round++) {
        const job = `spin-${round}`
        await site.declare([{ name: job, task: 'spin', schedule: once((await site.now()) + 300) }])
        await until(`${job} to be settled`, () => witness.events('settled', { job }).length > 0, 60_000)
        const lines = await site.ledger({ job })
        expect(lines.map(({ end, final, attempt }) => ({ end, final, attempt }))).toEqual([{ end: 'succeeded', final: true, attempt: 1 }])
        expect(witness.runs('end', { job }).map(({ aborted }) => aborted)).toEqual([false])
      }
      expect(witness.runs('start')).toHaveLength(rounds)
      expect(witness.runs('abort')).toEqual([])
      expect(witness.events('heartbeatDegraded')).toEqual([])
      expect(overlaps(await site.ledger())).toEqual([])
      expect(await fleet.stop()).toEqual([0, 0])
      measured(`handlers that block the loop, on ${kind}`, {
        rounds,
        'leases long': leases,
        attempts: witness.runs('start').length,
        aborted: 0,
      })
    },
  )

  test.skipIf(!isChosen(kind))(
    'a handler that blocks the loop as soon as its replica has started keeps its lease',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { spin: { kind: 'spin', ms: 1.5 * leaseMs } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await site.soon([{ name: 'first', task: 'spin' }], 10)
      for (let index = 0; index < 3; index++) fleet.spawn()
      await until('it to be settled', () => witness.events('settled', { job: 'first' }).length > 0)
      expect((await site.ledger()).map(({ end, attempt }) => ({ end, attempt }))).toEqual([{ end: 'succeeded', attempt: 1 }])
      expect(witness.runs('abort')).toEqual([])
    },
  )

  test.skipIf(!isChosen(kind))(
    'a loop that stands still beyond stuckAfter is given up: another takes over, and the old run is fenced off',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { spin: { kind: 'spin', ms: [5 * leaseMs, 3 * leaseMs] } }, stuckAfter: `${leaseMs}ms` })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const stuck = await fleet.start()
      await site.declare([{ name: 'stuck', task: 'spin', schedule: once((await site.now()) + 300) }])
      const first = await witness.start({ job: 'stuck', attempt: 1 })
      expect(first.pid).toBe(stuck.pid)
      // what takes over is stuck as well, but not for so long
      const other = await fleet.start({ stuckAfter: '60s' })
      const second = await witness.start({ job: 'stuck', attempt: 2 })
      expect(second.pid).toBe(other.pid)
      expect(second.fence).toBeGreaterThan(first.fence)
      const heldMs = second.mono - first.mono
      expect(heldMs).toBeGreaterThanOrEqual(leaseMs)
      const end = await witness.end({ job: 'stuck', attempt: 1 })
      expect(end.aborted).toBe(true)
      await until('the old run to be fenced off', () => witness.events('fencedOff', { job: 'stuck', pid: stuck.pid }).length > 0)
      await until('the new run to be settled', () => witness.events('settled', { job: 'stuck', pid: other.pid }).length > 0, 60_000)
      const lines = await site.ledger({ job: 'stuck' })
      expect(lines.map(({ end: how, final, attempt }) => ({ how, final, attempt }))).toEqual([
        { how: 'leaseLost', final: false, attempt: 1 },
        { how: 'succeeded', final: true, attempt: 2 },
      ])
      expect(await fleet.stop()).toEqual([0, 0])
      measured(`a loop stuck for five leases given up after one, on ${kind}`, { 'first start to takeover ms': heldMs })
    },
  )

  test.skipIf(!isChosen(kind))(
    'where the heartbeat’s thread is killed, the loop renews at once, and tells',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, {
        tasks: { work: { kind: 'work', ms: 3 * leaseMs, heeds: true } },
        killThreadAfterMs: 700,
      })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.startAll(2)
      await site.declare([{ name: 'work', task: 'work', schedule: once((await site.now()) + 300) }])
      await until('the run to be settled', () => witness.events('settled', { job: 'work' }).length > 0, 60_000)
      const lines = await site.ledger()
      expect(lines.map(({ end, attempt }) => ({ end, attempt }))).toEqual([{ end: 'succeeded', attempt: 1 }])
      expect(witness.runs('abort')).toEqual([])
      expect(witness.events('heartbeatDegraded').length).toBeGreaterThan(0)
      expect(witness.crashes).toEqual([])
      expect(await fleet.stop()).toEqual([0, 0])
    },
  )
})
