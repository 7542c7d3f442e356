import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OnetickError, quoted } from '../domain/errors.ts'
import { systemClock } from '../platform/system.ts'
import { Onetick } from '../scheduler/onetick.ts'
import { locatedConfigError, locatedSyntaxError } from './config-error.ts'
import { isOnetickError, LocatedError, usage } from './failure.ts'
import { startsItself, supervised } from './loading.ts'
import { readSettings, type Settings } from './settings.ts'

/** What a config file holds: the instance, or (JSON) only where the store is. */
export type Config =
  | { readonly kind: 'instance'; readonly path: string; readonly onetick: Onetick }
  | { readonly kind: 'settings'; readonly path: string; readonly settings: Settings }

const names = ['onetick.config.ts', 'onetick.config.js', 'onetick.config.mjs', 'onetick.config.json'] as const

/** Files that Node cannot load by itself on every release we support. */
const typescript = /\.[cm]?ts$/
const readable = /\.([cm]?[jt]s|json)$/

/** The file named, else the one that stands in the folder; null: there is none. Throws `ONETICK_CONFIG_MISSING` for a name that leads nowhere. */
export function findConfig(named: string | undefined, folder: string): string | null {
  if (named !== undefined) {
    if (named === '') throw usage('--config is empty.', 'Name a file after it.')
    const path = resolve(folder, named)
    if (!existsSync(path)) throw noFile(named)
    if (!statSync(path).isFile()) throw new OnetickError('ONETICK_CONFIG', `${quoted(named)} is not a file.`, { remedy: nameOne })
    if (!readable.test(path))
      throw new OnetickError('ONETICK_CONFIG', `${quoted(named)} is of a kind that cannot be loaded.`, { remedy: nameOne })
    return path
  }
  const found = names.map(name => resolve(folder, name)).filter(path => existsSync(path))
  if (found.length > 1) {
    const listed = found.map(shortPath).join(' and ')
    throw new OnetickError('ONETICK_CONFIG', `There are ${listed}.`, { remedy: 'Keep one of them, or name one with --config FILE.' })
  }
  return found[0] ?? null
}

const nameOne = 'Name a .ts, .js, .mjs, .cjs or .json file after --config.'

function noFile(named: string): OnetickError {
  return new OnetickError('ONETICK_CONFIG_MISSING', `There is no file ${quoted(named)}.`, { remedy: 'Correct the name after --config.' })
}

/** Every config that `init` could collide with. */
export function configsIn(folder: string): string[] {
  return names.map(name => resolve(folder, name)).filter(path => existsSync(path))
}

export function missingConfig(folder: string): OnetickError {
  return new OnetickError('ONETICK_CONFIG_MISSING', `There is no onetick.config.{ts,js,mjs,json} in ${quoted(folder)}.`)
}

/**
 * Throws an error that says in which line of the file it lies, where that can be known. `onExit` hears of one that ends the
 * process, for which there is no other way.
 */
export async function loadConfig(path: string, onExit: (error: Error) => void): Promise<Config> {
  if (path.endsWith('.json')) return { kind: 'settings', path, settings: readSettings(path) }
  const exported = await load(path, onExit)
  const onetick = [exported['default'], exported['onetick']].find(isOnetick)
  if (onetick === undefined) throw notExported(path, exported)
  if (isStarted(onetick)) throw new LocatedError(shortPath(path), startsItself())
  // commands work with copies; this one is not to start beside them later on
  onetick.start = () => Promise.reject(startsItself())
  return { kind: 'instance', path, onetick }
}

async function load(path: string, onExit: (error: Error) => void): Promise<Record<string, unknown>> {
  const frames = Error.stackTraceLimit
  // deep enough to reach the user's line below our own frames
  Error.stackTraceLimit = 100
  try {
    const classes = [...new Set([Onetick, ...(await classSeenBy(path))])]
    return await supervised(() => loadModule(path), { classes, onExit: error => onExit(locatedConfigError(path, error)) })
  } catch (error) {
    if (error instanceof SyntaxError) throw await locatedSyntaxError(path, error)
    throw locatedConfigError(path, error)
  } finally {
    Error.stackTraceLimit = frames
  }
}

async function loadModule(path: string): Promise<Record<string, unknown>> {
  const exported = typescript.test(path)
    ? await loadTypescript(path)
    : ((await import(pathToFileURL(path).href)) as Record<string, unknown>)
  // what it left to itself comes to light in the loop's next turn
  await new Promise<void>(resolve => systemClock.after(0, resolve))
  return exported
}

/** A command that is installed elsewhere is another copy of the package than the one that the config imports. */
async function classSeenBy(path: string): Promise<readonly (typeof Onetick)[]> {
  try {
    const seen = (await import(pathToFileURL(createRequire(path).resolve('onetick')).href)) as { readonly Onetick: typeof Onetick }
    return [seen.Onetick]
  } catch {
    return []
  }
}

async function loadTypescript(path: string): Promise<Record<string, unknown>> {
  const { createJiti } = await import('jiti')
  // without interop and caches: the same module instances as a native import, and nothing written to disk
  const jiti = createJiti(import.meta.url, { fsCache: false, moduleCache: false, interopDefault: false, nativeModules: ['onetick'] })
  return (await jiti.import(path)) as Record<string, unknown>
}

/** By its shape: the config may have loaded another copy of the package. */
function isOnetick(value: unknown): value is Onetick {
  if (value === null || typeof value !== 'object') return false
  const { configured, start, job, declared } = value as Record<string, unknown>
  return [configured, start, job].every(member => typeof member === 'function') && Array.isArray(declared)
}

function isStarted(onetick: Onetick): boolean {
  try {
    onetick.configured({})
    return false
  } catch (error) {
    if (/after start/.test(String(error))) return true
    throw error
  }
}

export function noJobs(what: string): OnetickError {
  const remedy = "Write: onetick.job('hello', { schedule: 'every 10s' }, () => console.log('hello'))"
  return new OnetickError('ONETICK_CONFIG', `${what} declares no jobs.`, { remedy })
}

function notExported(path: string, exported: Record<string, unknown>): OnetickError {
  const found = Object.keys(exported).map(quoted).join(', ') || 'nothing'
  return new OnetickError('ONETICK_CONFIG', `${shortPath(path)} exports ${found}, but no Onetick instance.`, {
    remedy: 'Write: export default onetick, or: export const onetick = new Onetick({ … }).',
  })
}

/** From the working directory, where that is shorter. */
export function shortPath(path: string): string {
  const near = relative(process.cwd(), path)
  return near === '' || near.startsWith(`..${sep}..`) || isAbsolute(near) ? path : near
}

/** For what shows only when it is used: `place` says where it was written down; null: everybody knows. */
export function blaming<T>(place: string | null, use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw place !== null && isOnetickError(error) ? new LocatedError(place, error) : error
  }
}
