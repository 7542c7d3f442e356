import { join } from 'node:path'
import { describe, test } from 'vitest'
import { auditStarts, otherThan, overlaps, verdictsOf } from './fixtures/audit.ts'
import { type BareLeaseTable, bareLeaseOnPostgres, bareLeaseOnSqlite, runBareLease } from './fixtures/bare-lease.ts'
import { Fleet, leaseMs, type Skew } from './fixtures/fleet.ts'
import { inLength, isChosen, measured, quantile, type SharedKind, Site, sharedKinds } from './fixtures/site.ts'
import { until } from './fixtures/witness.ts'

const everyMs = 500
const workMs = 5
const { replicas, occurrences } = inLength({ short: { replicas: 6, occurrences: 30 }, full: { replicas: 10, occurrences: 200 } })
const limitMs = occurrences * everyMs + 60_000

/** Wall clocks 0 to 500 ms apart; half of the replicas wake up to 500 ms late, the others up to 500 ms early. */
function skewOf(index: number): Skew {
  const share = index / (replicas - 1)
  const sign = index % 2 === 0 ? 1 : -1
  return { wallMs: Math.round(500 * share), wakeMs: sign * 250 * share, jitterMs: sign * 250 }
}

describe.concurrent.each(sharedKinds)('clocks and wake-ups that differ by 0 to 500 ms, on %s', kind => {
  test.skipIf(!isChosen(kind))(
    'a 5 ms job runs once an occurrence: nothing twice, nothing missed',
    async ({ expect, onTestFinished }) => {
      const job = { name: 'fast', task: 'fast', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all' } as const
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: workMs } }, jobs: [job] })
      onTestFinished(() => fleet.end())
      await fleet.startAll(replicas, index => ({ skew: skewOf(index) }))
      const before = new Set(fleet.witness.runs('start').map(({ scheduledAt }) => scheduledAt)).size
      await until(
        `${occurrences} occurrences`,
        () => new Set(fleet.witness.runs('start').map(({ scheduledAt }) => scheduledAt)).size >= before + occurrences,
        limitMs,
      )
      const exits = await fleet.stop()
      const starts = fleet.witness.runs('start')
      const audit = auditStarts(starts, everyMs)
      const range = {
        from: Math.min(...starts.map(run => run.scheduledAt)),
        until: Math.max(...starts.map(run => run.scheduledAt)),
        everyMs,
      }
      const ledger = await fleet.site.ledger()
      const lateMs = ledger.map(({ scheduledAt, startedAt }) => (startedAt ?? scheduledAt) - scheduledAt)
      const runners = new Set(starts.map(({ pid }) => pid)).size
      measured(`skew on ${kind}`, {
        processes: replicas,
        due: audit.due,
        ran: audit.ran,
        twice: audit.twice.length,
        missed: audit.missed.length,
        'processes that ran some': runners,
        'start − due p50 ms': quantile(lateMs, 0.5),
        'p99 ms': quantile(lateMs, 0.99),
        'max ms': Math.max(...lateMs),
      })

      expect(audit.due).toBeGreaterThanOrEqual(occurrences)
      expect(audit.twice).toEqual([])
      expect(audit.missed).toEqual([])
      expect(otherThan('succeeded', verdictsOf(ledger, range))).toEqual([])
      expect(overlaps(ledger)).toEqual([])
      expect(ledger.every(line => line.final && line.attempt === 1)).toBe(true)
      expect(fleet.witness.runs('end').filter(({ aborted }) => aborted)).toEqual([])
      expect(fleet.witness.crashes).toEqual([])
      expect(exits).toEqual(Array.from({ length: replicas }, () => 0))
    },
    limitMs + 30_000,
  )
})

describe.concurrent('the bare lease protocol, under the same check', () => {
  const tables: Readonly<Record<SharedKind, (site: Site) => Promise<BareLeaseTable>>> = {
    postgres: site => bareLeaseOnPostgres(site.url, `bare-${site.namespace}`),
    sqlite: site => bareLeaseOnSqlite(join(site.folder, 'bare.db')),
  }

  test.skipIf(!isChosen('sqlite')).each(sharedKinds)(
    'runs a 5 ms job twice on %s, because a released lease forgets its occurrence',
    async kind => {
      if (!isChosen(kind)) return
      const site = new Site(kind)
      const table = await tables[kind](site)
      try {
        const bare = inLength({ short: 6, full: occurrences })
        const share = (replica: number): number => replica / (replicas - 1)
        const starts = await runBareLease({
          table,
          replicas,
          occurrences: bare,
          everyMs,
          workMs,
          ttlMs: leaseMs,
          lateMs: replica => 250 * share(replica) + 250 * Math.random(),
        })
        const audit = auditStarts(starts, everyMs)
        measured(`the bare lease protocol on ${kind}`, {
          due: audit.due,
          starts: starts.length,
          twice: audit.twice.length,
          missed: audit.missed.length,
        })
        if (audit.twice.length === 0) throw new Error('The check could not tell the bare protocol from a safe one.')
      } finally {
        await table.close()
        await site.close()
      }
    },
  )
})
