import { setTimeout as sleep } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { auditStarts, otherThan, overlaps, repeatedStarts, verdictsOf } from './fixtures/audit.ts'
import { callTimeoutMs, Fleet, leaseMs, type ReplicaProcess, sleepUntil, takeoverBoundMs } from './fixtures/fleet.ts'
import { inLength, isChosen, measured, quantile, sharedKinds } from './fixtures/site.ts'
import { monoMs, until } from './fixtures/witness.ts'

/** L2: a healthy replica starts an occurrence at most this long after its instant. */
const punctualBoundMs = 250 + callTimeoutMs

describe.concurrent.each(sharedKinds)('a holder that dies, on %s', kind => {
  test.skipIf(!isChosen(kind))(
    'a run whose holder is killed starts again elsewhere within the bound',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { work: { kind: 'work', ms: [60_000, 50] } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.startAll(3)
      const sinceRenewalMs: number[] = []
      const sinceKillMs: number[] = []
      const rounds = inLength({ short: 3, full: 20 })
      for (let round = 1; round <= rounds; round++) {
        const job = `round-${round}`
        await site.soon([{ name: job, task: 'work' }], 200)
        const first = await witness.start({ job })
        // The kill falls anywhere between two renewals.
        await sleep(1000 + 1000 * ((round * 0.37) % 1))
        const killedMono = monoMs()
        await fleet.of(first).kill()
        const replacement = fleet.start()
        const second = await witness.start({ job, attempt: 2 })
        await until(`${job} to be settled`, () => witness.events('settled', { job }).length > 0)
        await replacement
        const stallMs = await fleet.longestStallMs(killedMono)

        expect(second.pid).not.toBe(first.pid)
        expect(second.scheduledAt).toBe(first.scheduledAt)
        expect(second.takenOverFrom).toBe(first.replica)
        expect(second.fence).toBeGreaterThan(first.fence)
        const lines = await site.ledger({ job })
        expect(lines.map(({ end, attempt, owner }) => ({ end, attempt, owner }))).toEqual([
          { end: 'leaseLost', attempt: 1, owner: first.replica },
          { end: 'succeeded', attempt: 2, owner: second.replica },
        ])
        // The lost line ends when the lease did: one lease after the last renewal.
        const lastRenewal = (lines[0]?.endedAt ?? Number.NaN) - leaseMs
        const afterRenewalMs = (lines[1]?.startedAt ?? Number.NaN) - lastRenewal
        sinceRenewalMs.push(afterRenewalMs)
        sinceKillMs.push(second.mono - killedMono)
        expect(afterRenewalMs).toBeGreaterThanOrEqual(leaseMs)
        expect(afterRenewalMs).toBeLessThanOrEqual(takeoverBoundMs + stallMs)
        expect(second.mono - killedMono).toBeLessThanOrEqual(takeoverBoundMs + stallMs)
        expect(witness.runs('start', { job })).toHaveLength(2)
      }
      expect(witness.crashes).toEqual([])
      expect(overlaps(await site.ledger())).toEqual([])
      measured(`takeover on ${kind}`, {
        rounds,
        'last renewal to next start p50 ms': quantile(sinceRenewalMs, 0.5),
        'max ms': Math.max(...sinceRenewalMs),
        'bound ms': takeoverBoundMs,
        'kill to next start p50 ms': quantile(sinceKillMs, 0.5),
        'kill to next start max ms': Math.max(...sinceKillMs),
      })
    },
    inLength({ short: 90_000, full: 300_000 }),
  )

  test.skipIf(!isChosen(kind))(
    'a holder that dies between claim and start leaves the run to another',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const victim = await fleet.start({ failAt: 'dieAfterClaim' })
      await site.soon([{ name: 'once', task: 'fast' }], 200)
      const { mono: diedMono } = await victim.exited
      await fleet.start()
      await until('the run elsewhere', () => witness.events('settled', { job: 'once' }).length > 0)
      expect(witness.runs('start', { job: 'once' }).map(({ attempt }) => attempt)).toEqual([2])
      expect((witness.runs('start')[0]?.mono ?? 0) - diedMono).toBeLessThanOrEqual(takeoverBoundMs + (await fleet.longestStallMs(diedMono)))
      expect((await site.ledger()).map(({ end, attempt }) => ({ end, attempt }))).toEqual([
        { end: 'leaseLost', attempt: 1 },
        { end: 'succeeded', attempt: 2 },
      ])
    },
  )

  test.skipIf(!isChosen(kind))(
    'after a death between effect and settle the run starts again, or with onTakeover skip is abandoned',
    async ({ expect, onTestFinished }) => {
      // long enough that no victim takes over what the other left
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } }, leaseMs: 10_000 })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      for (const onTakeover of ['retry', 'skip'] as const) {
        const victim = await fleet.start({ failAt: 'dieBeforeSettle' })
        await site.soon([{ name: onTakeover, task: 'fast', onTakeover }], 200)
        await victim.exited
      }
      await fleet.start()
      await until('a verdict for both', async () => (await site.ledger({ final: true })).length === 2)
      expect(witness.runs('end', { job: 'retry' }).map(({ attempt }) => attempt)).toEqual([1, 2])
      expect(witness.runs('end', { job: 'skip' }).map(({ attempt }) => attempt)).toEqual([1])
      const ends = async (job: string) => (await site.ledger({ job })).map(({ end, reason }) => ({ end, reason }))
      expect(await ends('retry')).toEqual([
        { end: 'leaseLost', reason: null },
        { end: 'succeeded', reason: null },
      ])
      expect(await ends('skip')).toEqual([
        { end: 'leaseLost', reason: null },
        { end: 'abandoned', reason: 'takeover' },
      ])
    },
  )

  test.skipIf(!isChosen(kind))(
    'a job that kills its process is abandoned after maxAttempts, and its next occurrence is unaffected',
    async ({ expect, onTestFinished }) => {
      const everyMs = 1000
      const fleet = await Fleet.on(kind, { tasks: { poison: { kind: 'die' } }, leaseMs: 1000 })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      // One more than it may kill.
      await fleet.startAll(4)
      const at = Math.ceil(((await site.now()) + 1500) / everyMs) * everyMs
      await site.declare([{ name: 'poison', task: 'poison', schedule: `every ${everyMs}ms`, maxAttempts: 3, data: at }])
      const verdict = await until('the verdict', async () => (await site.ledger({ final: true })).find(line => line.scheduledAt === at))
      expect({ end: verdict.end, reason: verdict.reason }).toEqual({ end: 'abandoned', reason: 'attempts' })
      const next = await until('the next occurrence', () => witness.runs('start').find(({ scheduledAt }) => scheduledAt > at))
      expect(next.attempt).toBe(1)
      const starts = witness.runs('start').filter(({ scheduledAt }) => scheduledAt === at)
      expect(starts.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
      expect(new Set(starts.map(({ pid }) => pid)).size).toBe(3)
      expect(fleet.replicas.filter(({ isAlive }) => isAlive)).toHaveLength(1)
      expect(await fleet.stop()).toEqual([0])
      // S2: each occurrence one verdict, those that came due meanwhile too.
      const range = { from: at - everyMs, until: next.scheduledAt, everyMs }
      const verdicts = verdictsOf(await site.ledger(), range)
      expect([...verdicts.values()].filter(ends => ends.length !== 1)).toEqual([])
    },
  )

  test.skipIf(!isChosen(kind))('with onTakeover skip a killed run is abandoned and not run again', async ({ expect, onTestFinished }) => {
    const fleet = await Fleet.on(kind, { tasks: { work: { kind: 'work', ms: 60_000 } }, leaseMs: 1000 })
    onTestFinished(() => fleet.end())
    const { site, witness } = fleet
    await fleet.startAll(2)
    await site.soon([{ name: 'pay', task: 'work', onTakeover: 'skip' }], 200)
    await fleet.of(await witness.start({ job: 'pay' })).kill()
    await until('the verdict', async () => (await site.ledger({ final: true })).length === 1)
    expect(await fleet.stop()).toEqual([0])
    expect((await site.ledger()).map(({ end, reason, attempt }) => ({ end, reason, attempt }))).toEqual([
      { end: 'leaseLost', reason: null, attempt: 1 },
      { end: 'abandoned', reason: 'takeover', attempt: 1 },
    ])
    expect(witness.runs('start')).toHaveLength(1)
  })

  test.skipIf(!isChosen(kind))(
    'when a replica is killed 5 ms before the instant, another starts the occurrence on time',
    async ({ expect, onTestFinished }) => {
      const everyMs = 1000
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.startAll(2)
      await site.declare([{ name: 'fast', task: 'fast', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all' }])
      const kills = inLength({ short: 4, full: 40 })
      const since = monoMs()
      const late: number[] = []
      let killed = 0
      let { scheduledAt } = await witness.start({ job: 'fast' })
      while (killed < kills) {
        await sleepUntil(scheduledAt + everyMs - 5)
        // Whoever ran last is the likeliest to run next.
        const victim = witness.runs('start').findLast(run => fleet.of(run).isAlive)
        // Woken too late by a busy machine, a kill would be a takeover: another instant will do.
        if (victim !== undefined && Date.now() < scheduledAt + everyMs) {
          const death = fleet.of(victim).kill()
          // the kill itself came too late: its process may have had the lease
          if (Date.now() < scheduledAt + everyMs) killed++
          else late.push(scheduledAt + everyMs)
          await death
          await fleet.start()
        }
        scheduledAt = await until('the next start', () => witness.runs('start').find(run => run.scheduledAt > scheduledAt)?.scheduledAt)
        scheduledAt = witness.runs('start').at(-1)?.scheduledAt ?? scheduledAt
      }
      const stallMs = await fleet.longestStallMs(since)
      expect(await fleet.stop()).toEqual([0, 0])
      const starts = witness.runs('start')
      const audit = auditStarts(starts, everyMs)
      const lines = (await site.ledger()).filter(({ final }) => final)
      // A process that dies with the lease in hand is a takeover; all the others are to be on time.
      const onTime = lines.filter(({ attempt }) => attempt === 1)
      const isJudged = (at: number): boolean => !late.some(from => at >= from && at <= from + takeoverBoundMs)
      const judged = onTime.filter(line => isJudged(line.scheduledAt))
      const lateMs = judged.map(({ startedAt, scheduledAt: at }) => (startedAt ?? Number.NaN) - at)
      measured(`killed 5 ms before the instant, on ${kind}`, {
        kills,
        'kills that came too late': late.length,
        due: audit.due,
        ran: audit.ran,
        twice: audit.twice.length,
        'taken over': lines.length - onTime.length,
        'start − due p50 ms': quantile(lateMs, 0.5),
        'max ms': Math.max(...lateMs),
      })
      expect(audit.missed).toEqual([])
      const again = lines.filter(({ attempt }) => attempt > 1).map(line => line.scheduledAt)
      expect(again.filter(isJudged)).toEqual([])
      expect(audit.twice.filter(isJudged)).toEqual([])
      expect(Math.max(...lateMs)).toBeLessThanOrEqual(punctualBoundMs + stallMs)
    },
    inLength({ short: 60_000, full: 180_000 }),
  )

  test.skipIf(!isChosen(kind))(
    'when all replicas are down at the instant, one catch-up runs after the start',
    async ({ expect, onTestFinished }) => {
      const everyMs = 1000
      const job = { name: 'fast', task: 'fast', schedule: `every ${everyMs}ms` }
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } }, jobs: [job] })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const before = await fleet.start()
      await witness.start({ job: 'fast' })
      before.signal('SIGTERM')
      expect((await before.exited).code).toBe(0)
      const last = Math.max(...witness.runs('start').map(({ scheduledAt }) => scheduledAt))
      await sleepUntil(last + 5 * everyMs)
      const started = witness.runs('start').length
      const back = fleet.spawn()
      await until('runs after the start', () => witness.runs('start').length >= started + 3)
      expect(await fleet.stop()).toEqual([0])
      const after = witness.runs('start').slice(started)
      const first = after[0]?.scheduledAt ?? Number.NaN
      // D1, L3: the latest missed instant runs, once; those before it are superseded, each with its verdict.
      expect(after.every(({ pid }) => pid === back.pid)).toBe(true)
      expect(first - last).toBeGreaterThanOrEqual(5 * everyMs)
      expect((after[0]?.wall ?? 0) - first).toBeGreaterThanOrEqual(0)
      const lines = await site.ledger()
      const missed = verdictsOf(lines, { from: last + everyMs, until: first - everyMs, everyMs })
      expect(otherThan('superseded (misfire)', missed)).toEqual([])
      expect(lines.filter(({ end }) => end === 'superseded')).toHaveLength(1)
      const ran = verdictsOf(lines, { from: first, until: after.at(-1)?.scheduledAt ?? first, everyMs })
      expect([...ran.values()].filter(ends => ends.length !== 1)).toEqual([])
      expect(auditStarts(after, everyMs).twice).toEqual([])
    },
  )
})

describe.concurrent.each(sharedKinds)('a crash loop, on %s', kind => {
  test.skipIf(!isChosen(kind))(
    'in 50 rapid restarts around due instants an occurrence starts again only where its holder died',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } }, leaseMs: 1000 })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const restarts = 50
      const atOnce = 5
      const everyMs = 500
      // Every replica declares the job as it starts.
      const jobs = [
        { name: 'fast', task: 'fast', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all', maxAttempts: 100 } as const,
      ]
      for (let started = 0; started < restarts; started += atOnce) {
        const wave = Array.from({ length: atOnce }, () => fleet.spawn({ jobs }))
        // They die anywhere: some while they declare, some at the instant, some within a run.
        if (started % 3 !== 0) await fleet.ready(wave[0] as ReplicaProcess)
        await sleepUntil(Math.ceil(Date.now() / everyMs) * everyMs + ((started / atOnce) % 5) * 2)
        await Promise.all(wave.map(replica => replica.kill()))
      }
      const last = await site.now()
      const survivor = await fleet.start({ jobs })
      await until('all that was left to be settled', async () =>
        (await site.ledger({ final: true })).some(({ scheduledAt }) => scheduledAt > last),
      )
      survivor.signal('SIGTERM')
      expect((await survivor.exited).code).toBe(0)

      const lines = await site.ledger()
      const starts = witness.runs('start')
      const finals = lines.filter(({ final }) => final).map(({ scheduledAt }) => scheduledAt)
      const range = { from: Math.min(...finals), until: Math.max(...finals), everyMs }
      expect(otherThan('succeeded', verdictsOf(lines, range))).toEqual([])
      // An attempt starts once, and the next only where the store lost the one before with its process.
      expect(repeatedStarts(starts)).toEqual([])
      expect(overlaps(lines)).toEqual([])
      const again = starts.filter(({ attempt }) => attempt > 1)
      for (const { scheduledAt, attempt } of again) {
        expect(
          lines.filter(line => line.end === 'leaseLost' && line.scheduledAt === scheduledAt && line.attempt === attempt - 1),
        ).toHaveLength(1)
      }
      // Nothing that ended, and was written down, started again.
      for (const { scheduledAt, attempt, fence } of lines.filter(({ final }) => final)) {
        expect(starts.filter(run => run.scheduledAt === scheduledAt && (run.attempt > attempt || run.fence > fence))).toEqual([])
      }
      expect(witness.crashes).toEqual([])
      measured(`crash loop on ${kind}`, {
        restarts,
        due: verdictsOf(lines, range).size,
        starts: starts.length,
        'starts after a lost lease': again.length,
        'leases lost': lines.filter(({ end }) => end === 'leaseLost').length,
      })
    },
  )
})
