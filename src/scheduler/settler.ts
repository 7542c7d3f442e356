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
  /** On the clock's elapsed time: not tried again after. Asked anew each time: trust may have been prolonged. */
  readonly untilMs: () => number
  readonly answer: (answer: SettleAnswer | null) => void
  failures: number
}

/** Settles sent in one call, at most. */
const batchLimit = 500

const firstPauseMs = 50

/**
 * Settles are sent as they come; those that come while a call is under way go together with the next.
 * S7: an unanswered settle is repeated until it is answered, which is harmless: the store finds it in the ledger.
 */
export class Settler {
  readonly #clock: Clock
  readonly #random: Random
  readonly #owner: string
  readonly #longestPauseMs: number
  readonly #send: (request: SettleRequest) => Promise<SettleReply>
  readonly #fresh: Waiting[] = []
  /** Sent before, without an answer: each goes alone and after a pause, so that one that always fails holds up no other. */
  readonly #failed: Waiting[] = []
  #isSending = false
  #isStopped = false
  #cancelTimer: Cancel | null = null

  constructor(of: {
    clock: Clock
    random: Random
    owner: string
    longestPauseMs: number
    send: (request: SettleRequest) => Promise<SettleReply>
  }) {
    this.#clock = of.clock
    this.#random = of.random
    this.#owner = of.owner
    this.#longestPauseMs = of.longestPauseMs
    this.#send = of.send
  }

  /** Null: not answered by `untilMs`, of the clock's elapsed time, or before the stop. */
  settle(item: SettleItem, untilMs: () => number = () => Number.POSITIVE_INFINITY): Promise<SettleAnswer | null> {
    return new Promise(answer => {
      if (this.#isStopped) return answer(null)
      this.#fresh.push({ item, untilMs, answer, failures: 0 })
      this.#flush()
    })
  }

  /** The store answers again: what waits for another try need not wait on. */
  hasten(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#flush()
  }

  /** Gives up what has not been answered, and whatever comes after. */
  stop(): void {
    this.#isStopped = true
    this.#cancelTimer?.()
    for (const waiting of [...this.#fresh.splice(0), ...this.#failed.splice(0)]) waiting.answer(null)
  }

  #flush(): void {
    if (this.#isSending) return
    const batch = this.#next()
    if (batch.length === 0) return
    this.#isSending = true
    void this.#sendBatch(batch).finally(() => {
      this.#isSending = false
      this.#flush()
    })
  }

  #next(): Waiting[] {
    if (this.#fresh.length > 0) return this.#fresh.splice(0, batchLimit)
    return this.#cancelTimer === null ? this.#failed.splice(0, 1) : []
  }

  async #sendBatch(batch: readonly Waiting[]): Promise<void> {
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
      if (this.#isStopped || nowMs >= waiting.untilMs()) waiting.answer(null)
      else this.#failed.push(waiting)
    }
    if (this.#isStopped || this.#cancelTimer !== null) return
    const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 10), this.#longestPauseMs)
    this.#cancelTimer = this.#clock.after(pauseMs * (0.5 + this.#random.next()), () => {
      this.#cancelTimer = null
      this.#flush()
    })
  }
}
