import { resolve } from 'node:path'
import type { Clock, Random } from '../../domain/clock.ts'
import { OnetickError, quoted } from '../../domain/errors.ts'
import { systemClock, systemRandom } from '../../platform/system.ts'
import type { Store, StoreOptions } from '../store.ts'
import { defaultPrefix } from './connection.ts'
import type { DriverName, OpenFile } from './driver.ts'
import { SqliteStore } from './store.ts'

export type { DriverName, OpenFile, SqliteDatabase, SqliteStatement, SqlValue } from './driver.ts'

export interface SqliteOptions extends StoreOptions {
  /** The database file, on a local disk. `migrate('apply')` makes it; nothing else does. The application's own tables may stand in it too. */
  readonly path: string
  /** How the names of Onetick's tables begin. Default `onetick_`. */
  readonly prefix?: string
  /**
   * `full` (default): what a replica was told survives a loss of power. `normal`: a few times faster, but the last
   * transactions may be undone by one, and a lease with them, while its holder still trusts it.
   */
  readonly synchronous?: 'full' | 'normal'
  /**
   * One driver by name, or a function that opens the file with a database that is shaped like better-sqlite3's.
   * Default: node:sqlite, else better-sqlite3, else libsql. An application that opens the same file itself must use the same one.
   */
  readonly driver?: DriverName | OpenFile
  /** For timers only: what is due is decided by the host's clock, as SQLite reads it. Default: this machine's. */
  readonly clock?: Clock
  readonly random?: Random
}

/**
 * A store in one SQLite file, for any number of processes on one host. Opened on first use.
 * Throws `ONETICK_STORE_URL` where the path names no file, `ONETICK_IDENTIFIER` and `ONETICK_OPTION` for bad options.
 */
export function sqlite(options: SqliteOptions): Store {
  const { path, namespace = 'default', prefix = defaultPrefix, synchronous = 'full', callTimeoutMs = 5000, driver } = options
  if (path === '' || path.startsWith(':memory:')) {
    throw new OnetickError('ONETICK_STORE_URL', `${quoted(path)} names no file that processes could share.`, {
      remedy: 'Name a file: sqlite:./onetick.db. For a store that ends with its process use memory:.',
    })
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(prefix) || /^sqlite_/i.test(prefix)) {
    throw new OnetickError('ONETICK_IDENTIFIER', `prefix ${quoted(prefix)} cannot begin the name of a table in SQLite.`)
  }
  if (synchronous !== 'full' && synchronous !== 'normal') {
    throw new OnetickError('ONETICK_OPTION', `synchronous is ${quoted(synchronous)}, not 'full' or 'normal'.`)
  }
  if (!(callTimeoutMs > 0 && callTimeoutMs < 2 ** 31)) {
    throw new OnetickError('ONETICK_OPTION', `callTimeoutMs is ${quoted(callTimeoutMs)}, not a positive number of milliseconds.`)
  }
  const file = { path: resolve(path), namespace, prefix, synchronous, callTimeoutMs }
  // a function that opens the file cannot be sent to another thread
  const isPlain = driver === undefined || typeof driver === 'string'
  return new SqliteStore({
    ...file,
    elsewhere: isPlain ? { kind: 'sqlite', options: { ...file, ...(driver === undefined ? {} : { driver }) } } : null,
    driver,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
  })
}
