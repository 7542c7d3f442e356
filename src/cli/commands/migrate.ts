import { type Command, Option } from 'commander'
import type { Migration } from '../../store/store.ts'
import { acting, type Session } from '../session.ts'
import { oneLine, printable } from '../text.ts'

export function migrate(program: Command): void {
  program
    .command('migrate')
    .description('Bring the schema of the store up to date. Safe to run at any time and from many hosts at once.')
    .addOption(new Option('--plan', 'tell what would be done, do nothing').conflicts('sql'))
    .addOption(new Option('--sql', 'print the statements that are missing, with the grants, and do nothing').conflicts('plan'))
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

function script({ from, to, statements }: Migration): string {
  if (statements.length === 0) return `-- Up to date: schema version ${to}.`
  const body = statements.map(statement => (statement.trimStart().startsWith('--') ? statement.trim() : `${statement.trim()};`))
  return [`-- Onetick: schema version ${from} to ${to}.`, ...body].join('\n\n')
}

const longestShown = 110

function firstLine(statement: string): string {
  const text = oneLine(statement)
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text
}

function count(statements: readonly string[]): string {
  return statements.length === 1 ? 'one statement' : `${statements.length} statements`
}
