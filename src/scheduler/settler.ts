import type { Cancel, Clock, Random } from '../domain/clock.ts'
import type { Instant } from '../domain/timetable.ts'
import type { SettleItem, SettleReply, SettleRequest, SettleResult } from '../store/store.ts'

export interface SettleAnswer {
  readonly result: SettleResult
  readonly now: Instant
  /** On the clock's elapsed time. */
  readonly sentAtMs: number
}

interface Waiting {
  readonly item: SettleItem
  /** On the clock's elapsed time: not tried again after. */
  readonly untilMs: number
  readonly answer: (answer: SettleAnswer | null) => void
  failures: number
}

/** Settles sent in one call, at most. */
const batchLimit = 500

const firstPauseMs = 50
const longestPauseMs = 2000

/**
 * Settles are sent as they come; those that come while a call is under way go together with the next.
 * S7: an unanswered settle is repeated until it is answered, which is harmless: the store finds it in the ledger.
 */
export class Settler {
  readonly #clock: Clock
  readonly #random: Random
  readonly #owner: string
  readonly #send: (request: SettleRequest) => Promise<SettleReply>
  readonly #waiting: Waiting[] = []
  #isSending = false
  #cancelTimer: Cancel | null = null

  constructor(of: { clock: Clock; random: Random; owner: string; send: (request: SettleRequest) => Promise<SettleReply> }) {
    this.#clock = of.clock
    this.#random = of.random
    this.#owner = of.owner
    this.#send = of.send
  }

  /** Null: not answered by `untilMs`. */
  settle(item: SettleItem, untilMs: number): Promise<SettleAnswer | null> {
    return new Promise(answer => {
      this.#waiting.push({ item, untilMs, answer, failures: 0 })
      if (this.#cancelTimer === null) this.#flush()
    })
  }

  /** Gives up what has not been answered. */
  stop(): void {
    this.#cancelTimer?.()
    for (const waiting of this.#waiting.splice(0)) waiting.answer(null)
  }

  #flush(): void {
    if (this.#isSending || this.#waiting.length === 0) return
    this.#isSending = true
    void this.#sendBatch().finally(() => {
      this.#isSending = false
      if (this.#cancelTimer === null) this.#flush()
    })
  }

  async #sendBatch(): Promise<void> {
    // an item that failed before goes alone, so that it cannot hold up the others
    const isRetry = (this.#waiting[0]?.failures ?? 0) > 0
    const batch = this.#waiting.splice(0, isRetry ? 1 : batchLimit)
    const sentAtMs = this.#clock.elapsedMs()
    try {
      const reply = await this.#send({ owner: this.#owner, items: batch.map(({ item }) => item) })
      for (const [index, waiting] of batch.entries()) {
        const result = reply.results[index]
        waiting.answer(result === undefined ? null : { result, now: reply.now, sentAtMs })
      }
    } catch {
      this.#again(batch)
    }
  }

  #again(batch: readonly Waiting[]): void {
    const nowMs = this.#clock.elapsedMs()
    let failures = 0
    for (const waiting of batch) {
      waiting.failures++
      failures = Math.max(failures, waiting.failures)
      if (nowMs >= waiting.untilMs) waiting.answer(null)
      else this.#waiting.push(waiting)
    }
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 10), longestPauseMs)
    this.#cancelTimer = this.#clock.after(pauseMs * (0.5 + this.#random.next()), () => {
      this.#cancelTimer = null
      this.#flush()
    })
  }
}
