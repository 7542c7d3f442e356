import { dirname } from 'node:path'
import { type ErrorCode, OnetickError } from '../../domain/errors.ts'
import { unfitPlace } from './place.ts'

/** Somebody else holds the lock: nothing was done, try again. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === results.BUSY || code === results.LOCKED || code === results.PROTOCOL
}

/** What a driver threw, as Onetick's own error; anything that is not SQLite's comes back as it is. */
export function failureOf(error: unknown, path: string): unknown {
  const result = resultCode(error)
  if (result === null || error instanceof OnetickError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (result === results.ERROR && message.includes('no such table')) {
    return new OnetickError('ONETICK_STORE_NOT_MIGRATED', `${path}: ${message}.`, { cause: error })
  }
  const unfit = result === results.CANTOPEN ? unfitPlace(path, error) : null
  if (unfit !== null) return unfit
  const known = failures.get(result)
  if (known === undefined) return error
  return new OnetickError(known.code, `${path}: ${known.what} (${message}).`, { cause: error, remedy: known.remedy(path) })
}

/** After these a connection is not to be trusted: it is closed, and the next call opens another. */
export function isConnectionSpent(error: unknown): boolean {
  const code = resultCode(error)
  return code !== null && code !== results.ERROR && code !== results.CONSTRAINT && !isBusy(error)
}

/** SQLite's primary result code; null where the error is not SQLite's. */
function resultCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null
  // node:sqlite, libsql: the extended code as a number
  const { errcode, rawCode, code } = error as Error & { errcode?: unknown; rawCode?: unknown; code?: unknown }
  for (const number of [errcode, rawCode]) if (typeof number === 'number') return number & 0xff
  // better-sqlite3: its name, such as SQLITE_BUSY_SNAPSHOT
  const name = typeof code === 'string' ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined
  if (name !== undefined && Object.hasOwn(results, name)) return results[name as keyof typeof results]
  // libsql, where opening fails: only in the text
  const opening = /Unable to open connection to local database .*: (\d+)/.exec(error.message)?.[1]
  return opening === undefined ? null : Number(opening) & 0xff
}

const results = {
  ERROR: 1,
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  CONSTRAINT: 19,
  NOTADB: 26,
} as const

interface Failure {
  readonly code: ErrorCode
  readonly what: string
  readonly remedy: (path: string) => string
}

const writable: Failure = {
  code: 'ONETICK_STORE_UNFIT',
  what: 'this process may not write to it',
  remedy: path => `Give this process write access to the file and to its directory ${dirname(path)}.`,
}

const failures: ReadonlyMap<number, Failure> = new Map<number, Failure>([
  [results.PERM, writable],
  [results.READONLY, writable],
  [results.NOMEM, { code: 'ONETICK_STORE_UNREACHABLE', what: 'out of memory', remedy: () => 'Give this process more memory.' }],
  [
    results.IOERR,
    {
      code: 'ONETICK_STORE_UNREACHABLE',
      what: 'the disk failed',
      remedy: () => 'Check the disk: space, quota, errors.',
    },
  ],
  [
    results.CORRUPT,
    {
      code: 'ONETICK_STORE_UNFIT',
      what: 'the file is damaged',
      remedy: path => `Restore ${path} from a backup, or move it away and migrate.`,
    },
  ],
  [
    results.FULL,
    {
      code: 'ONETICK_STORE_UNREACHABLE',
      what: 'the disk is full; nothing was written',
      remedy: path => `Free space on the disk of ${dirname(path)}.`,
    },
  ],
  [
    results.CANTOPEN,
    {
      code: 'ONETICK_STORE_UNREACHABLE',
      what: 'it cannot be opened',
      remedy: path => `Check the disk of ${dirname(path)}, and how many files this process may open.`,
    },
  ],
  [
    results.NOTADB,
    { code: 'ONETICK_STORE_UNFIT', what: 'it is no SQLite database, or an encrypted one', remedy: () => 'Name another file.' },
  ],
])
