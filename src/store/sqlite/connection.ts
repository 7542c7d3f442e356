import type { Instant } from '../../domain/timetable.ts'
import type { SqliteDatabase, SqliteStatement, SqlValue } from './driver.ts'

/**
 * One connection: statements prepared once, and the table prefix put in. SQL is written with the default names
 * (`onetick_jobs`, `cron_with_leases`); values are always bound, so a text is the key of its statement.
 */
export class Connection {
  /** The driver's own object. */
  readonly native: SqliteDatabase
  readonly #prefix: string
  readonly #statements: Map<string, SqliteStatement> = new Map()

  constructor(native: SqliteDatabase, prefix: string) {
    this.native = native
    this.#prefix = prefix
  }

  all<Row>(sql: string, ...parameters: readonly SqlValue[]): Row[] {
    return this.#statement(sql).all(...parameters) as Row[]
  }

  get<Row>(sql: string, ...parameters: readonly SqlValue[]): Row | undefined {
    return (this.#statement(sql).get(...parameters) ?? undefined) as Row | undefined
  }

  run(sql: string, ...parameters: readonly SqlValue[]): { readonly lastInsertRowid: number | bigint; readonly changes: number | bigint } {
    return this.#statement(sql).run(...parameters)
  }

  /** For statements without values that are not worth keeping. */
  exec(sql: string): void {
    this.native.exec(prefixed(sql, this.#prefix))
  }

  /**
   * The store's clock: this host's, read by SQLite itself, so that it is one for all processes on the file whatever clock
   * they were handed. It steps when the host's steps; fences rise all the same (S3).
   * Rounded, as a Julian day in floating point is exact to 40 µs only. SQLite has `unixepoch('subsec')` from 3.42 only.
   */
  now(): Instant {
    return (
      this.get<{ now: Instant }>("select cast(round((julianday('now') - 2440587.5) * 86400000.0) as integer) as now")?.now ?? Number.NaN
    )
  }

  /** Nothing can be written through this connection any more, by whoever still has it; its locks are gone. */
  close(): void {
    this.#statements.clear()
    // libsql runs prepared statements on after close, and keeps an open transaction until they are collected
    for (const sql of ['rollback', 'pragma query_only = on']) attempt(() => this.native.exec(sql))
    attempt(() => this.native.close())
  }

  #statement(sql: string): SqliteStatement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.native.prepare(prefixed(sql, this.#prefix))
    this.#statements.set(sql, statement)
    return statement
  }
}

/** The statement for tables of this prefix. The article's view has its plain name under the default prefix only. */
export function prefixed(sql: string, prefix: string): string {
  if (prefix === defaultPrefix) return sql
  return sql.replaceAll(/\bonetick_/g, prefix).replaceAll(/\bcron_with_leases\b/g, `${prefix}cron_with_leases`)
}

export const defaultPrefix = 'onetick_'

function attempt(step: () => void): void {
  try {
    step()
  } catch {
    // a connection that fails to close is beyond help
  }
}
