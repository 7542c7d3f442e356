import { type Duration, parseDuration } from '../domain/duration.ts'
import { OnetickError } from '../domain/errors.ts'

export interface TimingOptions {
  /** How long a lease lasts without a heartbeat, and so how soon a dead replica's run starts elsewhere. At least 1 s. Default 30 s. */
  readonly lease?: Duration
  /** Pause between heartbeats; less than half the lease. Default a third of the lease. */
  readonly heartbeat?: Duration
}

/** The lease and all that follows from it, in milliseconds. */
export interface Timing {
  readonly leaseMs: number
  readonly heartbeatMs: number
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
  const heartbeatMs = options.heartbeat === undefined ? Math.floor(leaseMs / 3) : parseDuration('heartbeat', options.heartbeat)
  if (heartbeatMs >= leaseMs / 2) {
    throw new OnetickError(
      'ONETICK_OPTION',
      `heartbeat is ${heartbeatMs} ms with a lease of ${leaseMs} ms; one lost heartbeat would lose the lease.`,
      {
        remedy: 'Keep the heartbeat below half the lease.',
      },
    )
  }
  return {
    leaseMs,
    heartbeatMs,
    callTimeoutMs: Math.floor(leaseMs / 6),
    marginMs: Math.floor(leaseMs / 10),
    pollMs: Math.min(2000, Math.floor(leaseMs / 6)),
    quietPollMs: 10_000,
    liveForMs: Math.max(leaseMs, 30_000),
  }
}

/** What misfire `skip` still runs: as late as a takeover may be, and no later. */
export function skipWindowMs(timing: Timing): number {
  return timing.leaseMs + timing.pollMs + 2 * timing.callTimeoutMs
}
