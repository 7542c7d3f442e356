import type { Clock, Random } from '../../domain/clock.ts'
import { OnetickError } from '../../domain/errors.ts'
import { isBusy } from './failure.ts'

/** Uniform, not growing: the one that has waited longest must not be the one that asks least. */
const [retryLeastMs, retryMostMs] = [1, 3]

/** Whoever held the lock longer than this, over a slow disk or much work, leaves it alone for as long: others must find it free. */
const longMs = 1

interface LaneOptions {
  readonly clock: Clock
  readonly random: Random
  /** Whoever waits longer is turned away. */
  readonly timeoutMs: number
  /** After so much work the event loop gets a turn. 0: after each transaction. */
  readonly turnAfterMs: number
  readonly location: string
}

/**
 * One transaction after another, each tried until nobody else holds the lock. SQLite's own busy handler would block the event
 * loop and starve the unlucky process. Between two transactions that write, the loop gets a turn: its timers stay punctual,
 * and other processes get their chance at the lock.
 */
export class Lane {
  readonly #options: LaneOptions
  readonly #waiting: Waiting[] = []
  #isMoving = false
  /** Since the last turn. */
  #workedMs = 0

  constructor(options: LaneOptions) {
    this.#options = options
  }

  /** `attempt` is called until it does not throw busy, for as long as a call may take. It leaves nothing behind when it throws. */
  enter<T>(attempt: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const deadlineMs = this.#options.clock.elapsedMs() + this.#options.timeoutMs
      this.#waiting.push({ deadlineMs, reject, attempt: () => resolve(attempt()) })
      if (!this.#isMoving) void this.#move()
    })
  }

  /** Those who wait are turned away. */
  clear(reason: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(reason)
  }

  async #move(): Promise<void> {
    this.#isMoving = true
    const { clock, turnAfterMs } = this.#options
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const startMs = clock.elapsedMs()
      const isDone = this.#attempt(first)
      const tookMs = clock.elapsedMs() - startMs
      this.#workedMs += tookMs
      if (isDone) this.#waiting.shift()
      if (isDone && this.#workedMs < turnAfterMs) continue
      const pauseMs = isDone ? (tookMs > longMs ? longMs : 0) : this.#retryMs()
      await new Promise<void>(resume => clock.after(pauseMs, resume))
      this.#workedMs = 0
      if (this.#waiting.length > 0) this.#turnAwayLate()
    }
    this.#isMoving = false
  }

  #retryMs(): number {
    return retryLeastMs + this.#options.random.next() * (retryMostMs - retryLeastMs)
  }

  /** False: somebody else holds the lock. */
  #attempt({ attempt, reject }: Waiting): boolean {
    try {
      attempt()
    } catch (error) {
      if (isBusy(error)) return false
      reject(error)
    }
    return true
  }

  /** All wait equally long at most, so the late ones stand in front. */
  #turnAwayLate(): void {
    const { clock, location, timeoutMs } = this.#options
    const nowMs = clock.elapsedMs()
    for (let first = this.#waiting[0]; first !== undefined && first.deadlineMs <= nowMs; first = this.#waiting[0]) {
      this.#waiting.shift()
      const detail = `${location} was locked by others for ${timeoutMs} ms.`
      first.reject(new OnetickError('ONETICK_STORE_BUSY', detail))
    }
  }
}

interface Waiting {
  readonly deadlineMs: number
  readonly attempt: () => void
  readonly reject: (reason: unknown) => void
}
