// The PostgreSQL store with many jobs: what the server reads for each verb, told by itself (auto_explain).
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type PostgresOptions, postgres } from '../../src/store/postgres/index.ts'
import type { ClaimRequest, Replica, RunSettlement, Store } from '../../src/store/store.ts'
import { aDefinition } from '../conformance/rows.ts'
import { chosenStores } from '../servers/chosen.ts'

const schema = 'onetick_size'
const count = 20_000
const tasks = ['t0', 't1', 't2']
const replica: Replica = { id: 'me', host: 'h', version: '1', release: 'r1', role: 'all', tasks, capacity: 100 }

const ways: readonly { readonly by: string; readonly options: (url: string) => PostgresOptions }[] = [
  { by: 'a URL', options: url => ({ url: telling(url), schema, poolSize: 1 }) },
  { by: 'a pool', options: url => ({ pool: new pg.Pool({ connectionString: telling(url), max: 1 }), schema }) },
]

describe.skipIf(!chosenStores.includes('postgres')).for(ways)('opened by $by, with 20,000 jobs', ({ options }) => {
  const url = inject('postgresUrl') ?? ''
  let client: pg.Client
  let store: Store
  const plans: string[] = []

  beforeAll(async () => {
    client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`drop schema if exists ${schema} cascade`)
    const { restore } = listenTo(plans)
    store = postgres(options(url))
    await store.migrate('apply')
    // plans that were made while nothing was there must do later, too
    await store.declare({ replica, jobs: [], liveForMs: 30_000 })
    for (let i = 0; i < 8; i++) await store.claim(request())
    const now = Date.now()
    const jobs = Array.from({ length: count }, (_, i) => ({
      name: `job ${i}`,
      task: tasks[i % 3]!,
      definition: aDefinition(),
      hash: 'h',
      upcoming: [now + 3_600_000 + i, now + 7_200_000],
    }))
    const { results } = await store.declare({ replica, jobs, liveForMs: 30_000 })
    expect(new Set(results)).toEqual(new Set(['new']))
    await client.query(`analyze ${schema}.onetick_jobs`)
    return restore
  })

  afterAll(async () => {
    await store.close()
    await client.query(`drop schema ${schema} cascade`)
    await client.end()
  })

  test('an ask with nothing due reads next to nothing', async () => {
    const plan = await planOf(() => store.claim(request()))
    expect(plan).toContain('onetick_jobs_due')
    expect(rowsRead(plan, 'jobs')).toBeLessThan(20)
  })

  test('an ask reads what it takes, not what is due or there', async () => {
    await makeDue(5000)
    const plan = await planOf(() => store.claim(request({ limit: 50 })))
    // a look at the due ones of each task, a look at those taken, and their change
    expect(rowsRead(plan, 'jobs')).toBeLessThan(51 * 3 + 51 + 50 + 10)
    await client.query(`update ${schema}.onetick_jobs set due_at = next_at + interval '1 day' where owner is null`)
  })

  test('no verb goes through a table', async () => {
    await makeDue(20)
    plans.length = 0
    const { grants } = await store.claim(request())
    const held = grants.map(({ row }) => ({ rowId: row.id, owner: 'me', fence: row.fence }))
    expect(held).toHaveLength(10)
    await store.renew({ owner: 'me', ttlMs: 60_000, leases: held })
    await store.checkpoint(held[0]!, 1)
    await store.transaction(held[0]!, async () => undefined)
    const items = grants.map(({ row }): RunSettlement => {
      const end = { kind: 'final', verdict: 'succeeded', successor: null } as const
      return { kind: 'run', rowId: row.id, fence: row.fence, occurrence: row.open, end }
    })
    await store.settle({ owner: 'me', items })
    expect((await store.settle({ owner: 'me', items })).results[0]?.kind).toBe('already')
    const lease = await store.acquire({ owner: 'me', claimId: 'c', name: 'lease', ttlMs: 60_000, notAfter: Date.now() + 60_000 })
    expect(lease.kind).toBe('granted')
    await store.control({ kind: 'trigger', name: 'job 7', id: 'x' })
    await store.control({ kind: 'pause', name: 'job 8', until: Number.POSITIVE_INFINITY, by: null, why: null })
    await store.control({ kind: 'resume', name: 'job 8' })
    await store.control({ kind: 'cancel', rowId: 9 })
    await store.read('jobs', { name: 'job 7' })
    await store.read('asks', { name: 'job 7' })
    await store.read('runs', { job: 'job 7', limit: 10 })
    const scans = plans.flatMap(plan => plan.split('\n').filter(line => /Seq Scan on "?onetick_(jobs|definitions)/.test(line)))
    expect(scans).toEqual([])
    expect(plans.length).toBeGreaterThan(20)
    for (const plan of plans) expect(rowsRead(plan, 'jobs')).toBeLessThan(200)
  })

  test('declaring what stands as declared reads it and locks nothing', async () => {
    const { jobs } = await store.read('jobs', { name: 'job 100' })
    const { name, task, definition, hash } = jobs[0]!
    const plan = await planOf(() => store.declare({ replica, jobs: [{ name, task, definition, hash, upcoming: [] }], liveForMs: 1 }))
    expect(rowsRead(plan, 'jobs')).toBe(1)
  })

  function request(parts: Partial<ClaimRequest> = {}): ClaimRequest {
    const presence = { running: 0, draining: false, clockOffsetMs: 0, loopLagMs: 0 }
    const common = { owner: 'me', claimId: Math.random().toString(36), tasks, limit: 10, ttlMs: 60_000, except: [], liveForMs: 30_000 }
    return { ...common, notAfter: Date.now() + 60_000, presence, ...parts }
  }

  async function makeDue(due: number): Promise<void> {
    await client.query(
      `update ${schema}.onetick_jobs set next_at = now() - interval '1 second', due_at = now() - interval '1 second', after_at = 'infinity' where id <= $1`,
      [due],
    )
  }

  /** Of the longest statement of a call. */
  async function planOf(call: () => Promise<unknown>): Promise<string> {
    plans.length = 0
    await call()
    return plans.reduce((longest, plan) => (plan.length > longest.length ? plan : longest), '')
  }
})

/** Each statement's plan comes back as a notice, with the rows that were really read. */
function telling(url: string): string {
  const settings = [
    'session_preload_libraries=auto_explain',
    'client_min_messages=log',
    'auto_explain.log_min_duration=0',
    'auto_explain.log_analyze=on',
    'auto_explain.log_timing=off',
  ]
  const address = new URL(url)
  address.searchParams.set('options', settings.map(setting => `-c ${setting}`).join(' '))
  return address.href
}

/** Hears the notices of every connection that is opened from now on. */
function listenTo(plans: string[]): { restore: () => void } {
  const { connect } = pg.Client.prototype
  pg.Client.prototype.connect = function (this: pg.Client, ...given: unknown[]) {
    this.on('notice', ({ message }) => /^duration/.test(message ?? '') && plans.push(message ?? ''))
    return Reflect.apply(connect, this, given)
  } as typeof connect
  return {
    restore: () => {
      pg.Client.prototype.connect = connect
    },
  }
}

/** How many rows the plan's scans of a table came to, those that a filter threw away included. */
function rowsRead(plan: string, table: string): number {
  let rows = 0
  let loops = 0
  for (const line of plan.split('\n')) {
    const scan = /Scan.* on "?onetick_(\w+?)"? .*\(actual rows=(\d+) loops=(\d+)\)/.exec(line)
    if (scan !== null) loops = scan[1] === table ? Number(scan[3]) : 0
    if (scan !== null && scan[1] === table) rows += Number(scan[2]) * Number(scan[3])
    const removed = /Rows Removed by (?:Filter|Index Recheck): (\d+)/.exec(line)
    if (removed !== null) rows += Number(removed[1]) * loops
    if (/->|CTE|InitPlan/.test(line) && scan === null) loops = 0
  }
  return rows
}
