import { existsSync } from 'node:fs'
import { OnetickError } from '../../domain/errors.ts'
import type { Migration } from '../store.ts'
import { type Connection, prefixed } from './connection.ts'
import { failureOf, isBusy } from './failure.ts'
import { unfitPlace } from './place.ts'
import { schemaVersion, steps, versionKey } from './schema.ts'

/** Readers and the writer must not wait for each other, in any process; the file remembers it. */
const writeAheadLog = 'pragma journal_mode = wal'

/** What would be executed. A file that is not there is not made. */
export function planMigration(path: string, open: () => Connection, prefix: string): Migration {
  if (!existsSync(path)) return { from: 0, to: schemaVersion, statements: [writeAheadLog, ...statementsFrom(0, prefix)] }
  const connection = open()
  try {
    const from = versionOf(connection)
    return {
      from,
      to: Math.max(from, schemaVersion),
      statements: [...(from === 0 ? [writeAheadLog] : []), ...statementsFrom(from, prefix)],
    }
  } finally {
    connection.close()
  }
}

/** Brings the file up to date in one transaction: of ten processes that start at once one does it, the others find it done. */
export function applyMigration(path: string, open: () => Connection, prefix: string): Migration {
  // not every driver says what is wrong with a file that it cannot make
  const unfit = existsSync(path) ? null : unfitPlace(path)
  if (unfit !== null) throw unfit
  const connection = open()
  try {
    const found = versionOf(connection)
    // nothing to do needs no right to do it
    if (found >= schemaVersion) return { from: found, to: found, statements: [] }
    keepWriteAheadLog(connection, path)
    connection.exec('begin immediate')
    const from = versionOf(connection)
    checkVersion(from === 0 ? schemaVersion : from, path)
    const statements = statementsFrom(from, prefix)
    for (const statement of statements) connection.native.exec(statement)
    connection.exec('commit')
    return { from, to: Math.max(from, schemaVersion), statements: [...(from === 0 ? [writeAheadLog] : []), ...statements] }
  } finally {
    connection.close()
  }
}

/** 0: no tables of Onetick yet. */
export function versionOf(connection: Connection): number {
  try {
    return connection.get<{ value: number }>('select value from onetick_meta where key = ?', versionKey)?.value ?? 0
  } catch (error) {
    const failure = isBusy(error) ? error : failureOf(error, '')
    if (failure instanceof OnetickError && failure.code === 'ONETICK_STORE_NOT_MIGRATED') return 0
    throw error
  }
}

/** Schemas only grow, so code one version off still finds what it needs, and what it does not know has a default. */
export function checkVersion(version: number, path: string): void {
  if (version === 0) throw new OnetickError('ONETICK_STORE_NOT_MIGRATED', `${path} has no tables of Onetick.`)
  if (Math.abs(version - schemaVersion) > 1) {
    throw new OnetickError('ONETICK_STORE_SCHEMA', `${path} has schema version ${version}, this release of onetick wants ${schemaVersion}.`)
  }
}

export function keepWriteAheadLog(connection: Connection, path: string): void {
  const mode = connection.get<{ journal_mode: string }>(writeAheadLog)?.journal_mode
  if (mode === 'wal') return
  const detail = `${path}: SQLite cannot keep a write-ahead log there (journal mode ${mode}).`
  throw new OnetickError('ONETICK_STORE_UNFIT', detail, { remedy: 'Use a file on a local disk: network file systems cannot do it.' })
}

function statementsFrom(version: number, prefix: string): string[] {
  const missing = steps.filter(step => step.version > version && step.version <= schemaVersion)
  if (missing.length === 0) return []
  const remember = `insert or replace into onetick_meta (key, value) values ('${versionKey}', ${schemaVersion})`
  return [...missing.flatMap(step => step.statements), remember].map(statement => prefixed(statement, prefix))
}
