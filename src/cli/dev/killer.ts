import type { Cancel, Clock, Random } from '../../domain/clock.ts'

export interface KillerOptions {
  readonly clock: Clock
  readonly random: Random
  /** 0: never. */
  readonly everyMs: number
  /** Those that could be killed. */
  readonly up: () => readonly string[]
  readonly kill: (label: string) => void
  /** Whether it runs something just now. */
  readonly isBusy: (label: string) => boolean
}

/** A run that has just begun is given so long, at most, so that there is something to take over. */
export const longestBiteMs = 60

/**
 * Kills a replica every now and then. It waits for one that has just begun a run, so that there is a run to take over;
 * where none comes until the next time, any will do.
 */
export class Killer {
  readonly #of: KillerOptions
  #isHungry = false
  /** Starts to let pass, so that it is not always the job that starts first. */
  #passes = 0
  #isStopped = false
  #cancelTick: Cancel = () => undefined
  #cancelBite: Cancel = () => undefined

  constructor(of: KillerOptions) {
    this.#of = of
  }

  start(): void {
    const { clock, everyMs } = this.#of
    if (everyMs === 0 || this.#isStopped) return
    this.#cancelTick = clock.after(everyMs, () => {
      if (this.#isHungry) this.#killAny()
      else this.#wait()
      this.start()
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#isHungry = false
    this.#cancelTick()
    this.#cancelBite()
  }

  /** A run has begun there, that should still be going on after `biteMs`. */
  onStarted(label: string, biteMs: number): void {
    if (!this.#isHungry || this.#passes-- > 0) return
    this.#isHungry = false
    this.#cancelBite = this.#of.clock.after(biteMs, () => {
      if (this.#of.isBusy(label)) this.#of.kill(label)
      else this.#isHungry = !this.#isStopped
    })
  }

  #wait(): void {
    this.#isHungry = true
    this.#passes = this.#below(this.#of.up().length)
  }

  #killAny(): void {
    const up = this.#of.up()
    const label = up[this.#below(up.length)]
    this.#isHungry = false
    if (label !== undefined) this.#of.kill(label)
  }

  #below(limit: number): number {
    return Math.floor(this.#of.random.next() * limit)
  }
}
