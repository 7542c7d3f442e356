import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../servers/postgres.ts'
import { auditStarts, otherThan, overlaps, repeatedStarts, verdictsOf } from './fixtures/audit.ts'
import { Fleet } from './fixtures/fleet.ts'
import { inLength, isChosen, measured } from './fixtures/site.ts'
import { monoMs, until } from './fixtures/witness.ts'

/** Longer than any restart takes, so that no lease runs out meanwhile. */
const leaseMs = 10_000
const fastMs = 500
const longMs = 3000
const jobs = [
  { name: 'fast', task: 'fast', schedule: `every ${fastMs}ms`, overlap: 'queue', misfire: 'all' },
  { name: 'long', task: 'long', schedule: `every ${longMs}ms`, overlap: 'queue', misfire: 'all' },
] as const
const tasks = { fast: { kind: 'work', ms: 5 }, long: { kind: 'work', ms: 2000 } } as const

describe.skipIf(!isChosen('postgres'))('PostgreSQL restarts while runs are under way', () => {
  let server: PostgresServer

  beforeAll(async () => {
    server = await startPostgres()
  })

  afterAll(() => server?.stop())

  test(
    'the processes live, the runs go on, and each occurrence has one verdict, whatever way the server went',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on('postgres', { tasks, jobs, leaseMs }, server.url)
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.startAll(3)
      const downMs: number[] = []
      const backMs: number[] = []
      const ways = [() => server.restart('immediate'), () => server.kill().then(() => server.restart()), () => server.restart('fast')]
      for (let round = 0; round < inLength({ short: 3, full: 15 }); round++) {
        // In the midst of a long run, and anywhere between two fast ones.
        const running = await until('a long run', () => witness.runs('start', { job: 'long' }).at(-1))
        await until('the next long run', () => (witness.runs('start', { job: 'long' }).at(-1)?.mono ?? 0) > running.mono)
        await sleep(300 + 97 * round)
        const fromMono = monoMs()
        await (ways[round % ways.length] as () => Promise<void>)()
        const upMono = monoMs()
        downMs.push(upMono - fromMono)
        const next = await until('a start after it', () => witness.runs('start', { job: 'fast' }).find(({ mono }) => mono > upMono))
        backMs.push(next.mono - upMono)
      }
      await sleep(1000)
      expect(fleet.replicas.every(({ isAlive }) => isAlive)).toBe(true)
      expect(await fleet.stop()).toEqual([0, 0, 0])
      expect(witness.crashes).toEqual([])
      // Who had nothing to ask while the server was down has noticed nothing; who did was told of both.
      const pidsOf = (name: string): number[] => [...new Set(witness.events(name).map(({ pid }) => pid))].sort()
      expect(pidsOf('storeFailed').length).toBeGreaterThan(0)
      expect(pidsOf('storeRecovered')).toEqual(pidsOf('storeFailed'))

      const lines = await site.ledger()
      const starts = witness.runs('start')
      measured('PostgreSQL restarted', {
        restarts: downMs.length,
        'down max ms': Math.max(...downMs),
        'back to next start max ms': Math.max(...backMs),
        due: auditStarts(
          starts.filter(({ job }) => job === 'fast'),
          fastMs,
        ).due,
        starts: starts.length,
        'leases lost': lines.filter(({ end }) => end === 'leaseLost').length,
        'started twice': starts.length - new Set(starts.map(({ job, scheduledAt }) => `${job} ${scheduledAt}`)).size,
      })
      expect(Math.max(...downMs)).toBeLessThan(leaseMs / 2)
      for (const [job, everyMs] of [
        ['fast', fastMs],
        ['long', longMs],
      ] as const) {
        const own = starts.filter(run => run.job === job)
        const audit = auditStarts(own, everyMs)
        expect({ job, twice: audit.twice, missed: audit.missed }).toEqual({ job, twice: [], missed: [] })
        const range = { from: Math.min(...own.map(run => run.scheduledAt)), until: Math.max(...own.map(run => run.scheduledAt)), everyMs }
        expect(otherThan('succeeded', verdictsOf(await site.ledger({ job }), range))).toEqual([])
      }
      expect(overlaps(lines)).toEqual([])
      expect(repeatedStarts(starts)).toEqual([])
    },
    inLength({ short: 90_000, full: 300_000 }),
  )

  test('a replica that starts while the server is down tells of it, and works once it is up', async ({ expect, onTestFinished }) => {
    const fleet = await Fleet.on('postgres', { tasks, jobs }, server.url)
    onTestFinished(() => fleet.end())
    const { witness } = fleet
    await server.kill()
    const replica = await fleet.start()
    await until('the failure to be told of', () => witness.events('storeFailed').length > 0)
    await sleep(500)
    expect(replica.isAlive).toBe(true)
    await server.restart()
    await witness.start({ job: 'fast' })
    expect(await fleet.stop()).toEqual([0])
    expect(witness.crashes).toEqual([])
    expect(witness.events('storeRecovered').length).toBeGreaterThan(0)
  })

  test('a replica can be stopped while the server is down', async ({ expect, onTestFinished }) => {
    const fleet = await Fleet.on('postgres', { tasks, jobs: jobs.slice(0, 1), drainTimeout: '500ms', abortGrace: '200ms' }, server.url)
    onTestFinished(() => fleet.end())
    const { witness } = fleet
    await fleet.start()
    await witness.start({ job: 'fast' })
    await server.kill()
    try {
      const [code] = await fleet.stop()
      expect(code).toBe(0)
      expect(witness.crashes).toEqual([])
    } finally {
      await server.restart()
    }
  })
})
