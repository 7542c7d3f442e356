import { type Duration, parseDuration } from '../domain/duration.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import { refuseUnknown } from './known-options.ts'

export interface TimingOptions {
  /** How long a lease lasts without a heartbeat, and so how soon a dead replica's run starts elsewhere. At least 1 s. Default 30 s. */
  readonly lease?: Duration
  /** Pause between heartbeats; less than half the lease. Default a third of the lease. As an object, also where it beats. */
  readonly heartbeat?: Duration | HeartbeatOptions
  /** A loop that stands still for longer loses its leases on purpose: others take over. At least the lease. Default 20 leases. */
  readonly stuckAfter?: Duration
}

export interface HeartbeatOptions {
  /** Pause between heartbeats. */
  readonly every?: Duration
  /** Where the heartbeat's thread connects to, where the store is a Pool of yours: a connection of its own, which a pool cannot give. */
  readonly url?: string
  /** Whether there is a thread. Default true: a handler may block the loop for longer than the lease. */
  readonly thread?: boolean
}

/** The lease and all that follows from it, in milliseconds. */
export interface Timing {
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** A loop without a pulse for this long is given up. */
  readonly stuckAfterMs: number
  /** Longest a store call is waited for. */
  readonly callTimeoutMs: number
  /** A lease is given up locally this long before the store would. */
  readonly marginMs: number
  /** Longest sleep without asking. */
  readonly pollMs: number
  /** The same, while wake-ups arrive and nothing is leased anywhere. */
  readonly quietPollMs: number
  /** A replica, and its release, not heard of for this long no longer counts. */
  readonly liveForMs: number
}

export function timingOf(options: TimingOptions): Timing {
  const leaseMs = parseDuration('lease', options.lease ?? '30s', { minMs: 1000 })
  const { every } = heartbeatOf(options)
  const heartbeatMs = every === undefined ? Math.floor(leaseMs / 3) : parseDuration('heartbeat', every)
  if (heartbeatMs >= leaseMs / 2) {
    throw new OnetickError(
      'ONETICK_OPTION',
      `heartbeat is ${heartbeatMs} ms with a lease of ${leaseMs} ms; one lost heartbeat would lose the lease.`,
      {
        remedy: 'Keep the heartbeat below half the lease.',
      },
    )
  }
  const stuckAfterMs = options.stuckAfter === undefined ? 20 * leaseMs : parseDuration('stuckAfter', options.stuckAfter, { minMs: leaseMs })
  return {
    leaseMs,
    heartbeatMs,
    stuckAfterMs,
    callTimeoutMs: Math.floor(leaseMs / 6),
    marginMs: Math.floor(leaseMs / 10),
    pollMs: Math.min(2000, Math.floor(leaseMs / 6)),
    quietPollMs: 10_000,
    liveForMs: Math.max(leaseMs, 30_000),
  }
}

/** Throws `ONETICK_OPTION` for options that do not exist, or cannot be. */
export function heartbeatOf({ heartbeat }: TimingOptions): HeartbeatOptions {
  if (heartbeat === undefined) return {}
  if (typeof heartbeat !== 'object') return { every: heartbeat }
  refuseUnknown('heartbeat', heartbeat, ['every', 'url', 'thread'])
  const { url, thread } = heartbeat
  // a URL may hold a password
  if (url !== undefined && typeof url !== 'string') throw new OnetickError('ONETICK_OPTION', `heartbeat.url is ${typeof url}, not text.`)
  if (thread !== undefined && typeof thread !== 'boolean') {
    throw new OnetickError('ONETICK_OPTION', `heartbeat.thread is ${quoted(thread)}; it may be true or false.`)
  }
  if (url !== undefined && thread === false) {
    throw new OnetickError('ONETICK_OPTION', 'heartbeat has an url for its thread, and no thread.', { remedy: 'Leave one of the two out.' })
  }
  return heartbeat
}

/** What misfire `skip` still runs: as late as a takeover may be, and no later. */
export function skipWindowMs(timing: Timing): number {
  return timing.leaseMs + timing.pollMs + 2 * timing.callTimeoutMs
}
