import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Onetick } from '../../src/index.ts'
import { openStore } from '../../src/store/open.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { chosenStores } from '../servers/chosen.ts'
import { startPgbouncer } from '../servers/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../servers/postgres.ts'
import { configWith, folderWith, run } from './command.ts'

interface Report {
  readonly code: number | null
  readonly healthy: boolean
  /** `warn: text remedy`, by name. */
  readonly checks: Readonly<Record<string, string>>
}

async function doctor(folder: string, ...args: readonly string[]): Promise<Report> {
  const { code, stdout, stderr } = await run(folder, ['doctor', '--json', ...args])
  expect(stderr).toBe('')
  const told = JSON.parse(stdout) as { healthy: boolean; checks: { name: string; status: string; text: string; remedy: string | null }[] }
  const checks = told.checks.map(({ name, status, text, remedy }) => [name, `${status}: ${text}${remedy === null ? '' : ` ${remedy}`}`])
  return { code, healthy: told.healthy, checks: Object.fromEntries(checks) }
}

describe('doctor on SQLite', () => {
  test('a store that replicas work on is healthy', async () => {
    const folder = folderWith()
    const store = `sqlite:${join(folder, 'jobs.db')}`
    const onetick = new Onetick({ store, replica: 'pod', heartbeat: { thread: false } })
    onetick.job('mine', { schedule: 'every 1h' }, () => {})
    await onetick.start()
    const config = configWith("onetick.job('mine', { schedule: 'every 1h' }, () => {})", `{ store: '${store}' }`)
    writeFileSync(join(folder, 'onetick.config.mjs'), config)
    const { code, healthy, checks } = await doctor(folder)
    const text = await run(folder, ['doctor'])
    await onetick.stop()
    expect({ code, healthy }).toEqual({ code: 0, healthy: true })
    expect(checks).toMatchObject({
      node: expect.stringMatching(/^ok/),
      drain: expect.stringMatching(/^warn: stop\(\) may take 35 s: .+ Set terminationGracePeriodSeconds: 40/),
      store: expect.stringMatching(/^ok: sqlite:.+ answers/),
      journal: expect.stringMatching(/^ok/),
      durability: expect.stringMatching(/^ok/),
      disk: expect.stringMatching(/MB are free/),
      schema: expect.stringMatching(/^ok/),
      replicas: expect.stringMatching(/^ok: 1 live \(pod-[0-9a-f]{8}\), 0 of 10 runs under way/),
      orphans: expect.stringMatching(/^ok/),
      overdue: expect.stringMatching(/^ok/),
    })
    expect(text.code).toBe(0)
    expect(text.stdout).toMatch(/^ok {7}node {9}Node .+\n/)
    expect(text.stdout).toMatch(/\n\n\d+ checks, 0 failed, \d warned\.\n$/)
    expect((await run(folder, ['doctor', '--quiet'])).stdout).not.toMatch(/^ok/m)
  })

  test('a file that is not there is missing its tables, and none is made', async () => {
    const folder = folderWith()
    const { code, checks } = await doctor(folder, '--store', 'sqlite:./new.db')
    expect(code).toBe(1)
    expect(checks['store']).toMatch(/there is no file yet, and there can be one/)
    expect(checks['schema']).toBe('fail: The tables are missing. Run: npx onetick migrate')
    expect(() => execFileSync('ls', [join(folder, 'new.db')], { stdio: 'pipe' })).toThrow()
  })

  test('a place where no file can be is refused in the words of start', async () => {
    const { code, checks } = await doctor(folderWith(), '--store', 'sqlite:./gone/new.db')
    expect(code).toBe(1)
    expect(checks['refused']).toMatch(/^fail: A replica does not start: the directory .+gone does not exist\. Create it, or name a file/)
  })

  test.each([
    [1, 'warn', 0],
    [2, 'fail', 1],
  ] as const)('a schema that is newer by %i is a %s', async (by, status, exit) => {
    const url = `sqlite:${join(folderWith(), 'jobs.db')}`
    const store = openStore(url, {})
    const { to } = await store.migrate('apply')
    await store.close()
    const { default: Database } = (await import('libsql')) as unknown as {
      default: new (path: string) => { exec(sql: string): void; close(): void }
    }
    const file = new Database(url.slice('sqlite:'.length))
    file.exec(`update onetick_meta set value = ${to + by} where key = 'schema_version'`)
    file.close()
    const { code, checks } = await doctor(folderWith(), '--store', url)
    expect(code).toBe(exit)
    expect(checks['schema']).toMatch(
      new RegExp(`^${status}: Version ${to + by}; this release is made for ${to}\\..+ Install a newer onetick here\\.$`),
    )
  })
})

test('a store that cannot be reached is one failed check, and code 3', async () => {
  const { code, healthy, checks } = await doctor(folderWith(), '--store', 'postgres://app:s3cret@127.0.0.1:1/x')
  expect({ code, healthy }).toEqual({ code: 3, healthy: false })
  expect(checks['store']).toMatch(/^fail: ONETICK_STORE_UNREACHABLE: postgres:\/\/app@127\.0\.0\.1:1\/x/)
  expect(JSON.stringify(checks)).not.toContain('s3cret')
})

describe.skipIf(!chosenStores.includes('postgres'))('doctor on PostgreSQL', () => {
  let server: PostgresServer
  const urlOf = (user: string): string => `postgres://${user}@127.0.0.1:${server.port}/postgres`

  beforeAll(async () => {
    // of its own: roles and settings are the whole server's
    server = await startPostgres({ fsync: false })
  })
  afterAll(() => server?.stop())

  async function asAdmin(...statements: readonly string[]): Promise<void> {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }

  test('a database without tables is told to be migrated', async () => {
    const { code, checks } = await doctor(folderWith(), '--store', server.url)
    expect(code).toBe(1)
    expect(checks['schema']).toBe('fail: The tables are missing. Run: npx onetick migrate')
    expect(checks['rights']).toMatch(/^unknown/)
  })

  test('fsync that is off fails, all else is told', async () => {
    const store = postgres({ url: server.url })
    await store.migrate('apply')
    await store.close()
    const { code, checks } = await doctor(folderWith(), '--store', server.url)
    expect(code).toBe(1)
    const { durability, ...others } = checks
    expect(durability).toMatch(/^fail: fsync is off: .+ Set fsync = on/)
    expect(Object.entries(others).filter(([, text]) => text.startsWith('fail'))).toEqual([])
    for (const name of ['store', 'version', 'rights', 'isolation', 'timeouts', 'connections', 'tls', 'pooler', 'clock', 'schema']) {
      expect(others[name], name).toMatch(/^ok: /)
    }
  })

  test('a role that may only read is told which rights it lacks, and that no replica starts', async () => {
    await asAdmin(
      'create role reader login',
      'grant select on all tables in schema public to reader',
      'alter role reader set default_transaction_read_only = on',
    )
    const { code, checks } = await doctor(folderWith(), '--store', urlOf('reader'))
    expect(code).toBe(1)
    expect(checks['refused']).toMatch(
      /^fail: A replica does not start: the server gives this user read-only transactions\. Connect as a user/,
    )
    expect(checks['rights']).toMatch(/^fail: reader lacks insert, update, delete on onetick_asked, .+\. Let somebody .+ migrate --sql/)
    expect(checks['schema']).toMatch(/^ok/)
    expect(checks['replicas']).toMatch(/^warn: None is live/)
  })

  test('a role without any right still gets an answer', async () => {
    await asAdmin('create role nobody login')
    const { code, checks } = await doctor(folderWith(), '--store', urlOf('nobody'))
    expect(code).toBe(1)
    expect(checks['rights']).toMatch(/^fail: nobody lacks select, insert, update, delete on onetick_asked, .+ with the grants to nobody\.$/)
    expect(checks['schema']).toMatch(/^unknown: /)
  })

  test('settings of the role that break promises, or only disturb, are named', async () => {
    await asAdmin(
      'create role odd login superuser',
      'alter role odd set lock_timeout = 100',
      "alter role odd set default_transaction_isolation = 'serializable'",
      'alter role odd set synchronous_commit = off',
    )
    const { code, checks } = await doctor(folderWith(), '--store', urlOf('odd'))
    expect(code).toBe(1)
    expect(checks['refused']).toMatch(/^fail: .+ has synchronous_commit off for this user\. Run: alter role/)
    expect(checks['timeouts']).toMatch(/^warn: .+: lock_timeout \(100 ms\)\. Run: alter role "odd" set lock_timeout = 5000$/)
    expect(checks['isolation']).toMatch(/^warn: Transactions of this user are serializable/)
  })

  test('a pooler shows by one server process that serves two connections, and not where there is none', async () => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const shared = { query: client.query.bind(client), on: () => undefined, removeListener: () => undefined, release: () => undefined }
    const pool = { connect: async () => shared, on: () => undefined, removeListener: () => undefined }
    const store = postgres({ pool: pool as never })
    expect(await store.read('fitness', {})).toMatchObject({ pooler: 'transaction' })
    await store.close()
    await client.end()
    const one = new pg.Pool({ connectionString: server.url, max: 1 })
    const narrow = postgres({ pool: one, callTimeoutMs: 500 })
    expect(await narrow.read('fitness', {})).toMatchObject({ pooler: null })
    await narrow.close()
    await one.end()
  })

  test('PgBouncer in transaction mode is seen, and calls work through it', async ({ skip }) => {
    const pooler = await startPgbouncer({ serverUrl: server.url, poolSize: 2 })
    if (pooler === null) return skip('PgBouncer is not there, and cannot be installed')
    const { checks } = await doctor(folderWith(), '--store', pooler.url)
    await pooler.stop()
    expect(checks['pooler']).toMatch(/^warn: A pooler in transaction mode stands between: calls work, but wake-ups do not arrive/)
    expect(checks['schema']).toMatch(/^ok/)
  })

  test('a standby is told from the primary', async () => {
    writeFileSync(join(server.dataDir, 'standby.signal'), '')
    await server.restart()
    const { code, checks } = await doctor(folderWith(), '--store', server.url)
    expect(code).toBe(1)
    expect(checks['refused']).toBe('fail: A replica does not start: the server is a standby. Connect to the primary server.')
  })
})
