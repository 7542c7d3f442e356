import type { Chance } from './chance.ts'

/** Something that is going to happen. */
export interface Planned {
  readonly atMs: number
  isCancelled: boolean
  readonly tie: number
  readonly run: () => void
}

/** Lets every promise chain run to its end: a turn of the real event loop, in which no time passes here. */
export type Turn = () => Promise<void>

/** Virtual time: one heap of what is to happen, keyed by (time, seeded tie-break). The store's clock is this clock. */
export class World {
  nowMs: number
  readonly chance: Chance
  readonly #turn: Turn
  readonly #heap: Planned[] = []
  /** How many things have happened. */
  steps = 0

  constructor(of: { nowMs: number; chance: Chance; turn: Turn }) {
    this.nowMs = of.nowMs
    this.chance = of.chance
    this.#turn = of.turn
  }

  after(delayMs: number, run: () => void): Planned {
    const planned: Planned = { atMs: this.nowMs + Math.max(0, delayMs), tie: this.chance.next(), run, isCancelled: false }
    this.#push(planned)
    return planned
  }

  /** Pop, let it happen, drain the promises; until nothing is left to happen before `untilMs`. */
  async run(untilMs: number): Promise<void> {
    for (;;) {
      const next = this.#heap[0]
      if (next === undefined || next.atMs > untilMs) break
      this.#pop()
      if (next.isCancelled) continue
      this.nowMs = next.atMs
      this.steps++
      next.run()
      await this.#turn()
    }
    this.nowMs = untilMs
  }

  #push(planned: Planned): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(planned)
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = heap[above] as Planned
      if (!isSooner(planned, parent)) break
      heap[at] = parent
      at = above
    }
    heap[at] = planned
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop() as Planned
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isSooner(heap[child + 1] as Planned, heap[child] as Planned)) child++
      if (!isSooner(heap[child] as Planned, last)) break
      heap[at] = heap[child] as Planned
      at = child
    }
    heap[at] = last
  }
}

function isSooner(a: Planned, b: Planned): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.tie < b.tie)
}
