import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { type Pooler, startPgbouncer } from '../servers/pgbouncer.ts'
import { auditStarts, overlaps } from './fixtures/audit.ts'
import { Fleet, leaseMs } from './fixtures/fleet.ts'
import { inLength, isChosen, measured } from './fixtures/site.ts'
import { until } from './fixtures/witness.ts'

describe.skipIf(!isChosen('postgres'))('behind PgBouncer in transaction mode, with two connections for all', () => {
  let pooler: Pooler | null = null
  beforeAll(async () => {
    pooler = await startPgbouncer({ serverUrl: inject('postgresUrl') ?? '', poolSize: 2 })
  })
  afterAll(() => pooler?.stop())

  test('three replicas run each occurrence once, keep long leases, take over, and stop in order', async ({
    expect,
    onTestFinished,
    skip,
  }) => {
    if (pooler === null) return skip('PgBouncer is not there, and cannot be installed')
    const everyMs = 500
    const tasks = {
      fast: { kind: 'work', ms: 5 },
      long: { kind: 'work', ms: [60_000, 100] },
      spin: { kind: 'spin', ms: 1.5 * leaseMs },
    } as const
    const fleet = await Fleet.on('postgres', { tasks }, pooler.url)
    onTestFinished(() => fleet.end())
    const { site, witness } = fleet
    await fleet.startAll(3)
    await site.declare([{ name: 'fast', task: 'fast', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all' }])
    await site.soon([{ name: 'long', task: 'long' }], 300)
    const first = await witness.start({ job: 'long', attempt: 1 })
    // longer than a lease: only heartbeats keep it
    await sleep(1.3 * leaseMs)
    expect(witness.runs('start', { job: 'long' })).toHaveLength(1)
    await fleet.of(first).kill()
    const second = await witness.start({ job: 'long', attempt: 2 })
    expect(second.pid).not.toBe(first.pid)
    await site.soon([{ name: 'spin', task: 'spin' }], 300)
    await until('the job that blocks its loop to be settled', () => witness.events('settled', { job: 'spin' }).length > 0)
    await sleep(inLength({ short: 2000, full: 60_000 }))
    expect(await fleet.stop()).toEqual([0, 0])
    const audit = auditStarts(witness.runs('start', { job: 'fast' }), everyMs)
    measured('behind PgBouncer', { due: audit.due, ran: audit.ran, twice: audit.twice.length, missed: audit.missed.length })
    expect(audit.missed).toEqual([])
    expect((await site.ledger({ job: 'spin' })).map(({ end, attempt }) => ({ end, attempt }))).toEqual([{ end: 'succeeded', attempt: 1 }])
    // only what the killed replica had in its hands may have started again
    const lost = (await site.ledger({ job: 'fast' })).filter(({ end }) => end === 'leaseLost')
    expect(audit.twice.length).toBeLessThanOrEqual(lost.length)
    expect(lost.filter(({ owner }) => owner !== first.replica)).toEqual([])
    expect(overlaps(await site.ledger())).toEqual([])
    expect(witness.crashes).toEqual([])
  })
})
