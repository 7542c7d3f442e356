import type { Instant } from '../../domain/timetable.ts'
import { type PostgresFitness, timed } from '../fitness.ts'
import type { Database } from './database.ts'
import { refusals } from './fitness.ts'
import { texts } from './parameter.ts'
import { poolerOf } from './pooler.ts'
import { latest, schemaVersion } from './schema.ts'
import { statement } from './tables.ts'

/** For `onetick doctor`: nothing here needs a table, or a right that each user has not. */
export async function traits(database: Database): Promise<PostgresFitness> {
  const { schema, prefix } = database.tables
  const now = statement('now', nowSql)
  const times = await timed(database.clock, async () => (await database.query(now, []))[0]?.[0] as Instant)
  const [traits = []] = await database.query(statement('traits', traitsSql), [schema])
  const [user, settings, isEncrypted, isLocal, standbys, connections, hasSchema, maySee] = traits
  const tables = ['meta', 'jobs', 'asked', 'definitions', 'runs', 'replicas'].map(name => `${prefix}${name}`)
  const missing = await database.query(statement('rights', rightsSql), [schema, texts(tables, name => name)])
  const rights = missing.map(([right, table]) => `${right as string} on ${table as string}`)
  const mayLook = maySee === true && !rights.includes(`select on ${prefix}meta`)
  return {
    ...{ kind: 'postgres', ...times, refusals: await refusals(database), user: user as string },
    settings: JSON.parse(settings as string) as Record<string, string>,
    callTimeoutMs: database.callTimeoutMs,
    missingRights: hasSchema === true && maySee !== true ? [`usage on schema ${schema}`, ...rights] : rights,
    schema: { found: hasSchema !== true ? 0 : mayLook ? await schemaVersion(database) : null, wanted: latest },
    ...{ isEncrypted: isEncrypted === true, isLocal: isLocal === true },
    ...{ standbys: Number(standbys), connections: Number(connections), pooler: await poolerOf(database) },
  }
}

const nowSql = `select date_trunc('milliseconds', clock_timestamp())`

const traitsSql = `
select current_user::text,
       (
         select json_object_agg(s.name, s.setting)::text
         from pg_catalog.pg_settings s
         where s.name in ('server_version', 'fsync', 'full_page_writes', 'synchronous_standby_names', 'default_transaction_isolation',
           'statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout', 'idle_session_timeout',
           'max_connections')
       ),
       coalesce((
         select t.ssl
         from pg_catalog.pg_stat_ssl t
         where t.pid = pg_backend_pid()
       ), false),
       coalesce(inet_client_addr() <<= '127.0.0.0/8'::inet or inet_client_addr() = '::1'::inet or inet_client_addr() = inet_server_addr(), true),
       (
         select count(*)::integer
         from pg_catalog.pg_stat_replication
       ),
       (
         select sum(d.numbackends)::integer
         from pg_catalog.pg_stat_database d
       ),
       (
         select true
         from pg_catalog.pg_namespace n
         where n.nspname = $1
       ),
       (
         select has_schema_privilege(n.oid, 'usage')
         from pg_catalog.pg_namespace n
         where n.nspname = $1
       )`

/** Of tables that are there. $2 tables; the view is for people, and no replica needs it. */
const rightsSql = `
select p.privilege, c.relname::text
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
cross join unnest(array['select', 'insert', 'update', 'delete']) with ordinality p (privilege, place)
where n.nspname = $1
  and c.relname = any ($2::text[])
  and not has_table_privilege(c.oid, p.privilege)
order by p.place, c.relname`
