/** States that were reached before, by a digest of 64 bits of their keys, and a number that is kept with each. */
export class Known {
  #capacity = 1 << 16
  #high: Uint32Array = new Uint32Array(this.#capacity)
  #low: Uint32Array = new Uint32Array(this.#capacity)
  /** 0: the place is free. */
  #values: Float64Array = new Float64Array(this.#capacity)
  size = 0

  /** Where the key stands, or is to stand; until the next is added. */
  find(key: string): Place {
    const [high, low] = digest(key)
    return { high, low, index: this.#indexOf(high, low) }
  }

  valueAt({ index }: Place): number {
    return this.#values[index] ?? 0
  }

  /** `value` is not 0. */
  set({ high, low }: Place, value: number): void {
    if (this.size * 2 > this.#capacity) this.#grow()
    const index = this.#indexOf(high, low)
    if (this.#values[index] === 0) this.size++
    this.#high[index] = high
    this.#low[index] = low
    this.#values[index] = value
  }

  #indexOf(high: number, low: number): number {
    let index = low & (this.#capacity - 1)
    while (this.#values[index] !== 0 && !(this.#high[index] === high && this.#low[index] === low))
      index = (index + 1) & (this.#capacity - 1)
    return index
  }

  #grow(): void {
    const [high, low, values] = [this.#high, this.#low, this.#values]
    this.#capacity *= 2
    this.#high = new Uint32Array(this.#capacity)
    this.#low = new Uint32Array(this.#capacity)
    this.#values = new Float64Array(this.#capacity)
    for (const [at, value] of values.entries()) {
      if (value === 0) continue
      const index = this.#indexOf(high[at] ?? 0, low[at] ?? 0)
      this.#high[index] = high[at] ?? 0
      this.#low[index] = low[at] ?? 0
      this.#values[index] = value
    }
  }
}

export interface Place {
  readonly high: number
  readonly low: number
  readonly index: number
}

/** Two mixed sums of 32 bits (cyrb53, whole). */
function digest(text: string): [number, number] {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return [high >>> 0, low >>> 0]
}
