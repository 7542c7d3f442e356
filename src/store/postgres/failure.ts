import { type ErrorCode, OnetickError } from '../../domain/errors.ts'

/** What a failed call was, and what is to be done about it before anybody is told. */
export type Failure =
  /** The server undid it all because of others: the same again, soon. */
  | 'contended'
  /** The connection does not know the prepared statement, or has another under its name: a pooler stands between. */
  | 'unprepared'
  /** A migration changed what a prepared statement returns: prepare it again on another connection. */
  | 'outdated'
  | 'other'

export function failureOf(error: unknown): Failure {
  switch (stateOf(error)) {
    case '40001':
    case '40P01':
      return 'contended'
    case '26000':
    case '42P05':
      return 'unprepared'
    case '0A000':
      return /cached plan/.test(messageOf(error)) ? 'outdated' : 'other'
    default:
      return 'other'
  }
}

/** Whether the connection can be used again: the server answered, and is not about to go. */
export function isAnswered(error: unknown): boolean {
  const state = stateOf(error)
  return state !== null && !/^(08|57P|XX)/.test(state)
}

/** The pooler knows only some settings at the start of a connection. */
export function isStartupRefused(error: unknown): boolean {
  return /unsupported startup parameter/.test(messageOf(error))
}

/** As a code with a remedy, where it is one that people can do something about. */
export function explained(error: unknown, location: string): unknown {
  if (error instanceof OnetickError) return error
  const code = codeOf(error)
  if (code === null) return error
  const remedy = remedyOf(stateOf(error)) ?? (/password must be a/.test(messageOf(error)) ? noPassword : null)
  return new OnetickError(code, `${location}: ${sentence(messageOf(error))}`, { cause: error, ...(remedy === null ? {} : { remedy }) })
}

function codeOf(error: unknown): ErrorCode | null {
  const state = stateOf(error)
  if (state === null) return isLost(error) ? 'ONETICK_STORE_UNREACHABLE' : null
  switch (state) {
    case '57014':
    case '55P03':
    case '25P03':
      return 'ONETICK_STORE_TIMEOUT'
    case '42P01':
    case '3F000':
      return 'ONETICK_STORE_NOT_MIGRATED'
    case '42703':
      return 'ONETICK_STORE_SCHEMA'
    case '25006':
    case '42501':
      return 'ONETICK_STORE_UNFIT'
    case '40001':
    case '40P01':
      return 'ONETICK_STORE_BUSY'
    default:
      // no connection, no resources, an operator's hand, no such user or database, the disk
      return /^(08|53|57P|28|3D|58)/.test(state) ? 'ONETICK_STORE_UNREACHABLE' : null
  }
}

function remedyOf(state: string | null): string | null {
  switch (state) {
    case '42501':
      return 'Let somebody with the rights run what `npx onetick migrate --sql` prints, with the grants to the user that Onetick connects as.'
    case '25006':
      return 'Connect to the primary server, as a user that may write.'
    case '55P03':
      return 'Look for the session that locks the row for long.'
    case '28P01':
      return 'Correct the user or the password in the URL, or the secret that it comes from.'
    case '28000':
      return 'Name a user that exists and may log in, and let it in from this host in pg_hba.conf.'
    case '3D000':
      return 'Create the database, or correct its name in the URL.'
    default:
      return null
  }
}

/** The server asks for one, and the driver has none to give. */
const noPassword = 'Put the password into the URL, percent-encoded, or into PGPASSWORD.'

const networkCodes = /^(ECONN|EPIPE|ENOTFOUND|EAI_|EHOST|ENET|ETIMEDOUT|ENOENT|EACCES|ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/
const lostMessages =
  /connection (terminated|error)|not queryable|client was closed|does not support ssl|timeout exceeded when trying to connect|sasl/i

function isLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isLost)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return networkCodes.test(code) || lostMessages.test(messageOf(error))
}

/** SQLSTATE; null where the server did not answer. */
function stateOf(error: unknown): string | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !networkCodes.test(code) ? code : null
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`
}
