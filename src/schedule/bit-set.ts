/** A set of whole numbers from 0 to 63, kept in two words of 32 bits. */
export class BitSet {
  #low = 0
  #high = 0

  add(member: number): void {
    if (member < 32) this.#low |= 1 << member
    else this.#high |= 1 << (member - 32)
  }

  has(member: number): boolean {
    return (((member < 32 ? this.#low : this.#high) >>> (member & 31)) & 1) === 1
  }

  /** The least member that is `start` (0 to 63) or more, or -1. */
  atLeast(start: number): number {
    if (start < 32) {
      const rest = this.#low & (-1 << start)
      if (rest !== 0) return lowestBit(rest)
    }
    const rest = start < 32 ? this.#high : this.#high & (-1 << (start - 32))
    return rest === 0 ? -1 : 32 + lowestBit(rest)
  }
}

/** The place of the lowest bit that is set in a word that is not 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word)
}
