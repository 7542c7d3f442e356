/** A lease's place in the memory that two threads share. */
export interface TrustSlot {
  /** Until when the lease is trusted, on the clock's elapsed time; 0: nothing was written. */
  readonly deadlineMs: number
  readonly isLost: boolean
}

const unitsPerMs = 1000

/**
 * What the heartbeat's thread knows of each lease, and the pulse of the loop that it watches, in memory that both see at once: a handler
 * that has just blocked the loop for a minute finds here that its lease was renewed meanwhile.
 */
export class Trust {
  readonly memory: SharedArrayBuffer
  /** Two words a lease, after the pulse: deadline in microseconds, and 1 where it was lost. */
  readonly #words: BigInt64Array

  constructor(of: { readonly slots: number } | { readonly memory: SharedArrayBuffer }) {
    this.memory = 'memory' in of ? of.memory : new SharedArrayBuffer(8 * (1 + 2 * of.slots))
    this.#words = new BigInt64Array(this.memory)
  }

  get slots(): number {
    return (this.#words.length - 1) / 2
  }

  /** The loop was alive then. */
  pulse(atMs: number): void {
    Atomics.store(this.#words, 0, BigInt(Math.floor(atMs * unitsPerMs)))
  }

  get pulsedAtMs(): number {
    return Number(Atomics.load(this.#words, 0)) / unitsPerMs
  }

  slot(index: number): TrustSlot {
    const [words, at] = [this.#words, 1 + 2 * index]
    return {
      get deadlineMs() {
        return Number(Atomics.load(words, at)) / unitsPerMs
      },
      get isLost() {
        return Atomics.load(words, at + 1) === 1n
      },
    }
  }

  trustUntil(index: number, deadlineMs: number): void {
    Atomics.store(this.#words, 1 + 2 * index, BigInt(Math.floor(deadlineMs * unitsPerMs)))
  }

  lose(index: number): void {
    Atomics.store(this.#words, 2 + 2 * index, 1n)
  }

  clear(index: number): void {
    Atomics.store(this.#words, 1 + 2 * index, 0n)
    Atomics.store(this.#words, 2 + 2 * index, 0n)
  }
}
