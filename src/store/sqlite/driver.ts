import { OnetickError, quoted } from '../../domain/errors.ts'

/** Opens a database file, creating it where it is missing. */
export type OpenFile = (path: string) => SqliteDatabase

/** What a driver has to offer: the part of better-sqlite3 that node:sqlite and libsql share. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
  close(): unknown
}

export interface SqliteStatement {
  all(...parameters: readonly SqlValue[]): unknown[]
  get(...parameters: readonly SqlValue[]): unknown
  run(...parameters: readonly SqlValue[]): { readonly lastInsertRowid: number | bigint; readonly changes: number | bigint }
}

export type SqlValue = string | number | null

export type DriverName = 'node:sqlite' | 'better-sqlite3' | 'libsql'

/**
 * The driver asked for, or the first that this process has. Loaded on first use: whoever runs on another store needs none.
 * An application that opens the same file itself must do so with the same driver: closing a file through one copy of SQLite
 * drops the locks that another copy in the same process holds on it.
 */
export async function loadDriver(wanted: DriverName | OpenFile | undefined): Promise<OpenFile> {
  if (typeof wanted === 'function') return wanted
  const names = wanted === undefined ? order : order.filter(name => name === wanted)
  const reasons: string[] = []
  for (const name of names) {
    try {
      return await loaders[name]()
    } catch (error) {
      reasons.push(`${name}: ${firstLine(error)}`)
    }
  }
  const why = reasons.length > 0 ? reasons.join('; ') : `${quoted(wanted)} is not one of ${order.join(', ')}`
  throw new OnetickError('ONETICK_STORE_DRIVER', `No SQLite driver could be loaded (${why}).`, {
    remedy: 'Run Node 22.13 or newer, which has one built in, or install better-sqlite3 or libsql beside onetick.',
  })
}

const order: readonly DriverName[] = ['node:sqlite', 'better-sqlite3', 'libsql']

const loaders: Readonly<Record<DriverName, () => Promise<OpenFile>>> = {
  'node:sqlite': async () => {
    const builtIn = process.getBuiltinModule('node:sqlite') as { DatabaseSync: new (path: string) => SqliteDatabase } | undefined
    if (builtIn === undefined) throw new Error(`Node ${process.versions.node} has it behind a flag or not at all`)
    return path => new builtIn.DatabaseSync(path)
  },
  'better-sqlite3': () => shapedLike('better-sqlite3'),
  libsql: () => shapedLike('libsql'),
}

/** Both export a constructor whose busy handler waits 5 s, blocking the loop, unless it is told not to. */
async function shapedLike(name: string): Promise<OpenFile> {
  const module = (await import(name)) as { default: new (path: string, options: { timeout: number }) => SqliteDatabase }
  return path => new module.default(path, { timeout: 0 })
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
}
