import { OnetickError } from '../../domain/errors.ts'
import type { Database } from './database.ts'
import { checkVersion } from './schema.ts'
import { statement } from './tables.ts'

/** `for update skip locked`, materialized and not: all that the statements use is there from this version on. */
const oldestServer = 120_000

/** Looks once, before the first use, whether promises can be kept here. Throws `ONETICK_STORE_UNFIT`. */
export async function checkFitness(database: Database): Promise<void> {
  const [[version, isStandby, isReadOnly, commit, dateStyle, encoding] = []] = await database.query(statement('fitness', fitnessSql), [])
  const unfit = (detail: string, remedy: string): never => {
    throw new OnetickError('ONETICK_STORE_UNFIT', `${database.location} ${detail}`, { remedy })
  }
  if (Number(version) < oldestServer) unfit('is a PostgreSQL older than 12.', 'Use PostgreSQL 12 or newer.')
  if (isStandby === true) unfit('is a standby.', 'Connect to the primary server.')
  if (isReadOnly === true) unfit('gives this user read-only transactions.', 'Connect as a user that may write, to the primary server.')
  // S1: a lease that the server forgets in a crash is given out twice
  if (commit === 'off') unfit('has synchronous_commit off for this user.', 'Run: alter role … set synchronous_commit = on')
  if (dateStyle !== 'ISO') unfit('writes dates in a style of its own.', "Run: alter role … set datestyle = 'ISO'")
  if (encoding !== 'UTF8') unfit('does not hold all characters.', 'Use a database with the encoding UTF8.')
  await checkVersion(database)
}

const fitnessSql = `
select current_setting('server_version_num')::integer,
       pg_is_in_recovery(),
       current_setting('transaction_read_only')::boolean,
       current_setting('synchronous_commit'),
       split_part(current_setting('DateStyle'), ',', 1),
       current_setting('server_encoding')`
