/** Chance that a seed repeats. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995
    for (let i = 0; i < 4; i++) this.next()
  }

  /** Uniform in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  is(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(all: readonly T[]): T {
    return all[this.below(all.length)] as T
  }

  shuffled<T>(all: readonly T[]): T[] {
    const shuffled = [...all]
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.below(i + 1)
      ;[shuffled[i], shuffled[j]] = [shuffled[j] as T, shuffled[i] as T]
    }
    return shuffled
  }
}
