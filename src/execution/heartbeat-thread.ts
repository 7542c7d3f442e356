import type { Cancel, Clock, Random } from '../domain/clock.ts'
import { OnetickError } from '../domain/errors.ts'
import type { Emitter } from '../domain/events.ts'
import type { ClockZero } from '../platform/system.ts'
import type { Thread, ThreadListeners } from '../platform/threads.ts'
import type { StoreAddress } from '../store/address.ts'
import type { Holding } from './holding.ts'
import { Trust } from './trust.ts'

/** The lease, and what a heartbeat takes from it. */
export interface Beats {
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly callTimeoutMs: number
  readonly marginMs: number
}

/** What the thread is born with. */
export interface ThreadData {
  readonly address: StoreAddress
  readonly zero: ClockZero
  readonly memory: SharedArrayBuffer
  readonly owner: string
  readonly timing: Beats
  readonly stuckAfterMs: number
}

export type ToThread =
  | { readonly kind: 'hold'; readonly slot: number; readonly rowId: number; readonly fence: number }
  | { readonly kind: 'drop'; readonly slot: number }
  | { readonly kind: 'stop' }

export type FromThread =
  | { readonly kind: 'dropped' | 'lost' | 'cancelled'; readonly slot: number }
  | { readonly kind: 'failed'; readonly error: string }
  /** Connected, and to the right store. */
  | { readonly kind: 'ready' }

/** What the thread runs. Throws where this code was bundled and cannot tell where it stands. */
export function heartbeatModule(): URL {
  try {
    return new URL('./heartbeat-worker.js', import.meta.url)
  } catch (cause) {
    throw new Error(bundled, { cause })
  }
}

const bundled = 'This code was bundled without its module heartbeat-worker.js.'

const unbundle =
  'Leave onetick out of the bundle, or bundle onetick/dist/execution/heartbeat-worker.js beside the app. Until then leases are renewed on the event loop.'

/** A start, and so a stop that comes meanwhile, waits no longer than this for the thread to be ready. */
const readyWithinMs = 5000

/** The loop shows that it is alive this often. */
const pulseMs = 100
const firstPauseMs = 1000
const longestPauseMs = 60_000

/** Throws where it cannot. */
export type StartThread = (memory: SharedArrayBuffer, listeners: ThreadListeners) => Thread

export interface HeartbeatThreadOptions {
  readonly clock: Clock
  readonly random: Random
  readonly events: Emitter
  readonly timing: Beats
  /** Leases that it can keep at a time; the loop keeps what is beyond. */
  readonly slots: number
  readonly start: StartThread
  readonly holdings: () => Iterable<Holding>
  /** It is gone: the loop is to renew at once. */
  readonly onGone: () => void
}

/**
 * The heartbeat's thread as the loop sees it: told of every lease, it renews them whatever the loop does. The loop's own heartbeat goes on
 * beside it and renews what the thread has not, so nothing depends on the thread but how long a handler may block the loop.
 */
export class HeartbeatThread {
  readonly #of: HeartbeatThreadOptions
  #thread: Thread | null = null
  #trust: Trust
  #free: number[] = []
  readonly #slots: Map<Holding, { readonly slot: number; readonly grantedMs: number }> = new Map()
  #isReady = false
  #onSettled: () => void = () => undefined
  #lookedMs = Number.NEGATIVE_INFINITY
  /** Since when the thread has left something, as a loop that was awake saw it. */
  #leftSinceMs: number | null = null
  #isDegraded = false
  #isStopped = false
  #failures = 0
  #lastFailure: string | null = null
  #cancelPulse: Cancel | null = null
  #onStopped: () => void = () => undefined
  #cancelStart: Cancel = () => undefined

  constructor(of: HeartbeatThreadOptions) {
    this.#of = of
    this.#trust = new Trust({ slots: of.slots })
  }

  /** Resolves once it is ready, or has failed: a first handler that blocks the loop at once is to find it there. */
  async start(): Promise<void> {
    const settled = new Promise<void>(resolve => {
      const cancel = this.#of.clock.after(Math.min(this.#of.timing.leaseMs, readyWithinMs), resolve)
      this.#onSettled = () => {
        cancel()
        resolve()
      }
    })
    this.#launch()
    await settled
  }

  #launch(): void {
    this.#isReady = false
    this.#trust = new Trust({ slots: this.#of.slots })
    this.#free = Array.from({ length: this.#of.slots }, (_, slot) => slot).reverse()
    try {
      const thread = this.#of.start(this.#trust.memory, {
        onMessage: message => thread === this.#thread && this.#heard(message as FromThread),
        onEnd: error => thread === this.#thread && this.#gone(error),
      })
      this.#thread = thread
    } catch (error) {
      return this.#gone(error instanceof Error ? error : new Error(String(error)))
    }
    for (const holding of this.#of.holdings()) this.hold(holding)
  }

  /** Kept by the thread from now on, also while the loop stands still. */
  hold(holding: Holding): void {
    const slot = this.#thread === null ? undefined : this.#free.pop()
    if (slot === undefined) return
    this.#trust.clear(slot)
    holding.share(this.#trust.slot(slot))
    this.#slots.set(holding, { slot, grantedMs: holding.deadlineMs })
    this.#trust.pulse(this.#of.clock.elapsedMs())
    if (this.#cancelPulse === null) this.#pulse()
    this.#post({ kind: 'hold', slot, rowId: holding.rowId, fence: holding.fence })
  }

  drop(holding: Holding): void {
    const held = this.#slots.get(holding)
    if (held === undefined) return
    this.#slots.delete(holding)
    holding.share(null)
    this.#post({ kind: 'drop', slot: held.slot })
  }

  /** What the thread has left for so long that the loop is to renew it. */
  due(held: readonly Holding[]): readonly Holding[] {
    if (this.#thread === null) return held
    const { clock, timing } = this.#of
    const leastMs = clock.elapsedMs() + timing.leaseMs - timing.marginMs - 1.5 * timing.heartbeatMs
    this.#judge(held.filter(holding => this.#writtenMs(holding) < leastMs).length, held.length)
    return held.filter(holding => holding.deadlineMs < leastMs)
  }

  /** The deadline as the thread knows it, whatever the loop has renewed beside it. */
  #writtenMs(holding: Holding): number {
    const held = this.#slots.get(holding)
    return held === undefined ? Number.POSITIVE_INFINITY : Math.max(held.grantedMs, this.#trust.slot(held.slot).deadlineMs)
  }

  /** Told of once it has lasted a heartbeat. A loop that stood still, or a machine that did, says nothing of the thread. */
  #judge(left: number, of: number): void {
    // that it is not ready was told when it failed
    if (!this.#isReady) return
    const { clock, timing } = this.#of
    const nowMs = clock.elapsedMs()
    const stoodStill = nowMs - this.#lookedMs > timing.heartbeatMs
    this.#lookedMs = nowMs
    if (left === 0) this.#isDegraded = false
    if (left === 0 || stoodStill) this.#leftSinceMs = null
    else this.#leftSinceMs ??= nowMs
    if (this.#leftSinceMs !== null && nowMs - this.#leftSinceMs >= timing.heartbeatMs) {
      this.#degraded(`The heartbeat's thread has not renewed ${left} of ${of} leases${this.#because()}.`)
    }
  }

  /** The loop looks more often than it would renew. */
  beatMs(): number {
    return this.#thread === null ? this.#of.timing.heartbeatMs : this.#of.timing.heartbeatMs / 4
  }

  /** Once it has ended, or was killed: a process that exits while the thread is inside a driver of its database may crash. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelStart()
    this.#cancelPulse?.()
    const thread = this.#thread
    if (thread === null) return
    await new Promise<void>(ended => {
      this.#onStopped = ended
      this.#post({ kind: 'stop' })
      // its connection may hang
      this.#cancelStart = this.#of.clock.after(2 * this.#of.timing.callTimeoutMs, () => {
        thread.kill()
        ended()
      })
    })
  }

  #post(message: ToThread): void {
    this.#thread?.post(message)
  }

  #pulse(): void {
    this.#trust.pulse(this.#of.clock.elapsedMs())
    this.#cancelPulse = this.#of.clock.after(pulseMs, () => {
      this.#cancelPulse = null
      if (this.#slots.size > 0) this.#pulse()
    })
  }

  #heard(message: FromThread): void {
    if (message.kind === 'failed') {
      this.#lastFailure = message.error
      return
    }
    if (message.kind === 'ready') {
      this.#failures = 0
      this.#isReady = true
      this.#isDegraded = false
      return this.#onSettled()
    }
    if (message.kind === 'dropped') {
      this.#free.push(message.slot)
      return
    }
    for (const [holding, { slot }] of this.#slots) {
      if (slot !== message.slot) continue
      if (message.kind === 'lost') holding.lose()
      else holding.cancel()
    }
  }

  #gone(error: Error | null): void {
    this.#thread = null
    this.#cancelStart()
    for (const holding of this.#slots.keys()) holding.share(null)
    this.#slots.clear()
    this.#onSettled()
    if (this.#isStopped) return this.#onStopped()
    this.#degraded(
      `The heartbeat's thread ${this.#isReady ? 'is gone' : 'could not start'}${error === null ? '' : `: ${error.message}`}`,
      error,
    )
    this.#of.onGone()
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(this.#failures++, 10), longestPauseMs)
    this.#cancelStart = this.#of.clock.after(pauseMs * (0.5 + this.#of.random.next()), () => this.#launch())
  }

  #because(): string {
    return this.#lastFailure === null ? '' : ` (${this.#lastFailure})`
  }

  /** Told of once, until it is well again. */
  #degraded(what: string, cause: Error | null = null): void {
    if (this.#isDegraded) return
    this.#isDegraded = true
    const isBundled = cause !== null && /heartbeat-worker\.js/.test(cause.message)
    const remedy = isBundled ? { remedy: unbundle } : {}
    this.#of.events.emit('heartbeatDegraded', { error: new OnetickError('ONETICK_HEARTBEAT', what, { cause, ...remedy }) })
  }
}
