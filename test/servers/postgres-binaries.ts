// Where PostgreSQL's programs are on this machine, and as whom they run.
import { execFile, execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

export interface Binaries {
  readonly postgres: string
  readonly initdb: string
}

export async function findBinaries(): Promise<Binaries> {
  const found = lookForBinaries()
  if (found !== null) return found
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    process.stderr.write('PostgreSQL is missing: installing it with apt-get, once (about a minute) …\n')
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const limits = { env, timeout: 600_000, maxBuffer: 64 * 1024 * 1024 }
    try {
      await promisify(execFile)('apt-get', ['update', '-q'], limits)
      await promisify(execFile)('apt-get', ['install', '-q', '-y', '--no-install-recommends', 'postgresql'], limits)
    } catch (error) {
      throw new Error(`PostgreSQL could not be installed with apt-get. ${remedy}`, { cause: error })
    }
    const installed = lookForBinaries()
    if (installed !== null) return installed
  }
  throw new Error(`The tests need a PostgreSQL server, and this machine has none. ${remedy}`)
}

const remedy =
  'Install PostgreSQL 13 or newer (Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql), ' +
  'or name a server: ONETICK_TEST_POSTGRES_URL=postgres://…, or leave it out on purpose: ONETICK_TEST_STORES=sqlite,memory.'

function lookForBinaries(): Binaries | null {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number.parseFloat(b) - Number.parseFloat(a)) : []
  const folders = [...versions.map(version => join(debian, version, 'bin')), ...(process.env['PATH'] ?? '').split(delimiter)]
  for (const folder of folders) {
    const postgres = join(folder, 'postgres')
    const initdb = join(folder, 'initdb')
    if (isExecutable(postgres) && isExecutable(initdb)) return { postgres, initdb }
  }
  return null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** PostgreSQL refuses to run as root; Debian's package brings a user for it. Null: not root, nothing to drop. */
export function unprivileged(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  try {
    const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
    return { uid: id('-u'), gid: id('-g') }
  } catch (error) {
    throw new Error('PostgreSQL refuses to run as root, and there is no user postgres to run it as. Run the tests as another user.', {
      cause: error,
    })
  }
}

export function asServerUser(binary: string, args: readonly string[]): [string, string[]] {
  if (process.getuid?.() !== 0) return [binary, [...args]]
  // setpriv execs, so that the child's pid is the server's.
  return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--init-groups', binary, ...args]]
}
