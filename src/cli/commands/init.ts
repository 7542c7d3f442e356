import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Command } from 'commander'
import { OnetickError, quoted } from '../../domain/errors.ts'
import { openStore } from '../../store/open.ts'
import { configsIn, shortPath } from '../config.ts'
import { acting, type Session } from '../session.ts'
import { withoutPasswords } from '../text.ts'

export function init(program: Command): void {
  program
    .command('init')
    .description('Write a config with a first job into this folder; --store says which store it names.')
    .addHelpText('after', help)
    .action(acting(run))
}

const help = `
Writes onetick.config.ts where there is a tsconfig.json, else onetick.config.mjs, and nothing else. Never overwrites.

Examples:
  onetick init
  onetick init --store postgres://app@db/app

JSON: { written, store }`

async function run(session: Session): Promise<number> {
  const { out, options } = session
  const folder = process.cwd()
  const [there] = configsIn(folder)
  if (there !== undefined) throw new OnetickError('ONETICK_FILE_EXISTS', `${quoted(shortPath(there))} is there already.`)
  const url = options.store ?? 'sqlite:./onetick.db'
  // refuses a URL that is none before anything is written; connects to nothing
  const store = openStore(url, {})
  await store.close().catch(() => undefined)
  const path = join(folder, existsSync(join(folder, 'tsconfig.json')) ? 'onetick.config.ts' : 'onetick.config.mjs')
  write(path, configText(url))
  if (out.isJson) {
    out.json({ written: path, store: withoutPasswords(url) })
    return 0
  }
  out.line(`Wrote ${shortPath(path)}.`)
  out.hint(`\nNext:\n${stepsFor(url, store.kind, folder).join('\n')}`)
  return 0
}

/** Never over another file, also one that was just made. */
function write(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' })
  } catch (error) {
    throw unwritable(path, error as NodeJS.ErrnoException)
  }
}

function unwritable(path: string, cause: NodeJS.ErrnoException): OnetickError {
  const name = quoted(shortPath(path))
  if (cause.code === 'EEXIST') return new OnetickError('ONETICK_FILE_EXISTS', `${name} is there already.`, { cause })
  const remedy = 'Choose a folder that may be written to.'
  return new OnetickError('ONETICK_CONFIG', `${name} cannot be written (${cause.code}).`, { cause, remedy })
}

/** Files get committed, so a password does not go into one. */
function hasPassword(url: string): boolean {
  return withoutPasswords(url) !== url
}

function configText(url: string): string {
  const store = hasPassword(url) ? 'process.env.DATABASE_URL' : literal(url)
  return `import { Onetick } from 'onetick'

const onetick = new Onetick({ store: ${store} })

// every replica declares it, one of them runs it
onetick.job('hello', { schedule: 'every 5s' }, async ({ scheduledAt, attempt }) => {
  console.log(\`hello, this is the run of \${scheduledAt.toISOString()}, attempt \${attempt}\`)
})

export default onetick
`
}

function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
}

function stepsFor(url: string, kind: string, folder: string): string[] {
  const missing = ['onetick', ...driverFor(kind)].filter(name => !isInstalled(name, folder))
  return [
    ...(missing.length === 0 ? [] : [`  npm install ${missing.join(' ').padEnd(16)} what the config needs`]),
    ...(hasPassword(url) ? ['  export DATABASE_URL=…        the store, with its password; it was not written down'] : []),
    '  npx onetick check            what it declares',
    '  npx onetick dev              three replicas on this machine, one of them killed now and then',
    '  npx onetick start            one replica; start as many as you like',
  ]
}

function driverFor(kind: string): string[] {
  if (kind === 'postgres') return ['pg']
  if (kind !== 'sqlite' || process.getBuiltinModule('node:sqlite') !== undefined) return []
  return isInstalled('better-sqlite3', process.cwd()) ? [] : ['libsql']
}

function isInstalled(name: string, folder: string): boolean {
  try {
    createRequire(join(folder, 'package.json')).resolve(name)
    return true
  } catch {
    return false
  }
}
