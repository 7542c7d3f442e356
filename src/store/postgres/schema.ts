import { OnetickError } from '../../domain/errors.ts'
import type { Migration } from '../store.ts'
import type { Database } from './database.ts'
import type { ClientLike } from './driver.ts'
import { explained } from './failure.ts'
import type { Values } from './row.ts'
import { grants, versions } from './schema.sql.ts'
import { statement, type Tables } from './tables.ts'

/** A migration may build indexes on large tables, and nine other replicas may come first. */
const migrationTimeoutMs = 600_000

/** What this release was made for. */
export const latest: number = versions.at(-1)?.version ?? 0

/** Whom to ask: any connection, or the one that migrates. */
type Ask = (text: string, values: unknown[]) => Promise<readonly Values[]>

/** Brings the schema up to date, in one transaction that one replica at a time gets to run. */
export async function migrate(database: Database, mode: 'plan' | 'apply'): Promise<Migration> {
  const { tables } = database
  const ask: Ask = (text, values) => database.query(statement('schema', text), values)
  const from = await versionOf(ask, tables)
  const to = Math.max(from, latest)
  if (mode === 'plan') {
    // the grants also where nothing is missing: another user may come later than the tables
    return { from, to, statements: [...(await missing(ask, tables, from)), ...grants(tables)] }
  }
  // nothing to do needs no right to do it
  return from === to ? { from, to, statements: [] } : apply(database)
}

async function apply(database: Database): Promise<Migration> {
  const client = await database.connect()
  let isDone = false
  try {
    const migration = await database.bounded(transaction(client, database.tables), migrationTimeoutMs)
    isDone = true
    return migration
  } catch (error) {
    throw explained(error, database.location)
  } finally {
    // where it failed, the connection still stands in the transaction
    database.giveBack(client, isDone)
  }
}

async function transaction(client: ClientLike, tables: Tables): Promise<Migration> {
  const ask: Ask = async (text, values) => (await client.query({ text, values, rowMode: 'array' })).rows as readonly Values[]
  await ask('begin isolation level read committed', [])
  await ask(`select set_config('statement_timeout', $1, true)`, [String(migrationTimeoutMs)])
  await ask('select pg_advisory_xact_lock(hashtextextended($1, 0))', [tables.meta])
  // looked at again under the lock: another replica may just have done it
  const from = await versionOf(ask, tables)
  const statements = await missing(ask, tables, from)
  for (const text of statements) await ask(text, [])
  await ask('commit', [])
  return { from, to: Math.max(from, latest), statements }
}

async function missing(ask: Ask, tables: Tables, from: number): Promise<readonly string[]> {
  const statements = versions.filter(({ version }) => version > from).flatMap(version => version.statements(tables))
  if (statements.length === 0) return []
  const [[hasSchema] = []] = await ask(schemaSql, [tables.schema])
  const [[isTaken] = []] = await ask(takenSql, [tables.schema, tables.leasesViewName])
  // whoever had leases by hand before may have a table of just this name
  const left = `-- ${tables.leasesView} is there already and is not a view: it is left as it is`
  const view = statements.findIndex(text => text.startsWith('create or replace view'))
  if (isTaken === true && view >= 0) statements[view] = left
  return [...(hasSchema === true ? [] : [`create schema if not exists "${tables.schema}"`]), ...statements, saveVersionSql(tables, latest)]
}

/** 0: nothing is there yet. */
export function schemaVersion(database: Database): Promise<number> {
  return versionOf((text, values) => database.query(statement('schema', text), values), database.tables)
}

async function versionOf(ask: Ask, tables: Tables): Promise<number> {
  const [[isThere] = []] = await ask(tableSql, [tables.schema, `${tables.prefix}meta`])
  if (isThere !== true) return 0
  const [[version] = []] = await ask(versionSql(tables), [])
  return Number(version ?? 0)
}

/** Throws where this release cannot work with the schema: it reaches one version back and one ahead. */
export async function checkVersion(database: Database): Promise<void> {
  const found = await schemaVersion(database)
  if (found === 0) throw new OnetickError('ONETICK_STORE_NOT_MIGRATED', `${database.location}: table ${database.tables.meta} is missing.`)
  if (Math.abs(found - latest) > 1) {
    throw new OnetickError(
      'ONETICK_STORE_SCHEMA',
      `${database.location} has schema version ${found}; this release of onetick is made for ${latest}.`,
    )
  }
}

const schemaSql = `
select exists (
  select
  from pg_catalog.pg_namespace
  where nspname = $1
)`

/** Looks into the catalogue itself: a name that was looked up before is remembered as missing until the transaction's end. */
const tableSql = `
select exists (
  select
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1
    and c.relname = $2
)`

const takenSql = `
select exists (
  select
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1
    and c.relname = $2
    and c.relkind <> 'v'
)`

function versionSql({ meta }: Tables): string {
  return `
select value
from ${meta}
where key = 'schema_version'`
}

function saveVersionSql({ meta }: Tables, version: number): string {
  return `insert into ${meta} (key, value)
values ('schema_version', '${version}')
on conflict (key) do update
set value = excluded.value`
}
