import type { Clock, Random } from '../domain/clock.ts'
import { type Duration, parseDuration } from '../domain/duration.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import { checkName } from '../domain/name.ts'
import type { StoreSource } from '../store/open.ts'
import { refuseUnknown } from './known-options.ts'
import { type Timing, type TimingOptions, timingOf } from './timing.ts'

export interface OnetickOptions extends TimingOptions {
  /** `sqlite:PATH`, `postgres://…`, `memory:`, a pg Pool, or an opened store. Left out: `ONETICK_STORE_MISSING` at `start`. */
  readonly store?: StoreSource | undefined
  /** Apps with different namespaces on one database do not see each other. Default `default`. */
  readonly namespace?: string
  /** `all`: declares, claims and runs. `client`: an API pod of the same image that triggers but never claims. Default `all`. */
  readonly role?: 'all' | 'client'
  /** Runs at a time on this replica. Default 10. */
  readonly concurrency?: number
  /** How long `stop()` waits for what runs. Default 25 s. */
  readonly drainTimeout?: Duration
  /** How long a handler may take to heed its aborted signal. Default 10 s. */
  readonly abortGrace?: Duration
  /** Whether `start` brings the schema up to date. Default true; false: `ONETICK_STORE_NOT_MIGRATED` where it is not. */
  readonly migrate?: boolean
  /** The first part of the replica's id. Default: `POD_NAME`, else the host's name. */
  readonly replica?: string
  /** Time and chance, for tests. */
  readonly clock?: Clock
  readonly random?: Random
}

/** What follows from the options alone. */
export interface Settings {
  readonly timing: Timing
  readonly capacity: number
  readonly drainMs: number
  readonly graceMs: number
}

/** Throws `ONETICK_OPTION`, `ONETICK_DURATION` or `ONETICK_NAME` on the first option that cannot be. */
export function settingsOf(options: OnetickOptions): Settings {
  refuseUnknown('Onetick', options, known)
  const { namespace, replica, role, migrate, clock, random, concurrency = 10 } = options
  if (namespace !== undefined) checkName('The namespace', namespace)
  if (replica !== undefined) checkName('The replica name', replica)
  if (role !== undefined && role !== 'all' && role !== 'client') {
    throw new OnetickError('ONETICK_OPTION', `role is ${quoted(role)}; it may be all or client.`)
  }
  if (migrate !== undefined && typeof migrate !== 'boolean') {
    throw new OnetickError('ONETICK_OPTION', `migrate is ${quoted(migrate)}; it may be true or false.`)
  }
  if (clock !== undefined && typeof clock?.elapsedMs !== 'function') throw new OnetickError('ONETICK_OPTION', 'clock is no clock.')
  if (random !== undefined && typeof random?.id !== 'function') throw new OnetickError('ONETICK_OPTION', 'random is no source of chance.')
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000) {
    throw new OnetickError('ONETICK_OPTION', `concurrency is ${quoted(concurrency)}; it must be a whole number from 1 to 10000.`)
  }
  return {
    timing: timingOf(options),
    capacity: concurrency,
    drainMs: parseDuration('drainTimeout', options.drainTimeout ?? '25s'),
    graceMs: parseDuration('abortGrace', options.abortGrace ?? '10s'),
  }
}

const known: readonly (keyof OnetickOptions)[] = [
  ...(['lease', 'heartbeat', 'stuckAfter', 'store', 'namespace', 'role', 'concurrency', 'drainTimeout'] as const),
  ...(['abortGrace', 'migrate', 'replica', 'clock', 'random'] as const),
]
