import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { OnetickError, quoted } from '../../domain/errors.ts'
import { openStore } from '../../store/open.ts'
import { configsIn, shortPath } from '../config.ts'
import { usage } from '../failure.ts'
import { acting, type Session } from '../session.ts'
import { withoutPasswords } from '../text.ts'

export function init(program: Command): void {
  program
    .command('init')
    .description('Write a config with a first job; --store and --namespace say what it names.')
    .addHelpText('after', help)
    .action(acting(run))
}

const help = `
Writes onetick.config.ts where there is a tsconfig.json, else onetick.config.mjs, or the file that --config names, and
nothing else. Never overwrites.

Examples:
  onetick init
  onetick init --config jobs/onetick.config.ts
  onetick init --store postgres://app@db/app

JSON: { written, store }`

async function run(session: Session): Promise<number> {
  const { out, options } = session
  const path = options.config === undefined ? defaultPath(process.cwd()) : namedPath(options.config)
  const url = options.store ?? 'sqlite:./onetick.db'
  // refuses a URL that is none before anything is written; connects to nothing
  const store = openStore(url, {})
  await store.close().catch(() => undefined)
  write(path, configText(url, options.namespace))
  if (out.isJson) {
    out.json({ written: path, store: withoutPasswords(url) })
    return 0
  }
  out.line(`Wrote ${shortPath(path)}.`)
  out.hint(`\nNext:\n${stepsFor(url, store.kind, options.config).join('\n')}`)
  return 0
}

function defaultPath(folder: string): string {
  const [there] = configsIn(folder)
  if (there !== undefined) throw isThere(there)
  return join(folder, existsSync(join(folder, 'tsconfig.json')) ? 'onetick.config.ts' : 'onetick.config.mjs')
}

/** What is written is a module, in JavaScript that is TypeScript too. */
function namedPath(named: string): string {
  if (!/\.m?[jt]s$/.test(named)) throw usage(`--config is ${quoted(named)}.`, 'Name a .ts, .mts, .js or .mjs file to write.')
  return resolve(named)
}

function isThere(path: string, cause?: unknown): OnetickError {
  return new OnetickError('ONETICK_FILE_EXISTS', `${quoted(shortPath(path))} is there already.`, { cause })
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
  if (cause.code === 'EEXIST') return isThere(path, cause)
  const isFolderMissing = cause.code === 'ENOENT'
  const why = isFolderMissing ? `there is no folder ${quoted(shortPath(dirname(path)))}` : (cause.code ?? cause.message)
  const remedy = isFolderMissing ? 'Make the folder, or name another one.' : 'Choose a folder that may be written to.'
  return new OnetickError('ONETICK_CONFIG', `${quoted(shortPath(path))} cannot be written: ${why}.`, { cause, remedy })
}

/** Files get committed, so a password does not go into one. */
function hasPassword(url: string): boolean {
  return withoutPasswords(url) !== url
}

function configText(url: string, namespace: string | undefined): string {
  const store = hasPassword(url) ? 'process.env.DATABASE_URL' : literal(url)
  const own = namespace === undefined ? '' : `, namespace: ${literal(namespace)}`
  return `import { Onetick } from 'onetick'

const onetick = new Onetick({ store: ${store}${own} })

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

function stepsFor(url: string, kind: string, named: string | undefined): string[] {
  const folder = process.cwd()
  const config = named === undefined ? '' : ` --config ${/[^\w./-]/.test(named) ? literal(named) : named}`
  const width = 27 + config.length
  const step = (command: string, what: string): string => `  ${`npx onetick ${command}${config}`.padEnd(width)}  ${what}`
  const missing = ['onetick', ...driverFor(kind)].filter(name => !isInstalled(name, folder))
  return [
    ...(missing.length === 0 ? [] : [`  npm install ${missing.join(' ').padEnd(16)} what the config needs`]),
    ...(hasPassword(url) ? ['  export DATABASE_URL=…        the store, with its password; it was not written down'] : []),
    step('check', 'what it declares'),
    step('dev', 'three replicas on this machine, one of them killed now and then'),
    step('start', 'one replica; start as many as you like'),
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
