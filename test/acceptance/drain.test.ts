import { setTimeout as sleep } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { auditStarts } from './fixtures/audit.ts'
import { callTimeoutMs, Fleet, pollMs, sleepUntil } from './fixtures/fleet.ts'
import { inLength, isChosen, measured, once, quantile, sharedKinds } from './fixtures/site.ts'
import { monoMs, until } from './fixtures/witness.ts'

/** L4: from handing back to the next start. */
const handoverBoundMs = pollMs + callTimeoutMs
const lastClaimMs = 50

describe.concurrent.each(sharedKinds)('a replica that is told to stop, on %s', kind => {
  test.skipIf(!isChosen(kind))(
    'SIGTERM lets a run end that outlasts its lease, claims nothing more, and exits with 0',
    async ({ expect, onTestFinished }) => {
      const everyMs = 100
      const fleet = await Fleet.on(kind, {
        tasks: { long: { kind: 'work', ms: 3500, heeds: true }, fast: { kind: 'work', ms: 5 } },
        // The heartbeat has to outlive the signal.
        leaseMs: 1000,
      })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const leaving = await fleet.start()
      await site.soon([{ name: 'long', task: 'long' }], 200)
      await site.declare([{ name: 'fast', task: 'fast', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all' }])
      const run = await witness.start({ job: 'long' })
      await fleet.start()
      const signalledMono = monoMs()
      leaving.signal('SIGTERM')
      const exit = await leaving.exited
      const stallMs = await fleet.longestStallMs(signalledMono)
      expect(run.pid).toBe(leaving.pid)
      expect({ code: exit.code, signal: exit.signal }).toEqual({ code: 0, signal: null })
      const after = witness.runs('start', { pid: leaving.pid }).filter(({ mono }) => mono > signalledMono + lastClaimMs + stallMs)
      expect(after).toEqual([])
      expect((await site.ledger({ job: 'long' })).map(({ end, attempt }) => ({ end, attempt }))).toEqual([{ end: 'succeeded', attempt: 1 }])
      expect(witness.runs('abort')).toEqual([])
      expect(witness.events('stopped', { pid: leaving.pid })).toHaveLength(1)
      // The others go on meanwhile.
      expect(await fleet.stop()).toEqual([0])
      const audit = auditStarts(witness.runs('start', { job: 'fast' }), everyMs)
      expect({ twice: audit.twice, missed: audit.missed }).toEqual({ twice: [], missed: [] })
      expect(audit.ran).toBeGreaterThan(20)
    },
  )

  test.skipIf(!isChosen(kind))(
    'what outlasts the drain and heeds its signal is handed back and starts elsewhere at once',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { long: { kind: 'work', ms: [60_000, 20], heeds: true } }, drainTimeout: '300ms' })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      const handoverMs: number[] = []
      for (let round = 1; round <= inLength({ short: 3, full: 30 }); round++) {
        const job = `round-${round}`
        const leaving = await fleet.start()
        await site.soon([{ name: job, task: 'long' }], 200)
        const first = await witness.start({ job })
        const other = await fleet.start()
        // Whoever has it leaves.
        const since = monoMs()
        fleet.of(first).signal('SIGTERM')
        const second = await witness.start({ job, attempt: 2 })
        await until(`${job} to be settled`, () => witness.events('settled', { job }).some(({ event }) => event['verdict'] === 'succeeded'))
        expect((await leaving.exited).code).toBe(0)
        other.signal('SIGTERM')
        expect((await other.exited).code).toBe(0)
        const stallMs = await fleet.longestStallMs(since)

        const lines = await site.ledger({ job })
        expect(lines.map(({ end, attempt, owner }) => ({ end, attempt, owner }))).toEqual([
          { end: 'handedBack', attempt: 1, owner: first.replica },
          { end: 'succeeded', attempt: 2, owner: second.replica },
        ])
        expect(second.pid).toBe(other.pid)
        expect(witness.runs('abort', { job, attempt: 1 }).map(({ code }) => code)).toEqual(['ONETICK_DRAINING'])
        const afterMs = (lines[1]?.startedAt ?? Number.NaN) - (lines[0]?.endedAt ?? Number.NaN)
        handoverMs.push(afterMs)
        expect(afterMs).toBeLessThanOrEqual(handoverBoundMs + stallMs)
        expect(second.mono).toBeGreaterThan(witness.runs('end', { job, attempt: 1 })[0]?.mono ?? Number.NaN)
      }
      measured(`handover on ${kind}`, {
        rounds: handoverMs.length,
        'handed back to next start p50 ms': quantile(handoverMs, 0.5),
        'max ms': Math.max(...handoverMs),
        'bound ms': handoverBoundMs,
      })
    },
    inLength({ short: 60_000, full: 180_000 }),
  )

  test.skipIf(!isChosen(kind))('a handler that ignores its signal is not let go while it runs', async ({ expect, onTestFinished }) => {
    const fleet = await Fleet.on(kind, { leaseMs: 1000, drainTimeout: '200ms', abortGrace: '200ms' })
    onTestFinished(() => fleet.end())
    const { site, witness } = fleet
    // Stopped by hand, so that the process, and the handler in it, live on for a while.
    const ignores = { kind: 'work', ms: 2500 } as const
    const leaving = await fleet.start({ tasks: { deaf: ignores }, stopByHandAfterMs: 500 })
    await site.soon([{ name: 'deaf', task: 'deaf' }], 100)
    const first = await witness.start({ job: 'deaf' })
    await fleet.start({ tasks: { deaf: { kind: 'work', ms: 20 } } })
    const stopped = await until('the stop', () => witness.notes.find(({ t }) => t === 'stoppedByHand'))
    const second = await witness.start({ job: 'deaf', attempt: 2 })
    // The process ends by itself, once the handler has: nothing is left that keeps it.
    const exit = await leaving.exited
    expect({ code: exit.code, signal: exit.signal }).toEqual({ code: 0, signal: null })
    expect(stopped.mono).toBeLessThan(witness.runs('end', { job: 'deaf', attempt: 1 })[0]?.mono ?? 0)
    expect(witness.runs('abort', { job: 'deaf', attempt: 1 }).map(({ code }) => code)).toEqual(['ONETICK_DRAINING'])
    await until('the verdict', async () => (await site.ledger({ final: true })).length === 1)
    const lines = await site.ledger()
    expect(lines.map(({ end, attempt }) => ({ end, attempt }))).toEqual([
      { end: 'leaseLost', attempt: 1 },
      { end: 'succeeded', attempt: 2 },
    ])
    // It ran out by itself, after the replica had stopped: a lease after the last heartbeat.
    expect(lines[0]?.endedAt).toBeGreaterThan(stopped.wall)
    expect(lines[1]?.startedAt).toBeGreaterThanOrEqual(lines[0]?.endedAt ?? Number.NaN)
    expect(second.fence).toBeGreaterThan(first.fence)
    expect(witness.crashes).toEqual([])
  })

  test.skipIf(!isChosen(kind))('a second SIGTERM ends the process at once with 143', async ({ expect, onTestFinished }) => {
    const fleet = await Fleet.on(kind, { tasks: { long: { kind: 'work', ms: 60_000 } } })
    onTestFinished(() => fleet.end())
    const replica = await fleet.start()
    await fleet.site.soon([{ name: 'long', task: 'long' }], 100)
    await fleet.witness.start({ job: 'long' })
    replica.signal('SIGTERM')
    await until('the drain', () => fleet.witness.events('draining').length === 1)
    await sleep(300)
    expect(replica.isAlive).toBe(true)
    const since = monoMs()
    replica.signal('SIGTERM')
    const exit = await replica.exited
    expect({ code: exit.code, signal: exit.signal }).toEqual({ code: 143, signal: null })
    expect(exit.mono - since).toBeLessThanOrEqual(250 + (await fleet.longestStallMs(since)))
  })

  test.skipIf(!isChosen(kind))(
    'what is granted while a replica stops is handed back, never left to expire',
    async ({ expect, onTestFinished }) => {
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      // Its claim is still on its way to the store when it is told to stop.
      const leaving = await fleet.start({ claimDelayMs: 300 })
      const at = (await site.now()) + 1000
      await site.declare([{ name: 'once', task: 'fast', schedule: once(at) }])
      await until('a claim to be on its way', () => witness.notes.find(({ t, wall }) => t === 'failpoint' && wall >= at))
      leaving.signal('SIGTERM')
      expect((await leaving.exited).code).toBe(0)
      const lease = (await site.store.read('leases', {})).leases[0]
      // Else nothing would have been shown: it was granted, and is free again.
      expect({ owner: lease?.owner, held: lease?.held }).toEqual({
        owner: witness.notes.find(({ pid }) => pid === leaving.pid)?.replica,
        held: false,
      })
      const other = await fleet.start()
      const { mono: readyMono } = await until('the other to be ready', () =>
        witness.notes.find(({ t, pid }) => t === 'ready' && pid === other.pid),
      )
      const start = await witness.start({ job: 'once' })
      expect(start.mono - readyMono).toBeLessThanOrEqual(handoverBoundMs + (await fleet.longestStallMs(readyMono)))
      await until('the verdict', async () => (await site.ledger({ final: true })).length === 1)
      expect((await site.ledger()).map(({ end, attempt }) => ({ end, attempt }))).toEqual([{ end: 'succeeded', attempt: 1 }])
      expect(witness.runs('start')).toHaveLength(1)
    },
  )

  test.skipIf(!isChosen(kind))(
    'replicas that stop around due instants leave no lease behind',
    async ({ expect, onTestFinished }) => {
      const everyMs = 200
      const fleet = await Fleet.on(kind, { tasks: { fast: { kind: 'work', ms: 5 } } })
      onTestFinished(() => fleet.end())
      const { site, witness } = fleet
      await fleet.start()
      await site.declare([{ name: 'fast', task: 'fast', schedule: `every ${everyMs}ms`, overlap: 'queue', misfire: 'all' }])
      for (let round = 1; round <= inLength({ short: 3, full: 60 }); round++) {
        const wave = await fleet.startAll(3)
        await sleepUntil(Math.ceil(Date.now() / everyMs + 1) * everyMs - 4)
        for (const [index, replica] of wave.entries()) {
          await sleep(index + (round % 3))
          replica.signal('SIGTERM')
        }
        expect(await Promise.all(wave.map(async ({ exited }) => (await exited).code))).toEqual([0, 0, 0])
      }
      expect(await fleet.stop()).toEqual([0])
      expect((await site.ledger()).filter(({ end }) => end !== 'succeeded')).toEqual([])
      const { leases } = await site.store.read('leases', {})
      expect(leases.map(({ held }) => held)).toEqual([false])
      const audit = auditStarts(witness.runs('start'), everyMs)
      expect({ twice: audit.twice, missed: audit.missed }).toEqual({ twice: [], missed: [] })
    },
    inLength({ short: 60_000, full: 240_000 }),
  )
})
