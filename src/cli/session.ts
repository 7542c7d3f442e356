import type { Command } from 'commander'
import { OnetickError, quoted } from '../domain/errors.ts'
import { checkName } from '../domain/name.ts'
import { bounded } from '../execution/bounded.ts'
import { systemClock } from '../platform/system.ts'
import type { Onetick, OnetickOptions } from '../scheduler/onetick.ts'
import { openStore } from '../store/open.ts'
import type { Readings, Store } from '../store/store.ts'
import { blaming, type Config, findConfig, loadConfig, missingConfig, shortPath } from './config.ts'
import { failureOf } from './failure.ts'
import { appStore, isStoreNamed, type NamedStore, namedStore } from './named-store.ts'
import { Output } from './output.ts'
import { settingsOnly } from './settings.ts'
import { printable } from './text.ts'
import { hostTimeZone, Times } from './times.ts'

export interface GlobalOptions {
  readonly config?: string
  readonly store?: string
  readonly namespace?: string
  readonly json?: boolean
  readonly tz?: string
  readonly quiet?: boolean
  readonly color: boolean
}

/** Longest a question to the store is waited for. */
const answerLimitMs = 10_000

/** One call of the command: its options, where its output goes, and its config and store once somebody asks for them. */
export class Session {
  readonly options: GlobalOptions
  readonly out: Output
  readonly times: Times
  #config: Promise<Config | null> | null = null
  #store: Promise<Store> | null = null

  /** Throws `ONETICK_NAME` and `ONETICK_TIME_ZONE`. */
  constructor(options: GlobalOptions) {
    if (options.namespace !== undefined) checkName('The namespace', options.namespace)
    this.options = options
    this.out = new Output({ json: options.json === true, quiet: options.quiet === true, color: options.color })
    this.times = new Times(options.tz ?? hostTimeZone())
  }

  /** Null: there is none. Loaded once, however many ask. */
  config(): Promise<Config | null> {
    this.#config ??= this.#load()
    return this.#config
  }

  /** The config's instance as it was exported. Throws `ONETICK_CONFIG_MISSING`. */
  async exported(): Promise<{ readonly path: string; readonly onetick: Onetick }> {
    const config = await this.config()
    if (config === null) throw missingConfig(process.cwd())
    if (config.kind === 'settings') throw settingsOnly(config.path)
    return config
  }

  /** The same under what the command line says. */
  async onetick(overrides: OnetickOptions = {}): Promise<Onetick> {
    const { path, onetick } = await this.exported()
    const isOwn = isStoreNamed(onetick)
    const named = this.#storeBeside(isOwn)
    const { namespace } = this.options
    const configured = onetick.configured({
      ...(named === null ? {} : { store: named.url }),
      ...(namespace === undefined ? {} : { namespace }),
      ...overrides,
    })
    if (named !== null || isOwn) blaming(named === null ? shortPath(path) : named.by, () => configured.store)
    return configured
  }

  /** For commands that only look into the store; a config is not needed where the store is named. */
  store(): Promise<Store> {
    this.#store ??= this.#open()
    return this.#store
  }

  async read<K extends keyof Readings>(kind: K, filter: Readings[K]['filter']): Promise<Readings[K]['answer']> {
    const store = await this.store()
    return this.bounded(kind, () => store.read(kind, filter))
  }

  bounded<T>(what: string, call: () => Promise<T>, limitMs: number = answerLimitMs): Promise<T> {
    return bounded(systemClock, limitMs, what, call)
  }

  /** For people: which jobs are looked at. */
  async whereabouts(): Promise<string> {
    const [config, { location }] = [await this.config(), await this.store()]
    const own = config?.kind === 'instance' ? config.onetick.namespace : config?.settings.namespace
    return `namespace ${quoted(this.options.namespace ?? own ?? 'default')} of ${printable(location)}`
  }

  async close(): Promise<void> {
    await this.#store?.then(store => store.close()).catch(() => undefined)
  }

  async #load(): Promise<Config | null> {
    const path = findConfig(this.options.config, process.cwd())
    return path === null ? null : loadConfig(path, error => this.#endsWith(error))
  }

  async #open(): Promise<Store> {
    const config = await this.config()
    if (config?.kind === 'instance') return (await this.onetick()).store
    const named = this.#storeBeside(config?.settings.store !== undefined)
    if (named === null && config === null) {
      throw new OnetickError('ONETICK_CONFIG_MISSING', 'No store was named, and there is no onetick.config.{ts,js,mjs,json} here.', {
        remedy: 'Give --store URL, or set ONETICK_STORE, or run: npx onetick init',
      })
    }
    const namespace = this.options.namespace ?? config?.settings.namespace
    const place = named === null && config !== null ? shortPath(config.path) : (named?.by ?? null)
    return blaming(place, () => openStore(named?.url ?? config?.settings.store, namespace === undefined ? {} : { namespace }))
  }

  /** The process is about to end, and not by us. */
  #endsWith(error: Error): void {
    const failure = failureOf(error)
    this.out.fail(failure)
    process.exitCode = failure.exit
  }

  /** Null: the config's own. */
  #storeBeside(isStoreNamed: boolean): NamedStore | null {
    return namedStore(this.options) ?? (isStoreNamed ? null : appStore())
  }
}

/** What a command does; the answer is the exit code. */
export type Body<Options> = (session: Session, options: Options, args: readonly string[]) => Promise<number>

/** A body as commander calls it. */
export function acting<Options>(body: Body<Options>): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command
    const session = new Session(command.optsWithGlobals<GlobalOptions>())
    try {
      process.exitCode = await body(session, command.opts<Options & object>(), command.args)
    } finally {
      await session.close()
    }
  }
}
