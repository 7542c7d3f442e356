import { createHash } from 'node:crypto'
import { OnetickError, quoted } from '../../domain/errors.ts'

/** Where Onetick's tables stand, each table's name quoted and whole. Nothing else is ever put into a statement's text. */
export interface Tables {
  /** These two as they are, not quoted. */
  readonly schema: string
  readonly prefix: string
  readonly meta: string
  readonly jobs: string
  readonly asked: string
  readonly definitions: string
  readonly runs: string
  readonly replicas: string
  /** The lease state under the names people know from hand-made lease tables; whole, and as it is. */
  readonly leasesView: string
  readonly leasesViewName: string
  /** An index takes the schema of its table, so its name stands alone. */
  index(name: string): string
}

const defaultSchema = 'public'
const defaultPrefix = 'onetick_'

/** Throws `ONETICK_IDENTIFIER`. The view is called `cron_with_leases`; with a prefix of your own, that stands before it. */
export function tablesOf({ schema = defaultSchema, prefix = defaultPrefix }: { schema?: string; prefix?: string }): Tables {
  const inSchema = `"${checked('schema', schema)}"`
  const table = (name: string): string => `${inSchema}."${prefix}${name}"`
  checked('prefix', prefix)
  const leasesViewName = prefix === defaultPrefix ? 'cron_with_leases' : `${prefix}cron_with_leases`
  return {
    schema,
    prefix,
    meta: table('meta'),
    jobs: table('jobs'),
    asked: table('asked'),
    definitions: table('definitions'),
    runs: table('runs'),
    replicas: table('replicas'),
    leasesView: `${inSchema}."${leasesViewName}"`,
    leasesViewName,
    index: name => `"${prefix}${name}"`,
  }
}

function checked(what: string, name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(name) && !(what === 'schema' && name.startsWith('pg_'))) return name
  throw new OnetickError('ONETICK_IDENTIFIER', `${what} ${quoted(name)} cannot name a ${what} in PostgreSQL.`)
}

/** A statement and the name under which connections keep it prepared. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** The text holds schema and prefix, and so does the name: two stores on one pool do not mix. */
export function statement(verb: string, text: string): Statement {
  return { name: `onetick_${verb}_${fingerprint(text)}`, text }
}

/** The channel of a store's wake-ups. A digest, as names may be longer than an identifier. */
export function channelOf({ schema, prefix }: Tables, namespace: string): string {
  return `onetick_${fingerprint(JSON.stringify([schema, prefix, namespace]))}`
}

function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
