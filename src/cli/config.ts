import { existsSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OnetickError, quoted } from '../domain/errors.ts'
import type { Onetick } from '../scheduler/onetick.ts'
import { locatedConfigError, locatedSyntaxError } from './config-error.ts'
import { readSettings, type Settings } from './settings.ts'

/** What a config file holds: the instance, or (JSON) only where the store is. */
export type Config =
  | { readonly kind: 'instance'; readonly path: string; readonly onetick: Onetick }
  | { readonly kind: 'settings'; readonly path: string; readonly settings: Settings }

const names = ['onetick.config.ts', 'onetick.config.js', 'onetick.config.mjs', 'onetick.config.json'] as const

/** Files that Node cannot load by itself on every release we support. */
const typescript = /\.[cm]?ts$/

/** The file named, else the one that stands in the folder; null: there is none. Throws `ONETICK_CONFIG_MISSING` for a name that leads nowhere. */
export function findConfig(named: string | undefined, folder: string): string | null {
  if (named !== undefined) {
    const path = resolve(folder, named)
    if (!existsSync(path)) throw noFile(named)
    return path
  }
  const found = names.map(name => resolve(folder, name)).filter(path => existsSync(path))
  if (found.length > 1) {
    const listed = found.map(shortPath).join(' and ')
    throw new OnetickError('ONETICK_CONFIG', `There are ${listed}.`, { remedy: 'Keep one of them, or name one with --config FILE.' })
  }
  return found[0] ?? null
}

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

/** Throws an error that says in which line of the file it lies, where that can be known. */
export async function loadConfig(path: string): Promise<Config> {
  if (path.endsWith('.json')) return { kind: 'settings', path, settings: readSettings(path) }
  const exported = await load(path)
  const onetick = [exported['default'], exported['onetick']].find(isOnetick)
  if (onetick === undefined) throw notExported(path, exported)
  if (isStarted(onetick)) {
    throw new OnetickError('ONETICK_CONFIG', `${shortPath(path)} starts its instance.`, {
      remedy: 'Export it unstarted; the command starts it.',
    })
  }
  return { kind: 'instance', path, onetick }
}

async function load(path: string): Promise<Record<string, unknown>> {
  const frames = Error.stackTraceLimit
  // deep enough to reach the user's line below our own frames
  Error.stackTraceLimit = 100
  try {
    return typescript.test(path) ? await loadTypescript(path) : ((await import(pathToFileURL(path).href)) as Record<string, unknown>)
  } catch (error) {
    if (error instanceof SyntaxError) throw await locatedSyntaxError(path, error)
    throw locatedConfigError(path, error)
  } finally {
    Error.stackTraceLimit = frames
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
