// The PostgreSQL store when something is wrong: locks held by others, connections that die, poolers, servers that stop.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { type ClientLike, type PoolLike, type PostgresOptions, postgres, type QueryLike } from '../../src/store/postgres/index.ts'
import type { ClaimRequest, Replica, RunSettlement, Store } from '../../src/store/store.ts'
import { aDefinition, type DefinitionParts } from '../conformance/rows.ts'
import { chosenStores } from '../servers/chosen.ts'
import { startPostgres } from '../servers/postgres.ts'

const schema = 'onetick_faults'
const replica: Replica = { id: 'me', host: 'h', version: '1', release: 'r1', role: 'all', tasks: ['task'], capacity: 10 }

describe.skipIf(!chosenStores.includes('postgres'))('the PostgreSQL store', () => {
  const url = inject('postgresUrl') ?? ''
  let admin: pg.Client
  const closing: (() => Promise<unknown>)[] = []

  const open = (options: Partial<PostgresOptions> = {}): Store => {
    const store = postgres(
      'pool' in options ? ({ schema, ...options } as PostgresOptions) : ({ url, schema, ...options } as PostgresOptions),
    )
    closing.push(() => store.close())
    return store
  }
  const poolOf = (options: pg.PoolConfig = {}): pg.Pool => {
    const pool = new pg.Pool({ connectionString: url, ...options })
    closing.unshift(() => pool.end())
    return pool
  }
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    closing.push(() => client.end())
    return client
  }

  beforeAll(async () => {
    admin = new pg.Client({ connectionString: url })
    await admin.connect()
  })

  beforeEach(async () => {
    await admin.query(`drop schema if exists ${schema} cascade`)
    await postgresMigrated(open())
  })

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  afterAll(async () => {
    await admin.query(`drop schema if exists ${schema} cascade`)
    await admin.end()
  })

  describe('while somebody locks a row', () => {
    test('claims pass it by, renewals call it busy, and what must wait gives up in time', async () => {
      const store = open({ callTimeoutMs: 1000 })
      await dueJobs(store, admin, 2)
      const { grants } = await store.claim(request({ limit: 1 }))
      const [held] = grants
      const other = await connect()
      await other.query('begin')
      await other.query(`select from ${schema}.onetick_jobs for update`)

      const began = performance.now()
      expect(await store.claim(request({ owner: 'b' }))).toMatchObject({ grants: [], moreDue: true })
      const lease = { rowId: held!.row.id, fence: held!.row.fence }
      expect((await store.renew({ owner: 'me', ttlMs: 60_000, leases: [lease] })).leases[0]?.state).toBe('busy')
      expect(performance.now() - began).toBeLessThan(900)
      const calls = [
        () => store.settle({ owner: 'me', items: [succeeded(held!.row)] }),
        () => store.checkpoint({ ...lease, owner: 'me' }, 1),
        () => store.control({ kind: 'pause', name: 'job 0', until: Number.POSITIVE_INFINITY, by: null, why: null }),
        () => store.transaction({ ...lease, owner: 'me' }, async () => undefined),
      ]
      await Promise.all(
        calls.map(async call => {
          const start = performance.now()
          await expect(call()).rejects.toMatchObject({ code: 'ONETICK_STORE_TIMEOUT' })
          expect(performance.now() - start).toBeLessThan(2000)
        }),
      )
      // the server gave up too: nothing of it happens later
      await other.query('rollback')
      await sleep(100)
      const { jobs } = await store.read('jobs', {})
      expect(jobs.find(({ id }) => id === lease.rowId)).toEqual(held!.row)
      expect((await store.settle({ owner: 'me', items: [succeeded(held!.row)] })).results).toEqual([{ kind: 'settled' }])
    })

    test('a handler locks its own row at once: no lock outlives a call', async () => {
      const store = open()
      await dueJobs(store, admin, 1)
      const { grants } = await store.claim(request())
      const select = `select from ${schema}.onetick_jobs where id = $1 for update nowait`
      await admin.query(select, [grants[0]!.row.id])
      await store.renew({ owner: 'me', ttlMs: 60_000, leases: [{ rowId: grants[0]!.row.id, fence: grants[0]!.row.fence }] })
      await admin.query(select, [grants[0]!.row.id])
    })

    test('a lock on the replica’s own line does not hold a claim up', async () => {
      const store = open({ callTimeoutMs: 1000 })
      await dueJobs(store, admin, 1)
      const other = await connect()
      await other.query('begin')
      await other.query(`select from ${schema}.onetick_replicas for update`)
      expect((await store.claim(request())).grants).toHaveLength(1)
    })
  })

  describe('in a fenced transaction', () => {
    test('the lease runs on with its heartbeat, and nobody takes over', async () => {
      const [store, other] = [open(), open()]
      await dueJobs(store, admin, 1)
      const { grants } = await store.claim(request({ ttlMs: 1000 }))
      const held = { rowId: grants[0]!.row.id, owner: 'me', fence: grants[0]!.row.fence }
      await admin.query(`create table ${schema}.effects (fence bigint)`)
      await store
        .transaction(held, async connection => {
          await (connection as pg.PoolClient).query(`insert into ${schema}.effects values ($1)`, [held.fence])
          expect((await other.renew({ owner: 'me', ttlMs: 1, leases: [held] })).leases[0]?.state).toBe('held')
          await sleep(20)
          expect((await other.claim(request({ owner: 'b' }))).grants).toEqual([])
          expect((await other.renew({ owner: 'me', ttlMs: 60_000, leases: [held] })).leases[0]?.state).toBe('lost')
        })
        .catch(error => expect(error).toMatchObject({ code: 'ONETICK_FENCED_OFF' }))
      // the lease had run out before the commit
      expect((await admin.query(`select from ${schema}.effects`)).rowCount).toBe(0)
      expect((await other.claim(request({ owner: 'b' }))).grants).toHaveLength(1)
    })

    test('a process that stands still lets the row go when its lease has run out', async () => {
      const store = open()
      await dueJobs(store, admin, 1)
      const { grants } = await store.claim(request({ ttlMs: 400 }))
      const held = { rowId: grants[0]!.row.id, owner: 'me', fence: grants[0]!.row.fence }
      // what a stopped process leaves behind: a transaction that nobody goes on with
      const pool = poolOf()
      const still = open({ pool: stillAfterBegin(pool), callTimeoutMs: 1000 })
      const begun = still.transaction(held, () => new Promise<never>(() => undefined)).catch((error: unknown) => error)
      await sleep(150)
      expect((await store.claim(request({ owner: 'b' }))).grants).toEqual([])
      await expect.poll(async () => (await store.claim(request({ owner: 'b' }))).grants.length, { timeout: 2000, interval: 50 }).toBe(1)
      expect(await begun).toMatchObject({ code: 'ONETICK_FENCED_OFF' })
    })

    test('the user’s own errors come back as they are', async () => {
      const store = open()
      await dueJobs(store, admin, 1)
      const { grants } = await store.claim(request())
      const held = { rowId: grants[0]!.row.id, owner: 'me', fence: grants[0]!.row.fence }
      const failed = store.transaction(held, connection => (connection as pg.PoolClient).query('select from nowhere'))
      await expect(failed).rejects.toMatchObject({ code: '42P01' })
      expect(await store.transaction(held, async () => 1)).toBe(1)
    })
  })

  describe('on a pool of the user’s', () => {
    test('whose transactions are repeatable read: claims that collide are repeated', async () => {
      const pool = poolOf({ max: 16, options: '-c default_transaction_isolation=repeatable\\ read' })
      const store = open({ pool })
      await dueJobs(store, admin, 200)
      const replies = await Promise.all(Array.from({ length: 16 }, (_, i) => store.claim(request({ owner: `owner ${i}`, limit: 50 }))))
      const ids = replies.flatMap(({ grants }) => grants.map(({ row }) => row.id))
      expect(new Set(ids).size).toBe(ids.length)
      const items = replies.flatMap(({ grants }) => grants.map(({ row }) => ({ owner: row.lease!.owner, item: succeeded(row) })))
      const renewals = items.map(({ owner, item }) => store.renew({ owner, ttlMs: 60_000, leases: [item] }))
      const settles = items.map(({ owner, item }) => store.settle({ owner, items: [item] }))
      await Promise.all(renewals)
      expect(new Set((await Promise.all(settles)).map(({ results }) => results[0]?.kind))).toEqual(new Set(['settled']))
    })

    test('in another time zone, that parses types in its own way', async () => {
      const pool = poolOf({
        options: '-c timezone=Asia/Kolkata',
        types: { getTypeParser: () => () => 'odd' } as unknown as pg.CustomTypesConfig,
      })
      const store = open({ pool })
      await dueJobs(store, admin, 1)
      const { grants, now } = await store.claim(request({ ttlMs: 60_000 }))
      expect(Math.abs(now - Date.now())).toBeLessThan(5000)
      expect(grants[0]!.row.dueAt).toBe(now + 60_000)
      expect((await open().read('jobs', {})).jobs).toEqual([grants[0]!.row])
    })

    test('that is used up: the call says so in time, and the pool is left as it was', async () => {
      const pool = poolOf({ max: 1 })
      const store = open({ pool, callTimeoutMs: 300 })
      await store.read('status', {})
      const client = await pool.connect()
      const began = performance.now()
      await expect(store.read('status', {})).rejects.toMatchObject({ code: 'ONETICK_STORE_TIMEOUT' })
      expect(performance.now() - began).toBeLessThan(1500)
      client.release()
      await sleep(20)
      expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0])
      await store.read('status', {})
    })

    test('is not ended with the store, and has no live wake-ups without an address', async () => {
      const pool = poolOf()
      const store = open({ pool })
      const wakeup = await store.wake(() => undefined)
      expect(wakeup.live()).toBe(false)
      await store.close()
      await expect(store.read('status', {})).rejects.toMatchObject({ code: 'ONETICK_STORE_CLOSED' })
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      expect(pool.listenerCount('error')).toBeLessThanOrEqual(1)
    })

    test('behind a pooler that mixes up prepared statements: unnamed ones from then on', async () => {
      const names: (string | undefined)[] = []
      const store = open({ pool: forgetful(poolOf({ max: 1 }), names) })
      await dueJobs(store, admin, 1)
      for (let i = 0; i < 3; i++) await store.read('jobs', {})
      expect((await store.claim(request())).grants).toHaveLength(1)
      expect(names.some(name => name !== undefined)).toBe(true)
      expect(names.slice(-3)).toEqual([undefined, undefined, undefined])
    })
  })

  describe('on a server that is not fit', () => {
    const refusals: readonly { readonly setting: string; readonly says: RegExp }[] = [
      { setting: 'default_transaction_read_only=on', says: /read-only/ },
      { setting: 'synchronous_commit=off', says: /synchronous_commit/ },
      { setting: 'datestyle=German', says: /dates/ },
    ]
    for (const { setting, says } of refusals) {
      test(`refuses ${setting}`, async () => {
        const store = open({ pool: poolOf({ options: `-c ${setting}` }) })
        await expect(store.claim(request())).rejects.toMatchObject({ code: 'ONETICK_STORE_UNFIT', message: expect.stringMatching(says) })
        await expect(store.declare({ replica, jobs: [], liveForMs: 1 })).rejects.toMatchObject({ code: 'ONETICK_STORE_UNFIT' })
      })
    }
  })

  describe('when connections die', () => {
    test('a call says so, the next one works, and the process lives', async () => {
      const store = open()
      const pool = poolOf()
      const other = open({ pool })
      for (const each of [store, other]) await each.read('status', {})
      await terminateOthers(admin)
      for (const each of [store, other]) {
        await each.read('status', {}).catch(error => expect(error).toMatchObject({ code: 'ONETICK_STORE_UNREACHABLE' }))
        expect((await each.read('status', {})).schemaVersion).toBe(2)
      }
    })

    test('wake-ups are away and come back', async () => {
      const store = open()
      await dueJobs(store, admin, 1)
      let woken = 0
      const wakeup = await store.wake(() => woken++)
      await expect.poll(() => wakeup.live(), { timeout: 5000 }).toBe(true)
      await store.control({ kind: 'trigger', name: 'job 0', id: 'a' })
      const before = await until(() => woken > 1 && woken)
      await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen onetick%'`)
      await expect.poll(() => wakeup.live(), { timeout: 5000, interval: 1 }).toBe(false)
      await expect.poll(() => wakeup.live(), { timeout: 5000 }).toBe(true)
      await store.control({ kind: 'trigger', name: 'job 0', id: 'b' })
      await until(() => woken > before + 1)
      await wakeup.close()
      expect(wakeup.live()).toBe(false)
    })

    test('claims and settles of the usual kind wake nobody', async () => {
      const store = open()
      await dueJobs(store, admin, 3)
      let woken = 0
      const wakeup = await store.wake(() => woken++)
      await expect.poll(() => wakeup.live(), { timeout: 5000 }).toBe(true)
      await sleep(50)
      const before = woken
      const { grants } = await store.claim(request())
      await store.renew({ owner: 'me', ttlMs: 60_000, leases: grants.map(({ row }) => ({ rowId: row.id, fence: row.fence })) })
      await store.settle({ owner: 'me', items: grants.map(({ row }) => succeeded(row)) })
      await sleep(100)
      expect(woken).toBe(before)
    })
  })

  test('what a text column cannot hold comes back readable, and everything else as it was', async () => {
    const store = open()
    await dueJobs(store, admin, 1)
    const { grants } = await store.claim(request())
    const { row } = grants[0]!
    const result = { nul: '\0', lone: '\ud800', text: 'é€😀"\\\n' }
    const error = { name: 'E\0', message: '\udfff', stack: null }
    expect(await store.checkpoint({ rowId: row.id, owner: 'me', fence: row.fence }, result)).toBe(true)
    expect((await store.read('jobs', {})).jobs[0]?.open?.checkpoint).toEqual(result)
    const end = { kind: 'final', verdict: 'failed', successor: null, result, error, logTail: 'a\0b\ud800c' } as const
    await store.settle({ owner: 'me', items: [{ ...succeeded(row), end }] })
    expect((await store.read('runs', { limit: 1 })).runs[0]).toMatchObject({ result, error, logTail: 'a\u2400b\ufffdc' })
  })

  test('two verdicts for one occurrence: the first one stands, and the job goes on', async () => {
    const store = open()
    await dueJobs(store, admin, 2)
    const { grants } = await store.claim(request())
    const [first, second] = grants
    await admin.query(
      `insert into ${schema}.onetick_runs (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, ended_at, outcome, final)
select 'default', id, id, '', scheduled_at, scheduled_at, 1, 1, 1, now(), 'failed', true from ${schema}.onetick_jobs where id = $1`,
      [first!.row.id],
    )
    const { results } = await store.settle({ owner: 'me', items: [succeeded(first!.row), succeeded(second!.row)] })
    expect(results).toEqual([{ kind: 'settled' }, { kind: 'settled' }])
    const { runs } = await store.read('runs', { limit: 10 })
    expect(runs.map(({ end }) => end).sort()).toEqual(['failed', 'succeeded'])
  })

  test('a server that is killed keeps what it answered, and the store finds it again', async () => {
    const server = await startPostgres()
    try {
      const store = postgres({ url: server.url, callTimeoutMs: 2000 })
      closing.push(() => store.close())
      await postgresMigrated(store)
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      client.on('error', () => undefined)
      await dueJobs(store, client, 3, {}, 'public')
      const { grants } = await store.claim(request())
      expect(grants).toHaveLength(3)
      const leases = grants.map(({ row }) => ({ rowId: row.id, fence: row.fence }))
      const renewed = await store.renew({ owner: 'me', ttlMs: 600_000, leases })
      await store.settle({ owner: 'me', items: [succeeded(grants[0]!.row)] })
      await server.kill()
      await expect(store.read('status', {})).rejects.toMatchObject({ code: 'ONETICK_STORE_UNREACHABLE' })
      await server.restart()
      await expect
        .poll(
          () =>
            store.read('status', {}).then(
              () => true,
              () => false,
            ),
          { timeout: 10_000 },
        )
        .toBe(true)
      const { jobs } = await store.read('jobs', {})
      expect(
        jobs
          .filter(({ lease }) => lease?.owner === 'me')
          .map(({ dueAt }) => dueAt)
          .sort(),
      ).toEqual(
        renewed.leases
          .filter(({ rowId }) => rowId !== grants[0]!.row.id)
          .map(({ dueAt }) => dueAt)
          .sort(),
      )
      expect((await store.settle({ owner: 'me', items: grants.map(({ row }) => succeeded(row)) })).results.map(({ kind }) => kind)).toEqual(
        ['already', 'settled', 'settled'],
      )
    } finally {
      await server.stop()
    }
  })

  function request(parts: Partial<ClaimRequest> = {}): ClaimRequest {
    const presence = { running: 0, draining: false, clockOffsetMs: 0, loopLagMs: 0 }
    const common = {
      owner: 'me',
      claimId: Math.random().toString(36),
      tasks: ['task'],
      limit: 10,
      ttlMs: 60_000,
      except: [],
      liveForMs: 30_000,
    }
    return { ...common, notAfter: Date.now() + 60_000, presence, ...parts }
  }
})

async function postgresMigrated(store: Store): Promise<void> {
  await store.migrate('apply')
}

/** Declares jobs and sets them back so that each is due by one instant. */
async function dueJobs(store: Store, client: pg.Client, count: number, parts: DefinitionParts = {}, of = schema): Promise<void> {
  const now = Date.now()
  const jobs = Array.from({ length: count }, (_, i) => ({
    name: `job ${i}`,
    task: 'task',
    definition: aDefinition(parts),
    hash: 'h',
    upcoming: [now + 3_600_000, now + 7_200_000],
  }))
  await store.declare({ replica, jobs, liveForMs: 30_000 })
  await client.query(`update ${of}.onetick_jobs set next_at = now() - interval '1 second', due_at = now() - interval '1 second'`)
}

function succeeded(row: {
  readonly id: number
  readonly fence: number
  readonly open: { cause: string; scheduledAt: number } | null
}): RunSettlement {
  const end = { kind: 'final', verdict: 'succeeded', successor: null } as const
  return { kind: 'run', rowId: row.id, fence: row.fence, occurrence: row.open, end }
}

async function terminateOthers(client: pg.Client): Promise<void> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`,
  )
  await sleep(50)
}

async function until<T>(look: () => T | false): Promise<T> {
  for (let i = 0; i < 250; i++) {
    const seen = look()
    if (seen !== false) return seen
    await sleep(20)
  }
  throw new Error('it did not happen')
}

/** As a pooler in transaction mode: the server that answers does not know what was prepared on another. */
function forgetful(pool: pg.Pool, names: (string | undefined)[]): PoolLike {
  return {
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
    connect: async (): Promise<ClientLike> => {
      const client = await pool.connect()
      return {
        on: (event, listener) => client.on(event, listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
        release: destroy => client.release(destroy),
        query: async (query: QueryLike) => {
          names.push(query.name)
          await client.query('deallocate all')
          return client.query(query as pg.QueryConfig)
        },
      }
    },
  }
}

/** Its client side ends with the beginning of a transaction. */
function stillAfterBegin(pool: pg.Pool): PoolLike {
  return {
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
    connect: async (): Promise<ClientLike> => {
      const client = await pool.connect()
      client.on('error', () => undefined)
      return {
        on: (event, listener) => client.on(event, listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
        // a stopped process closes nothing
        release: destroy => (destroy ? setTimeout(() => client.release(true), 1000) : client.release()),
        query: (query: QueryLike) =>
          query.text === 'rollback' ? new Promise<never>(() => undefined) : client.query(query as pg.QueryConfig),
      }
    },
  }
}
