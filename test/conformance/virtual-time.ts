import type { Instant } from '../../src/domain/timetable.ts'

/** A clock that stands still while anybody has something to do, and jumps to the next sleeper's end when all wait. */
export class VirtualTime {
  #now: Instant
  readonly #sleepers: { readonly until: Instant; readonly wake: () => void }[] = []
  #isWatched = false

  constructor(start: Instant) {
    this.#now = start
  }

  now(): Instant {
    return this.#now
  }

  sleep(ms: number): Promise<void> {
    return new Promise(wake => {
      this.#sleepers.push({ until: this.#now + Math.max(0, ms), wake })
      this.#sleepers.sort((a, b) => a.until - b.until)
      this.#watch()
    })
  }

  #watch(): void {
    if (this.#isWatched) return
    this.#isWatched = true
    setImmediate(() => {
      this.#isWatched = false
      const next = this.#sleepers.shift()
      if (next === undefined) return
      this.#now = Math.max(this.#now, next.until)
      next.wake()
      if (this.#sleepers.length > 0) this.#watch()
    })
  }
}
