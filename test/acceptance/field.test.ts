// A replica's connections to PostgreSQL, as a server and an app's own Pool see them.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, inject, test } from 'vitest'
import type { Onetick, OnetickOptions } from '../../src/index.ts'
import { isChosen, measured, once } from './fixtures/site.ts'
import { until } from './fixtures/witness.ts'

// as it is shipped: the heartbeat's thread starts a module
const shipped = (await import(new URL('../../dist/index.js', import.meta.url).href)) as typeof import('../../src/index.ts')

const work = 4
const heartbeat = 1
const listen = 1

describe.skipIf(!isChosen('postgres'))('connections of a replica to PostgreSQL', () => {
  const url = inject('postgresUrl') ?? ''

  /** An address whose connections are told apart from all others by their name. */
  const named = (name: string): string => {
    const at = new URL(url)
    at.searchParams.set('application_name', name)
    return at.href
  }
  const told = (onetick: Onetick): string[] => {
    const events: string[] = []
    for (const name of ['leaseLost', 'fencedOff', 'heartbeatDegraded', 'storeFailed'] as const) onetick.on(name, () => events.push(name))
    return events
  }
  const instance = (options: OnetickOptions): Onetick => new shipped.Onetick({ lease: '3s', namespace: randomUUID(), ...options })

  test('are four for work, one for the heartbeat and one that listens, and none is left after the stop', async ({
    expect,
    onTestFinished,
  }) => {
    const name = `budget-${randomUUID().slice(0, 8)}`
    const onetick = instance({ store: named(name), concurrency: 50 })
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    onTestFinished(async () => {
      await onetick.stop({ drainTimeout: '1s' })
      await admin.end()
    })
    const count = async (): Promise<number> => {
      const { rows } = await admin.query('select count(*)::int as n from pg_stat_activity where application_name = $1', [name])
      return rows[0].n
    }
    for (let n = 0; n < 100; n++)
      onetick.job(`job-${n}`, { schedule: 'every 500ms' }, async ({ checkpoint }) => {
        for (let step = 0; step < 10; step++) await checkpoint(step)
      })
    const events = told(onetick)
    await onetick.start()
    const counts: number[] = []
    for (let n = 0; n < 50; n++) {
      counts.push(await count())
      await sleep(100)
    }
    expect(Math.max(...counts)).toBe(work + heartbeat + listen)
    await onetick.stop()
    await until('all connections to be gone', async () => (await count()) === 0, 5000)
    measured('connections of a replica with 100 jobs every 500 ms', { most: Math.max(...counts), 'after the stop': 0 })
    expect(events).toEqual([])
  })

  test('are kept apart from an app’s Pool whose only connection a handler holds: the heartbeat has one of its own', async ({
    expect,
    onTestFinished,
  }) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    const onetick = instance({ store: pool, heartbeat: { url } })
    onTestFinished(async () => {
      await onetick.stop({ drainTimeout: '1s' })
      await pool.end()
    })
    const events = told(onetick)
    const settled: { attempt: number; verdict: string | null }[] = []
    onetick.on('settled', ({ attempt, verdict }) => settled.push({ attempt, verdict }))
    let wasAborted: boolean | null = null
    onetick.job('holds', { schedule: once(Date.now() + 1500) }, async ({ signal }) => {
      const client = await pool.connect()
      await sleep(7000)
      wasAborted = signal.aborted
      client.release()
    })
    await onetick.start()
    await until('the run to be settled', () => settled.length > 0, 30_000)
    expect(settled).toEqual([{ attempt: 1, verdict: 'succeeded' }])
    expect(wasAborted).toBe(false)
    // the loop's own calls had no connection meanwhile, and said so
    expect(new Set(events)).toEqual(new Set(['storeFailed']))
  })

  test('with an address that leads to another database, the loop keeps the lease, and the app is told', async ({
    expect,
    onTestFinished,
  }) => {
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    const database = `onetick_other_${randomUUID().slice(0, 8)}`
    await admin.query(`create database ${database}`)
    const other = new URL(url)
    other.pathname = `/${database}`
    const elsewhere = instance({ store: other.href })
    await elsewhere.start()
    await elsewhere.stop()
    const pool = new pg.Pool({ connectionString: url })
    const onetick = instance({ store: pool, heartbeat: { url: other.href } })
    onTestFinished(async () => {
      await onetick.stop({ drainTimeout: '1s' })
      await pool.end()
      await admin.query(`drop database ${database} with (force)`)
      await admin.end()
    })
    const degraded: string[] = []
    onetick.on('heartbeatDegraded', ({ error }) => degraded.push(error.message))
    const ends: unknown[] = []
    onetick.on('settled', ({ attempt, verdict }) => ends.push({ attempt, verdict }))
    onetick.job('long', { schedule: once(Date.now() + 1500) }, async ({ signal }) => {
      await sleep(4000)
      signal.throwIfAborted()
    })
    await onetick.start()
    await until('the run to be settled', () => ends.length > 0, 30_000)
    expect(ends).toEqual([{ attempt: 1, verdict: 'succeeded' }])
    expect(degraded).toEqual([expect.stringContaining('does not know this replica')])
  })

  test('with such a Pool and no address for the heartbeat, the lease is given up in time', async ({ expect, onTestFinished }) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    const onetick = instance({ store: pool })
    onTestFinished(async () => {
      await onetick.stop({ drainTimeout: '1s' })
      await pool.end()
    })
    const events = told(onetick)
    let wasAborted: boolean | null = null
    onetick.job('holds', { schedule: once(Date.now() + 1500) }, async ({ signal }) => {
      const client = await pool.connect()
      await sleep(4000)
      wasAborted = signal.aborted
      client.release()
    })
    await onetick.start()
    await until('the lease to be given up', () => events.includes('leaseLost'), 30_000)
    await until('the handler to have seen it', () => wasAborted !== null, 30_000)
    expect(wasAborted).toBe(true)
  })
})
