import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import pg from 'pg'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { chosenStores } from './chosen.ts'
import { type PostgresServer, startPostgres } from './postgres.ts'

const servers: PostgresServer[] = []

async function start(options: Parameters<typeof startPostgres>[0] = {}): Promise<PostgresServer> {
  const server = await startPostgres(options)
  servers.push(server)
  return server
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

describe.skipIf(!chosenStores.includes('postgres'))('a private PostgreSQL', () => {
  test('one server is shared by the whole run', async () => {
    const url = inject('postgresUrl')
    expect(await query(url ?? '', 'select 1 + 1')).toEqual([2])
  })

  test('it is durable by default and leaves nothing behind when stopped', async () => {
    const server = await start()
    expect(await query(server.url, "select current_setting('fsync')")).toEqual(['on'])
    expect(existsSync(server.dataDir)).toBe(true)
    const { pid } = server
    await server.stop()
    expect(existsSync(server.dataDir)).toBe(false)
    expect(() => process.kill(pid, 0)).toThrow()
  })

  test('it counts statements where asked to, and may trade durability for speed', async () => {
    const server = await start({ preload: ['pg_stat_statements'], fsync: false, settings: { work_mem: '5MB' } })
    expect(await query(server.url, "select current_setting('fsync'), current_setting('work_mem')")).toEqual(['off', '5MB'])
    await query(server.url, 'select n from generate_series(1, 3) n')
    expect(await query(server.url, "select calls::int from pg_stat_statements where query like '%from generate_series%'")).toEqual([1])
  })

  test('what was committed survives a restart, an immediate one and a kill -9', async () => {
    const server = await start()
    await query(server.url, 'create table kept (n int)')
    const { pid, port } = server
    const restarts = [() => server.restart(), () => server.restart('immediate'), () => server.kill().then(() => server.restart())]
    for (const [n, restart] of restarts.entries()) {
      await query(server.url, `insert into kept values (${n + 1})`)
      await restart()
    }
    expect(await query(server.url, 'select n from kept order by n')).toEqual([1, 2, 3])
    expect(server.port).toBe(port)
    expect(server.pid).not.toBe(pid)
  })

  test('it ends with the process that started it, even one killed with SIGKILL', async () => {
    const script = `
      import { createJiti } from 'jiti'
      const { startPostgres } = await createJiti(import.meta.url).import('./postgres.ts')
      const server = await startPostgres()
      console.log(JSON.stringify({ pid: server.pid, dataDir: server.dataDir }))
      setInterval(() => {}, 1000)`
    const args = ['--input-type=module', '-e', script]
    const parent = spawn(process.execPath, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] })
    const told = await new Promise<{ pid: number; dataDir: string }>((resolve, reject) => {
      parent.stdout.once('data', data => resolve(JSON.parse(String(data))))
      parent.once('exit', code => reject(new Error(`ended with ${code}`)))
    })
    process.kill(told.pid, 0)
    parent.kill('SIGKILL')
    await expect.poll(() => existsSync(told.dataDir), { timeout: 10_000 }).toBe(false)
    expect(() => process.kill(told.pid, 0)).toThrow()
  })
})
