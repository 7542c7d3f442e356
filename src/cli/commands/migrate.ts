import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { unfitPlace } from '../../store/sqlite/place.ts'
import type { Migration, Store } from '../../store/store.ts'
import { acting, type Session } from '../session.ts'
import { oneLine, printable } from '../text.ts'

export function migrate(program: Command): void {
  program
    .command('migrate')
    .description('Bring the schema of the store up to date. Safe to run at any time and from many hosts at once.')
    .addOption(new Option('--plan', 'tell what would be done, do nothing').conflicts('sql'))
    .addOption(new Option('--sql', 'print the statements that are missing, and the grants, and do nothing').conflicts('plan'))
    .addHelpText('after', help)
    .action(acting(run))
}

const help = `
Replicas do this by themselves when they start, unless the config says migrate: false.

Examples:
  onetick migrate
  onetick migrate --sql > onetick.sql       for somebody with the rights

JSON: { store, location, from, to, applied, statements }`

/** A migration may build an index on a large table. */
const limitMs = 600_000

async function run(session: Session, { plan = false, sql = false }: { readonly plan?: boolean; readonly sql?: boolean }): Promise<number> {
  const { out } = session
  const store = await session.store()
  const isDry = plan || sql
  if (isDry) refuseUnfitPlace(store)
  const migration = await session.bounded('migrate', () => store.migrate(isDry ? 'plan' : 'apply'), limitMs)
  const { from, to, statements } = migration
  const location = printable(store.location)
  if (out.isJson) out.json({ store: store.kind, location, from, to, applied: !isDry && from !== to, statements })
  else if (sql) out.line(script(migration))
  else if (from === to) out.line(`${location} is up to date (schema version ${to}).`)
  else if (plan) {
    out.line(`${location} would go from schema version ${from} to ${to}, by ${count(statements)}:\n`)
    for (const statement of statements) out.line(`  ${firstLine(statement)}`)
    out.hint('\nWhole: npx onetick migrate --sql. To do it: npx onetick migrate')
  } else out.line(`${location} went from schema version ${from} to ${to}, by ${count(statements)}.`)
  return 0
}

/** What would fail when it is done is not told as if it could be. */
function refuseUnfitPlace({ kind, location }: Store): void {
  const path = location.replace(/^sqlite:/, '')
  const unfit = kind === 'sqlite' && !existsSync(path) ? unfitPlace(path) : null
  if (unfit !== null) throw unfit
}

/** Grants come as comments: only who runs it knows the role. */
function script({ from, to, statements }: Migration): string {
  const body = statements.map(statement => (statement.trimStart().startsWith('--') ? statement.trim() : `${statement.trim()};`))
  const head = from === to ? `-- Onetick: up to date, schema version ${to}.` : `-- Onetick: schema version ${from} to ${to}.`
  return [head, ...body].join('\n\n')
}

const longestShown = 110

function firstLine(statement: string): string {
  const text = oneLine(statement)
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text
}

function count(statements: readonly string[]): string {
  return statements.length === 1 ? 'one statement' : `${statements.length} statements`
}
