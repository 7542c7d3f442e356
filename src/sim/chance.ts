import type { Random } from '../domain/clock.ts'

/** Seeded chance (sfc32): the same seed draws the same numbers on every machine. */
export class Chance implements Random {
  #a: number
  #b: number
  #c: number
  #d: number
  #ids = 0

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = stream | 0
    this.#d = 1
    for (let i = 0; i < 12; i++) this.next()
  }

  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return (sum >>> 0) / 4294967296
  }

  id(): string {
    this.#ids++
    return `${Math.floor(this.next() * 2 ** 32).toString(36)}-${this.#ids}`
  }

  /** A stream of its own, so that drawing more here changes nothing there. */
  fork(): Chance {
    return new Chance(Math.floor(this.next() * 2 ** 32), Math.floor(this.next() * 2 ** 32))
  }

  /** Whether something of probability `p` happens. */
  yes(p: number): boolean {
    return this.next() < p
  }

  between(from: number, until: number): number {
    return from + this.next() * (until - from)
  }

  /** Whole, both ends included. */
  whole(from: number, until: number): number {
    return from + Math.floor(this.next() * (until - from + 1))
  }

  pick<T>(choices: readonly [T, ...T[]] | readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)] as T
  }

  shuffled<T>(list: readonly T[]): T[] {
    const all = [...list]
    for (let i = all.length - 1; i > 0; i--) {
      const j = Math.floor(this.next() * (i + 1))
      ;[all[i], all[j]] = [all[j] as T, all[i] as T]
    }
    return all
  }
}
