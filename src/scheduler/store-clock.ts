import type { Clock } from '../domain/clock.ts'
import type { Instant } from '../domain/timetable.ts'

/** Samples older than this no longer count: clocks drift. */
const sampleLifeMs = 30_000

/**
 * The store's clock as its replies tell it. A reply's time was read before the reply arrived, so store time is at least
 * `reply.now` plus what has elapsed since. The best of the recent samples is kept: an ask aimed by it is never early.
 */
export class StoreClock {
  readonly #clock: Clock
  #samples: { readonly at: number; readonly offsetMs: number }[] = []
  #offsetMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#offsetMs = clock.now() - clock.elapsedMs()
  }

  /** A reply that arrived just now. */
  observe(now: Instant): void {
    const at = this.#clock.elapsedMs()
    const fresh = this.#samples.filter(sample => at - sample.at < sampleLifeMs).slice(-15)
    this.#samples = [...fresh, { at, offsetMs: now - at }]
    this.#offsetMs = Math.max(...this.#samples.map(sample => sample.offsetMs))
  }

  /** At most the store's time. */
  now(): Instant {
    return Math.floor(this.#clock.elapsedMs() + this.#offsetMs)
  }

  delayUntil(instant: Instant): number {
    return instant - this.#offsetMs - this.#clock.elapsedMs()
  }

  /** How far the host's wall clock is ahead of the store's. */
  hostAheadMs(): number {
    return Math.round(this.#clock.now() - this.#clock.elapsedMs() - this.#offsetMs)
  }
}
