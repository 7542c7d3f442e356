import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../servers/postgres.ts'
import { Fleet } from './fixtures/fleet.ts'
import { inLength, isChosen, measured, once } from './fixtures/site.ts'
import { difference, Statements } from './fixtures/statements.ts'
import { monoMs, until } from './fixtures/witness.ts'

const replicas = 4
const concurrency = 300
/** What is left after a claim is anyone's only this much later. */
const leftoverMs = 50
/** One statement a replica and tick, and one for what was left. */
const statementsAReplica = 2

describe.skipIf(!isChosen('postgres'))('statements, counted by PostgreSQL itself', () => {
  let server: PostgresServer
  let statements: Statements

  beforeAll(async () => {
    server = await startPostgres({ preload: ['pg_stat_statements'] })
    statements = new Statements(server.url)
  })

  afterAll(async () => {
    await statements?.end()
    await server?.stop()
  })

  test.concurrent('a tick takes one claim a replica, whatever the number of due jobs, and leftovers come 50 ms later', async ({
    expect,
  }) => {
    const fleet = await Fleet.on('postgres', { tasks: { work: { kind: 'work', ms: 1300 } }, concurrency, noteCalls: true }, server.url)
    const { site, witness } = fleet
    try {
      await fleet.startAll(replicas)
      for (const due of [1, 30, 1000]) {
        const at = (await site.now()) + 2500
        // How far the machine's wall clock, which is the server's here, is ahead of its monotonic one.
        const wallAheadMs = Date.now() - monoMs()
        const atMono = at - wallAheadMs
        await site.declare(Array.from({ length: due }, (_, n) => ({ name: `due-${due}-${n}`, task: 'work', schedule: once(at) })))
        await sleep(Math.max(0, atMono - 30 - monoMs()))
        const before = await statements.counts()
        const callsBefore = witness.calls('claim').length
        const started = () => witness.runs('start').filter(({ scheduledAt }) => scheduledAt === at)
        await until(`${due} starts`, () => started().length >= due)
        await sleep(200)
        const tick = difference(await statements.counts(), before)
        const calls = witness.calls('claim').slice(callsBefore)
        const lastGrant = Math.max(...calls.filter(({ count }) => count > 0).map(({ mono }) => mono))
        // Sent at or after the instant, until the last of them was granted.
        const ofTick = calls.filter(({ sentMono = 0 }) => sentMono >= atMono - 1 && sentMono <= lastGrant)

        const stallMs = await fleet.longestStallMs(atMono)

        // Each claim is one statement, whatever it is given.
        expect(Math.abs(tick.claim - calls.length)).toBeLessThanOrEqual(replicas)
        expect(calls.reduce((sum, { count }) => sum + count, 0)).toBe(due)
        for (const { pid } of fleet.replicas) {
          const own = ofTick.filter(call => call.pid === pid)
          expect(own.filter(({ sentMono = 0 }) => sentMono < atMono + leftoverMs).length).toBeLessThanOrEqual(1)
          expect(own.length).toBeLessThanOrEqual(statementsAReplica + Math.floor(stallMs / leftoverMs))
          for (const [index, call] of own.entries()) {
            const previous = own[index - 1]
            if (previous !== undefined) expect((call.sentMono ?? 0) - previous.mono).toBeGreaterThanOrEqual(leftoverMs - 1)
          }
        }
        const grants = ofTick.map(({ count }) => count).filter(count => count > 0)

        await until(
          `${due} settled`,
          async () => (await site.ledger()).filter(({ scheduledAt, final }) => final && scheduledAt === at).length === due,
        )
        const run = difference(await statements.counts(), before)
        const renewals = witness.calls('renew').filter(({ mono }) => mono >= atMono)
        // Renewals too: one statement for all that a replica holds.
        expect(renewals.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(due)
        expect(run.renew).toBe(renewals.length)
        expect(renewals.length).toBeLessThanOrEqual(2 * replicas)

        const lines = (await site.ledger()).filter(({ scheduledAt }) => scheduledAt === at)
        expect(lines.every(({ final, end, attempt }) => final && end === 'succeeded' && attempt === 1)).toBe(true)
        expect(new Set(started().map(({ job }) => job)).size).toBe(due)
        expect(started()).toHaveLength(due)
        measured(`tick with ${due} due, ${replicas} replicas`, {
          'claim statements by pg_stat_statements': tick.claim,
          'of the tick, until all were granted': ofTick.length,
          'that got some': grants.length,
          'granted by them': grants.join('+'),
          'ms until all were granted': lastGrant - atMono,
          'renew statements': run.renew,
          'leases renewed by them': renewals.map(({ count }) => count).join('+'),
          'settle statements': run.settle,
        })
      }
      expect(await fleet.stop()).toEqual(Array.from({ length: replicas }, () => 0))
      expect(witness.crashes).toEqual([])
    } finally {
      await fleet.end()
    }
  })

  test.concurrent(
    'an idle replica asks seldom: woken by the store, or polling',
    async ({ expect }) => {
      const windowMs = inLength({ short: 12_000, full: 120_000 })
      const perSecond = async (name: string, deaf: boolean): Promise<number> => {
        await statements.query(`create database ${name}`)
        const url = server.url.replace(/\/postgres$/, `/${name}`)
        const own = new Statements(url)
        await own.query('create extension pg_stat_statements')
        // On the defaults, which are made for quiet: a lease of 30 s.
        const jobs = Array.from({ length: 100 }, (_, n) => ({ name: `yearly-${n}`, task: 'fast', schedule: '0 3 1 6 *' }))
        const fleet = await Fleet.on('postgres', { tasks: { fast: { kind: 'work', ms: 5 } }, jobs, leaseMs: 30_000, deaf }, url)
        try {
          await fleet.start()
          await sleep(2500)
          const before = await own.counts()
          const from = monoMs()
          await sleep(windowMs)
          return difference(await own.counts(), before).all / ((monoMs() - from) / 1000)
        } finally {
          await own.end()
          await fleet.end()
        }
      }
      const [woken, polling] = await Promise.all([perSecond('idle_woken', false), perSecond('idle_polling', true)])
      measured('an idle replica with 100 schedules, statements a second', {
        'where the store wakes it': woken,
        goal: 0.15,
        'where it polls': polling,
        'goal of polling': 0.6,
      })
      expect(woken).toBeLessThan(polling)
    },
    inLength({ short: 60_000, full: 180_000 }),
  )
})
