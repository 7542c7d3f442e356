// A private PgBouncer in front of a server: transaction mode, a small pool, gone when the test is.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './postgres.ts'
import { asServerUser, unprivileged } from './postgres-binaries.ts'

export interface Pooler {
  readonly url: string
  stop(): Promise<void>
}

/** Null: there is none, and this machine cannot install one. */
export async function startPgbouncer(of: { readonly serverUrl: string; readonly poolSize: number }): Promise<Pooler | null> {
  const binary = lookForIt() ?? (await installed())
  if (binary === null) return null
  const folder = mkdtempSync(join(tmpdir(), 'onetick-pgbouncer-'))
  const server = new URL(of.serverUrl)
  const port = await freePort()
  const [host, user] = [server.hostname, decodeURIComponent(server.username) || 'postgres']
  const settings = `
[databases]
* = host=${host} port=${server.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = ${of.poolSize}
max_client_conn = 200
`
  writeFileSync(join(folder, 'pgbouncer.ini'), settings)
  writeFileSync(join(folder, 'users.txt'), `"${user}" ""\n`)
  const drop = unprivileged()
  chmodSync(folder, 0o700)
  if (drop !== null)
    for (const path of [folder, join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')]) chownSync(path, drop.uid, drop.gid)
  const child = spawn(...asServerUser(binary, ['-q', join(folder, 'pgbouncer.ini')]), { stdio: 'ignore' })
  const stop = async (): Promise<void> => {
    await ended(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await listening(port, child)
  } catch (error) {
    await stop()
    throw error
  }
  const url = new URL(of.serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return { url: url.href, stop }
}

function lookForIt(): string | null {
  const folders = ['/usr/sbin', ...(process.env['PATH'] ?? '').split(delimiter)]
  return folders.map(folder => join(folder, 'pgbouncer')).find(existsSync) ?? null
}

async function installed(): Promise<string | null> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return null
  process.stderr.write('PgBouncer is missing: installing it with apt-get, once …\n')
  const limits = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, timeout: 300_000, maxBuffer: 64 * 1024 * 1024 }
  const apt = (...args: string[]): Promise<unknown> => promisify(execFile)('apt-get', ['-q', '-y', ...args], limits)
  await apt('update')
  await apt('install', '--no-install-recommends', 'pgbouncer')
  return lookForIt()
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}.`)
    const isUp = await new Promise<boolean>(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.unref().on('connect', () => socket.destroy())
    })
    if (isUp) return
    await sleep(50)
  }
  throw new Error('PgBouncer does not listen.')
}
