import type { Cancel, Clock, Random } from '../../src/domain/clock.ts'

/** Time that moves when the test says so. */
export class HandClock implements Clock {
  #nowMs = 0
  readonly #timers: Set<{ atMs: number; readonly callback: () => void }> = new Set()
  readonly #wallOffsetMs: number

  constructor(wallOffsetMs = 1_800_000_000_000) {
    this.#wallOffsetMs = wallOffsetMs
  }

  now(): number {
    return this.#nowMs + this.#wallOffsetMs
  }

  elapsedMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, callback: () => void): Cancel {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  get waiting(): number {
    return this.#timers.size
  }

  /** Lets `ms` pass; timers fire in order, and what they start runs as far as it can between them. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms
    await settled()
    for (;;) {
      const [next] = [...this.#timers].filter(timer => timer.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)
      if (next === undefined) break
      this.#timers.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      next.callback()
      await settled()
    }
    this.#nowMs = untilMs
    await settled()
  }

  /** The machine sleeps for `ms`: its timers stand still meanwhile, and each fires as much later. */
  suspend(ms: number): void {
    this.#nowMs += ms
    for (const timer of this.#timers) timer.atMs += ms
  }

  /** The loop stands still for `ms`: nothing fires until it goes on. */
  block(ms: number): void {
    this.#nowMs += ms
  }
}

/** Everything that can run without time passing has run. */
function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Always the middle, and ids that count up. */
export function evenRandom(): Random {
  let count = 0
  return { next: () => 0.5, id: () => `id-${++count}` }
}
