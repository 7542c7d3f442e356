import { setTimeout as sleep } from 'node:timers/promises'
import { describe, test } from 'vitest'
import type { Json } from '../../src/domain/json.ts'
import { Onetick, type OnetickOptions } from '../../src/scheduler/onetick.ts'
import { openStore } from '../../src/store/open.ts'
import { auditStarts, otherThan, overlaps, repeatedStarts, verdictsOf } from './fixtures/audit.ts'
import { Fleet } from './fixtures/fleet.ts'
import { faultsOf, lossy } from './fixtures/lossy-store.ts'
import { inLength, isChosen, measured, once, Site, sharedKinds } from './fixtures/site.ts'
import { until } from './fixtures/witness.ts'

interface Start {
  readonly app: string
  readonly job: string
  readonly cause: string
  readonly scheduledAt: number
  readonly attempt: number
  readonly data: Json
}

/** An app in this very process, whose handlers of task `fast` are written down. */
function appOn(site: Site, starts: Start[], options: OnetickOptions = {}): Onetick {
  const app = new Onetick({ store: site.url, namespace: site.namespace, lease: '1s', ...options })
  app.task('fast', ({ job, cause, scheduledAt, attempt, data }) => {
    starts.push({ app: app.replicaId, job, cause, scheduledAt: scheduledAt.getTime(), attempt, data })
    return sleep(5)
  })
  return app
}

describe.concurrent.each(sharedKinds)('what misbehaves, on %s', kind => {
  test.skipIf(!isChosen(kind))(
    'handlers that throw in every way, and listeners that do, leave the process alive and each occurrence one verdict',
    async ({ expect, onTestFinished }) => {
      // What the replicas' own process knows, which is plain JavaScript.
      const { thrown } = (await import(new URL('fixtures/thrown.mjs', import.meta.url).href)) as {
        thrown: Readonly<Record<string, unknown>>
      }
      const ways = Object.keys(thrown)
      expect(ways.length).toBeGreaterThan(10)
      const tasks = Object.fromEntries(ways.map(what => [what, { kind: 'throw', what } as const]))
      const fleet = await Fleet.on(kind, { tasks: { ...tasks, steady: { kind: 'work', ms: 5 } }, badListeners: true, concurrency: 30 })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.startAll(2)
      const everyMs = 200
      await site.soon(
        ways.map(what => ({ name: what, task: what })),
        500,
      )
      await site.declare([{ name: 'steady', task: 'steady', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all' }])
      await until('a verdict for each', async () => {
        const lines = await site.ledger({ final: true })
        return ways.every(what => lines.some(({ job }) => job === what))
      })
      const last = await site.now()
      await until('the steady job to go on', () =>
        witness.runs('start', { job: 'steady' }).some(({ scheduledAt }) => scheduledAt > last + 500),
      )
      expect(await fleet.stop()).toEqual([0, 0])
      expect(witness.crashes).toEqual([])
      for (const what of ways) {
        const lines = await site.ledger({ job: what })
        expect({ what, ends: lines.map(({ end, final, attempt }) => ({ end, final, attempt })) }).toEqual({
          what,
          ends: [{ end: 'failed', final: true, attempt: 1 }],
        })
        expect(typeof lines[0]?.error?.message).toBe('string')
        expect(witness.runs('start', { job: what })).toHaveLength(1)
      }
      const audit = auditStarts(witness.runs('start', { job: 'steady' }), everyMs)
      expect({ twice: audit.twice, missed: audit.missed }).toEqual({ twice: [], missed: [] })
      const told = witness.events('listenerFailed').map(({ event }) => event['event'])
      expect(told).toContain('started')
      expect(told).toContain('settled')
    },
  )

  test.skipIf(!isChosen(kind))(
    'a handler that always throws is tried as often as allowed, with a pause that doubles, then failed; the next occurrence starts afresh',
    async ({ expect, onTestFinished }) => {
      const everyMs = 2000
      const fleet = await Fleet.on(kind, { tasks: { bad: { kind: 'throw', what: 'late' } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.startAll(2)
      await site.declare([{ name: 'bad', task: 'bad', schedule: `every ${everyMs}ms`, retries: 2, backoff: '200ms' }])
      const first = await witness.start({ job: 'bad' })
      await until('the next occurrence', () =>
        witness.runs('start', { attempt: 1 }).find(({ scheduledAt }) => scheduledAt > first.scheduledAt),
      )
      const lines = (await site.ledger()).filter(({ scheduledAt }) => scheduledAt === first.scheduledAt)
      expect(lines.map(({ end, final, attempt }) => ({ end, final, attempt }))).toEqual([
        { end: 'failed', final: false, attempt: 1 },
        { end: 'failed', final: false, attempt: 2 },
        { end: 'failed', final: true, attempt: 3 },
      ])
      const pauses = lines.slice(1).map(({ startedAt }, index) => (startedAt ?? 0) - (lines[index]?.endedAt ?? 0))
      // A fifth either way, so that retries of many jobs spread.
      expect(pauses[0]).toBeGreaterThanOrEqual(160)
      expect(pauses[1]).toBeGreaterThanOrEqual(320)
      expect(await fleet.stop()).toEqual([0, 0])
      expect(repeatedStarts(witness.runs('start'))).toEqual([])
    },
  )

  test.skipIf(!isChosen(kind))(
    'a store whose calls fail at random, or lose their replies, costs no occurrence its one verdict',
    async ({ expect, onTestFinished }) => {
      const everyMs = 200
      for (const seed of inLength({ short: [4711], full: Array.from({ length: 20 }, (_, n) => n + 1) })) {
        const site = await Site.on(kind)
        onTestFinished(() => site.close())
        const faults = faultsOf(seed, 350)
        const starts: Start[] = []
        const told = { storeFailed: 0, storeRecovered: 0 }
        const apps = Array.from({ length: 3 }, () => {
          const store = lossy(openStore(site.url, { namespace: site.namespace, callTimeoutMs: 166 }), faults)
          const app = appOn(site, starts, { store })
          for (const name of ['a', 'b', 'c']) {
            app.job(name, {
              task: 'fast',
              schedule: `every ${everyMs}ms`,
              overlap: 'queue',
              misfire: 'all',
              misfireLimit: 10_000,
              maxAttempts: 1000,
            })
          }
          app.on('storeFailed', () => {
            told.storeFailed++
          })
          app.on('storeRecovered', () => {
            told.storeRecovered++
          })
          return app
        })
        await Promise.all(apps.map(app => app.start()))
        await sleep(inLength({ short: 6000, full: 10_000 }))
        faults.isOn = false
        const healedAt = await site.now()
        // L3: all that came due meanwhile has its verdict in the end.
        await until(
          `seed ${seed}: every job to catch up`,
          async () => {
            const lines = await site.ledger({ final: true })
            return ['a', 'b', 'c'].every(job => lines.some(line => line.job === job && line.scheduledAt > healedAt))
          },
          40_000,
        )
        await Promise.all(apps.map(app => app.stop()))
        const lines = await site.ledger()
        for (const job of ['a', 'b', 'c']) {
          const own = lines.filter(line => line.job === job)
          const finals = own.filter(({ final }) => final).map(({ scheduledAt }) => scheduledAt)
          const range = { from: Math.min(...finals), until: Math.max(...finals), everyMs }
          expect({ seed, job, wrong: otherThan('succeeded', verdictsOf(own, range)) }).toEqual({ seed, job, wrong: [] })
        }
        expect({ seed, overlaps: overlaps(lines) }).toEqual({ seed, overlaps: [] })
        expect({ seed, repeated: repeatedStarts(starts) }).toEqual({ seed, repeated: [] })
        expect(told.storeFailed).toBeGreaterThan(0)
        expect(told.storeRecovered).toBeGreaterThan(0)
        // "Sometimes" counts: a fault that never came shows nothing.
        expect(Object.entries(faults.done).filter(([, count]) => count === 0)).toEqual([])
        measured(`a lossy store on ${kind}, seed ${seed}`, {
          ...faults.done,
          verdicts: lines.filter(({ final }) => final).length,
          'leases lost': lines.filter(({ end }) => end === 'leaseLost').length,
          starts: starts.length,
        })
      }
    },
    inLength({ short: 90_000, full: 900_000 }),
  )

  test.skipIf(!isChosen(kind))(
    'two apps in one process share the runs, and start called again changes nothing',
    async ({ expect, onTestFinished }) => {
      const everyMs = 200
      const site = await Site.on(kind)
      onTestFinished(() => site.close())
      const starts: Start[] = []
      const [a, b] = [appOn(site, starts), appOn(site, starts)]
      for (const app of [a, b]) app.job('shared', { task: 'fast', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all' })
      await Promise.all([a.start(), a.start(), b.start()])
      await a.start()
      await until('runs', () => starts.length >= 10)
      await Promise.all([a.stop(), a.stop(), b.stop()])
      // The same host, and yet two owners.
      expect(a.replicaId).not.toBe(b.replicaId)
      const audit = auditStarts(starts, everyMs)
      expect({ twice: audit.twice, missed: audit.missed }).toEqual({ twice: [], missed: [] })
      expect(overlaps(await site.ledger())).toEqual([])
    },
  )

  test.skipIf(!isChosen(kind))('namespaces of one store do not see each other', async ({ expect, onTestFinished }) => {
    const site = await Site.on(kind)
    onTestFinished(() => site.close())
    const starts: Start[] = []
    // Far enough ahead for both to have declared it: a one-off that is over is refused while it is new.
    const at = (await site.now()) + 4000
    const apps = ['one', 'two'].map(name => {
      const app = appOn(site, starts, { namespace: `${site.namespace}-${name}` })
      return app.job('same', { task: 'fast', schedule: once(at), data: name })
    })
    await Promise.all(apps.map(app => app.start()))
    await until('both', () => starts.length >= 2)
    await Promise.all(apps.map(app => app.stop()))
    expect(starts.map(({ data }) => data).sort()).toEqual(['one', 'two'])
    expect(starts.every(({ scheduledAt, attempt }) => scheduledAt === at && attempt === 1)).toBe(true)
  })

  test.skipIf(!isChosen(kind))(
    'a client never claims, and what it triggers runs on a worker, at once and once',
    async ({ expect, onTestFinished }) => {
      const everyMs = 300
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 }, asked: { kind: 'work', ms: 5 } }, noteCalls: true })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const client = await fleet.start({ role: 'client' })
      await site.declare([
        { name: 'fast', task: 'fast', schedule: `every ${everyMs}ms` },
        { name: 'asked', task: 'asked' },
      ])
      // Due for a while, and left alone.
      await sleep(3 * everyMs)
      expect(witness.runs('start')).toEqual([])
      expect(witness.calls('claim')).toEqual([])
      const worker = await fleet.start()
      const starts: Start[] = []
      const api = appOn(site, starts, { role: 'client' })
      onTestFinished(() => api.stop())
      await api.start()
      await witness.start({ job: 'fast' })
      const askedAt = await site.now()
      const cause = await api.trigger('asked', { id: 'order-1' })
      await api.trigger('asked', { id: 'order-1' })
      const run = await witness.start({ job: 'asked' })
      await until('its verdict', async () => (await site.ledger({ job: 'asked', final: true })).length === 1)
      await api.trigger('asked', { id: 'order-1' })
      expect(await fleet.stop()).toContain(0)
      expect(cause).toBe('order-1')
      expect({ pid: run.pid, cause: run.cause }).toEqual({ pid: worker.pid, cause: 'order-1' })
      const lines = await site.ledger({ job: 'asked' })
      expect(lines.map(({ cause: by, end }) => ({ by, end }))).toEqual([{ by: 'order-1', end: 'succeeded' }])
      measured(`triggered on ${kind}`, { 'asked to start ms': (lines[0]?.startedAt ?? Number.NaN) - askedAt })
      expect(witness.runs('start', { pid: client.pid })).toEqual([])
      expect(starts).toEqual([])
    },
  )
})
