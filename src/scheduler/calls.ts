import type { Clock } from '../domain/clock.ts'
import { OnetickError } from '../domain/errors.ts'
import type { Emitter } from '../domain/events.ts'
import type { Instant } from '../domain/timetable.ts'
import { bounded } from '../execution/bounded.ts'
import type { StoreClock } from './store-clock.ts'

/** The way of every store call: bounded in time, its reply's time observed, its failures told of. */
export class Calls {
  readonly #clock: Clock
  readonly #storeClock: StoreClock
  readonly #events: Emitter
  readonly #limitMs: number
  readonly #onRecovered: () => void
  #failingSinceMs: number | null = null
  #isFirst = false

  constructor(of: { clock: Clock; storeClock: StoreClock; events: Emitter; limitMs: number; onRecovered: () => void }) {
    this.#clock = of.clock
    this.#storeClock = of.storeClock
    this.#events = of.events
    this.#limitMs = of.limitMs
    this.#onRecovered = of.onRecovered
  }

  /** The calls of a start: what asking again cannot help is thrown to its caller and told to nobody else, as nothing goes on then. */
  async first(body: () => Promise<void>): Promise<void> {
    this.#isFirst = true
    try {
      await body()
    } finally {
      this.#isFirst = false
    }
  }

  async send<T extends { readonly now: Instant }>(what: string, call: () => Promise<T>, limitMs: number = this.#limitMs): Promise<T> {
    try {
      const reply = await bounded(this.#clock, limitMs, what, call)
      this.#storeClock.observe(reply.now)
      if (this.#failingSinceMs !== null) {
        const afterMs = Math.round(this.#clock.elapsedMs() - this.#failingSinceMs)
        this.#failingSinceMs = null
        this.#events.emit('storeRecovered', { afterMs })
        // a shorter failure may have been that of one call alone, which would then be repeated with each other that succeeds
        if (afterMs >= this.#limitMs) this.#onRecovered()
      }
      return reply
    } catch (thrown) {
      if (this.#isFirst && isHopeless(thrown)) throw thrown
      this.#failingSinceMs ??= this.#clock.elapsedMs()
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      this.#events.emit('storeFailed', { during: what, error, code: error instanceof OnetickError ? error.code : null })
      throw error
    }
  }
}

/** The store cannot be what it has to be: trying again does not help. */
export function isHopeless(error: unknown): boolean {
  return error instanceof OnetickError && !retryable.has(error.code)
}

const retryable: ReadonlySet<string> = new Set(['ONETICK_STORE_UNREACHABLE', 'ONETICK_STORE_TIMEOUT', 'ONETICK_STORE_BUSY'])
