import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, test } from 'vitest'
import type { LeaseView } from '../../src/store/store.ts'
import { bareLeaseOnPostgres, bareLeaseOnSqlite } from './fixtures/bare-lease.ts'
import { Fleet, leaseMs, sleepUntil } from './fixtures/fleet.ts'
import { inLength, isChosen, measured, Site, sharedKinds } from './fixtures/site.ts'
import { until } from './fixtures/witness.ts'

/** S5: how soon after it goes on a holder that stood still sees its signal aborted. */
const abortBoundMs = 50

describe.concurrent.each(sharedKinds)('a holder that stands still, on %s', kind => {
  test.skipIf(!isChosen(kind))(
    'a holder paused for two leases is aborted when it goes on, its settle is refused, and its successor is left alone',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, {
        // The first attempt outlasts its pause; the second is still under way when the first wants to settle.
        tasks: { ignores: { kind: 'work', ms: [7500, 6000] }, heeds: { kind: 'work', ms: [20_000, 6000], heeds: true } },
      })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const abortedAfterMs: number[] = []
      for (let round = 1; round <= inLength({ short: 1, full: 5 }); round++) {
        const [a, b] = [`ignores-${round}`, `heeds-${round}`] as const
        const holder = await fleet.start()
        const both = [
          { name: a, task: 'ignores' },
          { name: b, task: 'heeds' },
        ]
        await site.soon(both, 300)
        const first = await witness.start({ job: a })
        await witness.start({ job: b })
        expect(first.pid).toBe(holder.pid)
        const successor = await fleet.start()
        holder.signal('SIGSTOP')
        await holder.stopped()
        const second = await witness.start({ job: a, attempt: 2 })
        await witness.start({ job: b, attempt: 2 })
        expect(second.pid).toBe(successor.pid)
        expect(second.fence).toBeGreaterThan(first.fence)
        expect(second.takenOverFrom).toBe(first.replica)
        await sleepUntil(first.wall + 2 * leaseMs + 100)

        const seen = watchLeases(site)
        const continued = process.hrtime.bigint()
        holder.signal('SIGCONT')
        const fencedOff = (job: string) => () => witness.events('fencedOff', { job, pid: holder.pid })[0]
        await until(`the settle of ${a} to be refused`, fencedOff(a))
        await until(`the settle of ${b} to be refused`, fencedOff(b))
        const refused = witness.events('fencedOff').map(({ mono }) => mono)
        const secondEnds = await Promise.all([a, b].map(job => witness.end({ job, attempt: 2 })))
        // Else nothing would have been shown.
        expect(Math.max(...refused)).toBeLessThan(Math.min(...secondEnds.map(({ mono }) => mono)))
        await until('both to be settled', () => [a, b].every(job => witness.events('settled', { job, pid: successor.pid }).length === 1))

        const leases = await seen.end()
        const ofSuccessor = { owner: second.replica, fence: second.fence }
        const held = leases.filter(({ jobId, held: isHeld }) => jobId === a && isHeld)
        expect(held.map(({ owner, fence }) => ({ owner, fence }))).toEqual(held.map(() => ofSuccessor))
        expect(held.map(({ expiredAt }) => expiredAt)).toEqual(held.map(({ expiredAt }) => expiredAt).sort((x, y) => (x ?? 0) - (y ?? 0)))
        expect(held.length).toBeGreaterThan(5)

        const stallMs = await fleet.longestStallMs(Number(continued) / 1e6)
        for (const job of [a, b]) {
          const aborted = witness.runs('abort', { job, attempt: 1 })
          expect(aborted.map(({ code }) => code)).toEqual(['ONETICK_LEASE_LOST'])
          const afterMs = (aborted[0]?.mono ?? 0) - Number(continued) / 1e6
          abortedAfterMs.push(afterMs)
          expect(afterMs).toBeLessThanOrEqual(abortBoundMs + stallMs)
          expect(witness.runs('end', { job, attempt: 1 }).map(({ aborted: was }) => was)).toEqual([true])
          expect(witness.runs('abort', { job, attempt: 2 })).toEqual([])
          const lines = await site.ledger({ job })
          expect(lines.map(({ end, final, attempt, owner, fence }) => ({ end, final, attempt, owner, fence }))).toEqual([
            {
              end: 'leaseLost',
              final: false,
              attempt: 1,
              owner: first.replica,
              fence: witness.runs('start', { job, attempt: 1 })[0]?.fence,
            },
            {
              end: 'succeeded',
              final: true,
              attempt: 2,
              owner: second.replica,
              fence: witness.runs('start', { job, attempt: 2 })[0]?.fence,
            },
          ])
          // S2: the second starts by the store's clock only when the first has run out
          expect(lines[1]?.startedAt).toBeGreaterThanOrEqual(lines[0]?.endedAt ?? Number.NaN)
        }
        expect(await fleet.stop()).toEqual([0, 0])
      }
      expect(witness.crashes).toEqual([])
      measured(`pause on ${kind}`, {
        rounds: abortedAfterMs.length / 2,
        'paused ms': 2 * leaseMs,
        'signal aborted after SIGCONT, max ms': Math.max(...abortedAfterMs),
        'late settles refused': witness.events('fencedOff').length,
        'late settles taken': (await site.ledger()).filter(({ final, attempt }) => final && attempt === 1).length,
      })
    },
    inLength({ short: 60_000, full: 150_000 }),
  )

  test.skipIf(!isChosen(kind))('a pause shorter than the lease costs nobody the run', async ({ expect, onTestFinished }) => {
    const fleet = await Fleet.on(kind, { tasks: { work: { kind: 'work', ms: 3500 } } })
    onTestFinished(() => fleet.end())
    await fleet.startAll(2)
    await fleet.site.soon([{ name: 'long', task: 'work' }], 300)
    const { pid } = await fleet.witness.start({ job: 'long' })
    const holder = fleet.of({ pid })
    await sleep(200)
    holder.signal('SIGSTOP')
    await sleep(1000)
    holder.signal('SIGCONT')
    await until('the run to be settled', () => fleet.witness.events('settled', { job: 'long' }).length > 0)
    expect((await fleet.site.ledger()).map(({ end, attempt }) => ({ end, attempt }))).toEqual([{ end: 'succeeded', attempt: 1 }])
    expect(fleet.witness.runs('start')).toHaveLength(1)
    expect(fleet.witness.runs('abort')).toEqual([])
  })

  test.skipIf(!isChosen(kind))(
    'what was granted before a pause longer than the lease is never started after it',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const holder = await fleet.start({ failAt: 'pauseAfterClaim' })
      await site.soon([{ name: 'once', task: 'fast' }], 300)
      await until('the claim', () => witness.notes.some(({ t }) => t === 'failpoint'))
      await fleet.start()
      await until('the run elsewhere', () => witness.events('settled', { job: 'once' }).length > 0)
      holder.signal('SIGCONT')
      const after = `after-${kind}`
      await site.soon([{ name: after, task: 'fast' }], 1000)
      await until('the next job', () => witness.events('settled', { job: after }).length > 0)
      expect(await fleet.stop()).toEqual([0, 0])
      expect(witness.runs('start', { job: 'once' }).map(({ attempt, pid }) => ({ attempt, here: pid === holder.pid }))).toEqual([
        { attempt: 2, here: false },
      ])
      expect((await site.ledger({ job: 'once' })).map(({ end }) => end)).toEqual(['leaseLost', 'succeeded'])
    },
  )
})

test.each(sharedKinds)('under the bare lease protocol on %s a paused holder frees its successor', async kind => {
  if (!isChosen(kind)) return
  const site = new Site(kind)
  const table = await (kind === 'postgres'
    ? bareLeaseOnPostgres(site.url, `bare-${site.namespace}`)
    : bareLeaseOnSqlite(join(site.folder, 'bare.db')))
  try {
    const lease = (owner: string) => ({ jobId: 'long', owner, ttlMs: 150 })
    const got = [await table.acquire(lease('paused'))]
    await sleep(200)
    got.push(await table.acquire(lease('successor')))
    // It goes on, ends, and lets go of what it believes is its own.
    await table.release('long')
    got.push(await table.acquire(lease('third')))
    if (!got.every(Boolean)) throw new Error('The bare protocol kept the successor safe; then this suite proves nothing.')
  } finally {
    await table.close()
    await site.close()
  }
})

/** The leases, read again and again. */
function watchLeases(site: Site): { end(): Promise<readonly LeaseView[]> } {
  let isOver = false
  const read = async (): Promise<readonly LeaseView[]> => {
    const seen: LeaseView[] = []
    while (!isOver) {
      seen.push(...(await site.store.read('leases', {})).leases)
      await sleep(50)
    }
    return seen
  }
  const reading = read()
  return {
    end: () => {
      isOver = true
      return reading
    },
  }
}
