// The PostgreSQL store's schema: made once by whoever comes first, readable as SQL, and one version of tolerance to either side.
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Declaration } from '../../src/domain/declare.ts'
import { type PostgresOptions, postgres } from '../../src/store/postgres/index.ts'
import type { ClaimRequest, Replica, Store } from '../../src/store/store.ts'
import { aDefinition } from '../conformance/rows.ts'
import { chosenStores } from '../servers/chosen.ts'

const schema = 'onetick_schema'
const replica: Replica = { id: 'me', host: 'h', version: '1', release: 'r1', role: 'all', tasks: ['task'], capacity: 10 }

describe.skipIf(!chosenStores.includes('postgres'))('the schema in PostgreSQL', () => {
  const url = inject('postgresUrl') ?? ''
  let client: pg.Client
  const opened: Store[] = []

  const open = (options: Partial<PostgresOptions> = {}): Store => {
    const store = postgres({ url, schema, ...options } as PostgresOptions)
    opened.push(store)
    return store
  }

  beforeAll(async () => {
    client = new pg.Client({ connectionString: url })
    await client.connect()
  })

  beforeEach(async () => {
    await client.query(`drop schema if exists ${schema} cascade`)
  })

  afterAll(async () => {
    await Promise.all(opened.map(store => store.close()))
    await client.query(`drop schema if exists ${schema} cascade`)
    await client.end()
  })

  test('ten replicas that start at once make it once', async () => {
    const stores = Array.from({ length: 10 }, () => open({ poolSize: 1 }))
    const migrations = await Promise.all(stores.map(store => store.migrate('apply')))
    expect(migrations.filter(({ from, statements }) => from === 0 && statements.length > 0)).toHaveLength(1)
    expect(new Set(migrations.map(({ to }) => to))).toEqual(new Set([2]))
    expect(await stores[0]!.migrate('apply')).toEqual({ from: 2, to: 2, statements: [] })
    expect((await stores[0]!.read('status', {})).schemaVersion).toBe(2)
  })

  test('the plan is what would be executed, with the grants for another user, and changes nothing', async () => {
    const store = open()
    const plan = await store.migrate('plan')
    expect(plan).toMatchObject({ from: 0, to: 2 })
    expect((await client.query('select from pg_namespace where nspname = $1', [schema])).rowCount).toBe(0)
    await client.query(plan.statements.map(statement => `${statement};`).join('\n'))
    const grants = plan.statements.filter(statement => statement.startsWith('-- grant'))
    expect(grants).toHaveLength(3)
    expect(await store.migrate('plan')).toEqual({ from: 2, to: 2, statements: grants })
    await useIt(store)
  })

  test('a user who may not make tables can work with what the grants give', async () => {
    const statements = (await open().migrate('plan')).statements
    await open().migrate('apply')
    await client.query('drop role if exists onetick_worker')
    await client.query('create role onetick_worker login')
    for (const grant of statements.filter(statement => statement.startsWith('-- grant'))) {
      await client.query(grant.slice(3).replace('ROLE', 'onetick_worker'))
    }
    const worker = new URL(url)
    worker.username = 'onetick_worker'
    const store = open({ url: worker.href })
    expect(await store.migrate('apply')).toEqual({ from: 2, to: 2, statements: [] })
    await useIt(store)
    await client.query(`revoke insert on ${schema}.onetick_runs from onetick_worker`)
    await expect(settleOne(store)).rejects.toMatchObject({ code: 'ONETICK_STORE_UNFIT', remedy: expect.stringContaining('migrate --sql') })
    await store.close()
    await client.query(`drop owned by onetick_worker`)
    await client.query('drop role onetick_worker')
  })

  test('a database without it is told from one that is out of reach', async () => {
    const store = open()
    const calls = [
      () => store.read('status', {}),
      () => store.claim(request()),
      () => store.control({ kind: 'resume', name: 'x' }),
      () => declare(store, []),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'ONETICK_STORE_NOT_MIGRATED' })
    await store.migrate('apply')
    await useIt(store)
  })

  test('every verb works one version back and one ahead, and not beyond', async () => {
    await open().migrate('apply')
    await client.query(`drop view ${schema}.cron_with_leases`)
    await saveVersion(1)
    await useIt(open())

    await saveVersion(3)
    for (const table of ['jobs', 'asked', 'definitions', 'runs', 'replicas']) {
      await client.query(`alter table ${schema}.onetick_${table} add column later text not null default 'later'`)
    }
    await client.query(`create table ${schema}.onetick_later (id int)`)
    const ahead = open()
    await useIt(ahead)
    expect(await ahead.migrate('apply')).toEqual({ from: 3, to: 3, statements: [] })

    await saveVersion(4)
    await expect(open().claim(request())).rejects.toMatchObject({ code: 'ONETICK_STORE_SCHEMA' })
    await saveVersion(0)
    await expect(open().read('jobs', {})).rejects.toMatchObject({ code: 'ONETICK_STORE_NOT_MIGRATED' })
  })

  test('a column that comes while a replica runs does not disturb it', async () => {
    const store = open()
    await store.migrate('apply')
    await useIt(store)
    await client.query(`alter table ${schema}.onetick_jobs add column later text not null default 'later'`)
    await useIt(store)
  })

  test('an older schema is brought up to date without touching what is in it', async () => {
    const store = open()
    await store.migrate('apply')
    await client.query(`drop view ${schema}.cron_with_leases`)
    await saveVersion(1)
    await declare(store, [declaration('kept', [Date.now() + 3_600_000])])
    const { from, to, statements } = await open().migrate('apply')
    expect([from, to]).toEqual([1, 2])
    expect(statements.join('\n')).toContain('view')
    expect((await store.read('jobs', {})).jobs.map(({ name }) => name)).toEqual(['kept'])
  })

  test('cron_with_leases shows who holds what in the terms of the article', async () => {
    const store = open()
    await store.migrate('apply')
    const { row } = await leaseOn(store, 'free')
    await store.settle({ owner: 'me', items: [release(row.id, row.fence)] })
    const held = await leaseOn(store, 'held')
    const view = await client.query(`select * from ${schema}.cron_with_leases order by "jobId"`)
    expect(view.fields.map(({ name }) => name)).toEqual(['jobId', 'owner', 'acquiredAt', 'expiredAt', 'namespace'])
    expect(view.rows[0]).toMatchObject({ jobId: 'free', owner: 'me', namespace: 'default' })
    expect(Number(view.rows[0].expiredAt)).toBeLessThanOrEqual(held.now)
    expect(view.rows[1]).toMatchObject({ jobId: 'held', owner: 'me' })
    expect(Number(view.rows[1].acquiredAt)).toBe(held.row.acquiredAt)
    expect(Number(view.rows[1].expiredAt)).toBe(held.row.dueAt)
  })

  test('a table of the user’s that has the view’s name is left alone', async () => {
    await client.query(`create schema ${schema}`)
    await client.query(`create table ${schema}.cron_with_leases ("jobId" text, mine int)`)
    const store = open()
    const { statements } = await store.migrate('apply')
    expect(statements.some(statement => /^-- .*cron_with_leases.* left as it is$/.test(statement))).toBe(true)
    await useIt(store)
    expect((await client.query(`select mine from ${schema}.cron_with_leases`)).rows).toEqual([])
  })

  test('schema and prefix are one’s own; two prefixes stand side by side', async () => {
    const first = open({ prefix: 'a_' })
    const second = open({ prefix: 'B_' })
    for (const store of [first, second]) await store.migrate('apply')
    await declare(first, [declaration('first', [Date.now() + 3_600_000])])
    expect((await second.read('jobs', {})).jobs).toEqual([])
    expect((await first.read('jobs', {})).jobs).toHaveLength(1)
    expect((await client.query(`select "jobId" from ${schema}.a_cron_with_leases`)).rows).toEqual([{ jobId: 'first' }])
  })

  test('identifiers that are not, options that are none and URLs that cannot be read are refused', () => {
    for (const bad of ['', 'a b', 'a"b', "a';drop table x--", '1a', 'ä', 'x'.repeat(41)]) {
      expect(() => open({ schema: bad })).toThrow(expect.objectContaining({ code: 'ONETICK_IDENTIFIER' }))
      expect(() => open({ prefix: bad })).toThrow(expect.objectContaining({ code: 'ONETICK_IDENTIFIER' }))
    }
    expect(() => open({ schema: 'pg_mine' })).toThrow(expect.objectContaining({ code: 'ONETICK_IDENTIFIER' }))
    for (const callTimeoutMs of [0, -1, Number.NaN, 1.5, 2 ** 31]) {
      expect(() => open({ callTimeoutMs })).toThrow(expect.objectContaining({ code: 'ONETICK_OPTION' }))
    }
    for (const bad of ['postgres://user:s3cret@host:port/db', 'postgres:// :s3cret@', 'mysql://u:s3cret@h/d', 's3cret']) {
      const refused = attempt(() => open({ url: bad }))
      expect(refused).toMatchObject({ code: 'ONETICK_STORE_URL' })
      expect(JSON.stringify([String(refused), refused, (refused as Error).cause ?? null])).not.toContain('s3cret')
    }
  })

  test('neither the location nor an error shows the password', async () => {
    const store = open({ url: 'postgres://user:s3cret@127.0.0.1:1/db?sslpassword=s3cret', callTimeoutMs: 2000 })
    expect(store.location).toBe('postgres://user@127.0.0.1:1/db')
    const refused = await store.claim(request()).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'ONETICK_STORE_UNREACHABLE' })
    expect(String(refused) + JSON.stringify(refused) + String((refused as Error).stack)).not.toContain('s3cret')
  })

  async function saveVersion(version: number): Promise<void> {
    await client.query(`update ${schema}.onetick_meta set value = $1 where key = 'schema_version'`, [String(version)])
  }
})

function attempt(body: () => unknown): unknown {
  try {
    return body()
  } catch (error) {
    return error
  }
}

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

function declaration(name: string, upcoming: readonly number[], overlap: 'skip' | 'allow' = 'skip'): Declaration {
  return { name, task: 'task', definition: aDefinition({ policy: { overlap } }), hash: `${name} ${Math.random()}`, upcoming }
}

function declare(store: Store, jobs: readonly Declaration[]) {
  return store.declare({ replica, jobs, liveForMs: 30_000 })
}

function release(rowId: number, fence: number) {
  return { kind: 'run', rowId, fence, occurrence: null, end: { kind: 'final', verdict: 'succeeded', successor: null } } as const
}

async function leaseOn(store: Store, name: string) {
  const reply = await store.acquire({ owner: 'me', claimId: 'c', name, ttlMs: 60_000, notAfter: Date.now() + 60_000 })
  if (reply.kind !== 'granted') throw new Error(reply.kind)
  return reply
}

async function settleOne(store: Store) {
  const name = `job ${Math.random()}`
  await declare(store, [declaration(name, [Date.now() + 3_600_000])])
  await store.control({ kind: 'trigger', name, id: 'once' })
  const { grants, now } = await store.claim(request())
  const grant = grants.find(({ row }) => row.name === name)!
  const seen = { rev: grant.row.rev, asked: 1, nextAt: grant.row.nextAt, open: null }
  const then = { kind: 'open', cause: 'once', scheduledAt: now, ask: { id: 'once', nextAt: null } } as const
  const plan = { seen, lines: [], closes: false, cursor: null, pauseEnds: null, then }
  const held = { rowId: grant.row.id, fence: grant.row.fence }
  const planned = await store.settle({ owner: 'me', items: [{ kind: 'plan', ...held, claimId: 'c', ttlMs: 60_000, plan }] })
  expect(planned.results[0]?.kind).toBe('granted')
  const end = { kind: 'final', verdict: 'succeeded', successor: null } as const
  return store.settle({ owner: 'me', items: [{ kind: 'run', ...held, occurrence: { cause: 'once', scheduledAt: now }, end }] })
}

/** Each verb once, as far as it writes to a table of its own. */
async function useIt(store: Store): Promise<void> {
  expect((await settleOne(store)).results).toEqual([{ kind: 'settled' }])
  const name = `lease ${Math.random()}`
  const { row } = await leaseOn(store, name)
  const held = { rowId: row.id, owner: 'me', fence: row.fence }
  expect((await store.renew({ owner: 'me', ttlMs: 60_000, leases: [held] })).leases[0]?.state).toBe('held')
  expect(await store.transaction(held, async () => 'done')).toBe('done')
  expect((await store.settle({ owner: 'me', items: [release(row.id, row.fence)] })).results).toEqual([{ kind: 'settled' }])
  for (const kind of ['jobs', 'leases', 'replicas', 'status'] as const) await store.read(kind, {})
  expect((await store.read('runs', { limit: 1 })).runs).toHaveLength(1)
  expect((await store.control({ kind: 'prune', keepMs: 3_600_000, keepLines: 10 })).kind).toBe('done')
}
