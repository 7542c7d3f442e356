// A private PostgreSQL for tests: own data directory, free loopback port, gone when the tests are, however they end.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, chownSync, closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { asServerUser, findBinaries, unprivileged } from './postgres-binaries.ts'

export interface PostgresOptions {
  /** Libraries for shared_preload_libraries; each is also created as an extension. */
  readonly preload?: readonly string[]
  /** Off only where a test measures something else than durability. Default: on. */
  readonly fsync?: boolean
  /** Further settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface PostgresServer {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** Of the running server; changes with restart(). */
  readonly pid: number
  /** Ends the server and removes its data. */
  stop(): Promise<void>
  /** Starts the server again on the same data and port. `immediate` leaves it to crash recovery. */
  restart(mode?: 'fast' | 'immediate'): Promise<void>
  /** SIGKILL for the server and all its backends at once, as when the machine loses power. restart() brings it back. */
  kill(): Promise<void>
}

const startTimeoutMs = 60_000
const stopTimeoutMs = 20_000
const bindTries = 5

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const binaries = await findBinaries()
  const base = mkdtempSync(join(tmpdir(), 'onetick-postgres-'))
  const dataDir = join(base, 'data')
  const logFile = join(base, 'server.log')
  const watchdog = watch(base, dataDir)
  try {
    const user = unprivileged()
    chmodSync(base, 0o700)
    if (user !== null) chownSync(base, user.uid, user.gid)
    await run(binaries.initdb, ['-D', dataDir, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync'], base)
    for (let attempt = 1; ; attempt++) {
      const port = await freePort()
      const server = new Running({ binary: binaries.postgres, dataDir, logFile, port, options, watchdog })
      try {
        await server.start()
        await createExtensions(server.url, options.preload ?? [])
        return server
      } catch (error) {
        await server.end('SIGQUIT')
        // Another process may have taken the port between the look and the bind.
        if (attempt >= bindTries || !/address already in use/i.test(String(error))) throw error
      }
    }
  } catch (error) {
    await dismiss(watchdog)
    throw error
  }
}

interface Parts {
  readonly binary: string
  readonly dataDir: string
  readonly logFile: string
  readonly port: number
  readonly options: PostgresOptions
  readonly watchdog: ChildProcess
}

class Running implements PostgresServer {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly #parts: Parts
  #child: ChildProcess | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    this.port = parts.port
    this.dataDir = parts.dataDir
    this.url = `postgres://postgres@127.0.0.1:${parts.port}/postgres`
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('PostgreSQL is not running.')
    return pid
  }

  async start(): Promise<void> {
    const { binary, dataDir, logFile, port, options } = this.#parts
    const settings: Record<string, string> = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: '200',
      fsync: options.fsync === false ? 'off' : 'on',
      shared_preload_libraries: (options.preload ?? []).join(','),
      ...options.settings,
    }
    const args = ['-D', dataDir, '-p', String(port), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
    const log = openSync(logFile, 'a')
    const [command, commandArgs] = asServerUser(binary, args)
    // A session of its own: Ctrl-C in the terminal ends the tests first, then the server.
    const child = spawn(command, commandArgs, { cwd: dataDir, detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    child.unref()
    this.#child = child
    let failed: Error | null = null
    child.once('error', error => {
      failed = error
    })
    const deadline = performance.now() + startTimeoutMs
    while (!(await answers(this.url))) {
      if (failed !== null) throw failed
      if (hasEnded(child)) throw new Error(`PostgreSQL ended while starting:\n${tail(logFile)}`)
      if (performance.now() > deadline) throw new Error(`PostgreSQL did not answer within ${startTimeoutMs} ms:\n${tail(logFile)}`)
      await sleep(25)
    }
    // Something else may answer on the port while our own server could not bind it.
    if (hasEnded(child)) throw new Error(`PostgreSQL ended while starting:\n${tail(logFile)}`)
  }

  async stop(): Promise<void> {
    await this.end('SIGINT')
    await dismiss(this.#parts.watchdog)
  }

  async restart(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    // After kill() the kernel may still hold the old server's shared memory for a moment.
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.start()
      } catch (error) {
        await this.end('SIGQUIT')
        if (attempt >= 20 || !/still in use/i.test(String(error))) throw error
        await sleep(100)
      }
    }
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child?.pid === undefined || hasEnded(child)) return
    // Stopped first, so that it cannot notice that its backends die and clean up after them.
    process.kill(child.pid, 'SIGSTOP')
    for (const pid of childrenOf(child.pid)) signal(pid, 'SIGKILL')
    process.kill(child.pid, 'SIGKILL')
    await ended(child, stopTimeoutMs)
    this.#child = null
  }

  async end(how: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child?.pid === undefined) return
    for (const step of [how, 'SIGQUIT', 'SIGKILL'] as const) {
      if (hasEnded(child)) return
      signal(child.pid, step)
      if (await ended(child, stopTimeoutMs)) return
    }
  }
}

async function run(binary: string, args: readonly string[], cwd: string): Promise<void> {
  const [command, commandArgs] = asServerUser(binary, args)
  await promisify(execFile)(command, commandArgs, { cwd })
}

/** Waits until this process closes its end of the pipe, by stop() or by dying of anything; then ends the server and removes its data. */
function watch(base: string, dataDir: string): ChildProcess {
  const script = [
    'cat > /dev/null',
    'pid=$(head -n 1 "$2/postmaster.pid" 2> /dev/null)',
    'if [ -n "$pid" ] && kill -QUIT "$pid" 2> /dev/null; then',
    '  tries=0; while kill -0 "$pid" 2> /dev/null && [ "$tries" -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done',
    'fi',
    'rm -rf "$1"',
  ].join('\n')
  const watchdog = spawn('sh', ['-c', script, 'sh', base, dataDir], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  watchdog.unref()
  const pipe = watchdog.stdin
  if (pipe !== null && 'unref' in pipe && typeof pipe.unref === 'function') pipe.unref()
  return watchdog
}

async function dismiss(watchdog: ChildProcess): Promise<void> {
  watchdog.stdin?.end()
  await ended(watchdog, stopTimeoutMs)
}

export async function freePort(): Promise<number> {
  return await new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no free port'))))
    })
  })
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

async function createExtensions(url: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const name of names) await client.query(`create extension if not exists ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
}

function childrenOf(parent: number): number[] {
  if (!existsSync('/proc/self/stat')) return []
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => parentOf(pid) === parent)
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // "pid (any name) state ppid …"
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // Already gone.
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function ended(child: ChildProcess, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (!hasEnded(child)) {
    if (performance.now() > deadline) return false
    await sleep(10)
  }
  return true
}

function tail(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(-20).join('\n') : '(no log)'
}
