import type { Clock, Random } from '../../domain/clock.ts'
import { OnetickError, quoted } from '../../domain/errors.ts'
import { systemClock, systemRandom } from '../../platform/system.ts'
import type { Readings, Store, StoreOptions } from '../store.ts'
import { acquiring } from './acquire.ts'
import { claiming } from './claim.ts'
import { controlling } from './control.ts'
import { Database } from './database.ts'
import { declaring } from './declare.ts'
import { type Address, addressOf, type PoolLike } from './driver.ts'
import { checkFitness } from './fitness.ts'
import { reading } from './read.ts'
import { checkpointing, renewing } from './renew.ts'
import { checkVersion, migrate } from './schema.ts'
import { settling } from './settle.ts'
import { tablesOf } from './tables.ts'
import { fencing } from './transaction.ts'
import { Listening } from './wake.ts'

export type { ClientLike, PoolLike, QueryLike } from './driver.ts'

interface Common extends StoreOptions {
  /** Where Onetick's tables stand; `migrate` makes it. Default `public`. */
  readonly schema?: string
  /** How the names of Onetick's tables begin. Default `onetick_`. */
  readonly prefix?: string
  /** For timers only: what is due is decided by the server's clock. Default: this machine's. */
  readonly clock?: Clock
  readonly random?: Random
}

export interface PostgresByUrl extends Common {
  /** `postgres://user:password@host:5432/database`, as `pg` reads it. */
  readonly url: string
  /** Connections kept for calls, at most; one more listens for wake-ups. Default 4. */
  readonly poolSize?: number
}

export interface PostgresByPool extends Common {
  /** A `Pool` of `pg` of your own. It stays yours: closing the store does not end it. */
  readonly pool: PoolLike
  /** Where to listen for wake-ups: a connection of its own, which a pool cannot give. Without it, replicas poll. */
  readonly listen?: { readonly url: string }
}

export type PostgresOptions = PostgresByUrl | PostgresByPool

/**
 * A store in PostgreSQL, version 12 or newer. Connects to nothing yet.
 * Throws `ONETICK_STORE_URL`, `ONETICK_IDENTIFIER` and `ONETICK_OPTION` for bad options.
 */
export function postgres(options: PostgresOptions): Store {
  const { namespace = 'default', callTimeoutMs = 5000, clock = systemClock, random = systemRandom } = options
  const tables = tablesOf(options)
  const poolSize = counted('poolSize', 'poolSize' in options ? options.poolSize : undefined, 4)
  const at = 'pool' in options ? { pool: options.pool, location: 'postgres: the pool given' } : addressOf(options.url)
  const listenAt: Address | null =
    'url' in at ? at : 'listen' in options && options.listen !== undefined ? addressOf(options.listen.url) : null
  const limitMs = counted('callTimeoutMs', callTimeoutMs, 5000)
  const database = new Database({ at, tables, namespace, callTimeoutMs: limitMs, poolSize, clock, random })
  const listening = new Set<Listening>()
  const fit = once(() => checkFitness(database))
  const known = once(() => checkVersion(database))
  const readers = reading(database)
  return {
    kind: 'postgres',
    location: database.location,
    claim: after(fit, claiming(database)),
    acquire: after(fit, acquiring(database)),
    renew: after(fit, renewing(database)),
    settle: after(fit, settling(database)),
    transaction: after(fit, fencing(database)) as Store['transaction'],
    declare: after(fit, declaring(database)),
    control: after(fit, controlling(database)),
    checkpoint: after(fit, checkpointing(database)),
    read: async <K extends keyof Readings>(kind: K, filter: Readings[K]['filter']) => {
      if (kind !== 'fitness') await known()
      return readers[kind](filter)
    },
    migrate: mode => migrate(database, mode),
    wake: async listener => {
      database.checkOpen()
      if (listenAt === null) return { live: () => false, close: async () => undefined }
      const wakeup = new Listening(database, listenAt, listener)
      listening.add(wakeup)
      return wakeup
    },
    elsewhere: given => {
      const url = 'url' in options ? options.url : given
      if (url === null) return null
      addressOf(url)
      const { schema, prefix } = options
      const named = { ...(schema === undefined ? {} : { schema }), ...(prefix === undefined ? {} : { prefix }) }
      return { kind: 'postgres', options: { url, namespace, callTimeoutMs: limitMs, poolSize: 1, ...named } }
    },
    close: async () => {
      await Promise.all([...listening].map(wakeup => wakeup.close()))
      await database.close()
    },
  }
}

function counted(what: string, value: number | undefined, otherwise: number): number {
  if (value === undefined) return otherwise
  if (Number.isInteger(value) && value > 0 && value < 2 ** 31) return value
  throw new OnetickError('ONETICK_OPTION', `${what} is ${quoted(value)}, not a positive whole number.`)
}

/** Looks once; after a failure, again at the next call. */
function once(look: () => Promise<void>): () => Promise<void> {
  let looked: Promise<void> | null = null
  return () => {
    looked ??= look().catch((error: unknown) => {
      looked = null
      throw error
    })
    return looked
  }
}

function after<In extends readonly unknown[], Out>(
  look: () => Promise<void>,
  verb: (...given: In) => Promise<Out>,
): (...given: In) => Promise<Out> {
  return async (...given) => {
    await look()
    return verb(...given)
  }
}
