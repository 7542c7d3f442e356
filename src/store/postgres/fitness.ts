import { OnetickError } from '../../domain/errors.ts'
import type { Refusal } from '../fitness.ts'
import type { Database } from './database.ts'
import { checkVersion } from './schema.ts'
import { statement } from './tables.ts'

/** `for update skip locked`, materialized and not: all that the statements use is there from this version on. */
const oldestServer = 120_000

/** Looks once, before the first use, whether promises can be kept here. Throws `ONETICK_STORE_UNFIT`. */
export async function checkFitness(database: Database): Promise<void> {
  const [refusal] = await refusals(database)
  if (refusal !== undefined) {
    throw new OnetickError('ONETICK_STORE_UNFIT', `${database.location} ${refusal.what}`, { remedy: refusal.remedy })
  }
  await checkVersion(database)
}

/** All that a replica refuses to start for, the gravest first; the text goes on behind the name of the server. */
export async function refusals(database: Database): Promise<readonly Refusal[]> {
  const [[version, isStandby, isReadOnly, commit, dateStyle, encoding] = []] = await database.query(statement('fitness', fitnessSql), [])
  const found: Refusal[] = []
  const unfit = (what: string, remedy: string): number => found.push({ what, remedy })
  if (Number(version) < oldestServer) unfit('is a PostgreSQL older than 12.', 'Use PostgreSQL 12 or newer.')
  if (isStandby === true) unfit('is a standby.', 'Connect to the primary server.')
  else if (isReadOnly === true) unfit('gives this user read-only transactions.', 'Connect as a user that may write, to the primary server.')
  // S1: a lease that the server forgets in a crash is given out twice
  if (commit === 'off') unfit('has synchronous_commit off for this user.', 'Run: alter role … set synchronous_commit = on')
  if (dateStyle !== 'ISO') unfit('writes dates in a style of its own.', "Run: alter role … set datestyle = 'ISO'")
  if (encoding !== 'UTF8') unfit('does not hold all characters.', 'Use a database with the encoding UTF8.')
  return found
}

const fitnessSql = `
select current_setting('server_version_num')::integer,
       pg_is_in_recovery(),
       current_setting('transaction_read_only')::boolean,
       current_setting('synchronous_commit'),
       split_part(current_setting('DateStyle'), ',', 1),
       current_setting('server_encoding')`
