import type { Cancel, Clock } from '../domain/clock.ts'
import { OnetickError } from '../domain/errors.ts'
import type { JobRow } from '../domain/job.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Beaten } from './heartbeat.ts'
import type { TrustSlot } from './trust.ts'
import { watchfulSignal } from './watchful-signal.ts'

/** Why a run was told to stop. */
export type AbortReason = 'leaseLost' | 'cancelled' | 'superseded' | 'draining'

const abortCodes = {
  leaseLost: ['ONETICK_LEASE_LOST', 'The lease is no longer ours.'],
  cancelled: ['ONETICK_RUN_CANCELLED', 'The run was cancelled.'],
  superseded: ['ONETICK_RUN_SUPERSEDED', 'The next occurrence is due and replaces this run.'],
  draining: ['ONETICK_DRAINING', 'This replica stops; another will go on.'],
} as const

/**
 * A lease as its holder sees it: trusted up to a local deadline.
 * S5: local time can only shorten trust. A deadline is counted from before the call was sent, and at it the signal is
 * aborted whether or not the store answers.
 */
export class Holding implements Beaten {
  /** The row as last heard of. */
  row: JobRow
  readonly #clock: Clock
  readonly #controller: AbortController = new AbortController()
  /** Aborted no later than the first time anybody looks after the deadline, also where the loop was blocked at it. */
  readonly signal: AbortSignal
  #deadlineMs: number
  #cancelTimer: Cancel = () => undefined
  #abortReason: AbortReason | null = null
  #isOver = false
  #slot: TrustSlot | null = null
  #isLost = false
  /** What is due is still to be written down: no handler was called. */
  isPlanning = false
  /** Once it is over: when its row is due next, as far as this replica can tell. */
  nextDueAt: Instant = Number.POSITIVE_INFINITY

  constructor(row: JobRow, deadlineMs: number, clock: Clock) {
    this.row = row
    this.#clock = clock
    this.#deadlineMs = deadlineMs
    this.signal = watchfulSignal(this.#controller, () => {
      if (!this.#isOver && !this.isTrusted()) this.abort('leaseLost')
    })
    this.#watch()
  }

  get rowId(): number {
    return this.row.id
  }

  get fence(): number {
    return this.row.fence
  }

  /** The store said so: nothing this holder writes is taken any more. */
  get isLost(): boolean {
    return this.#isLost || this.#slot?.isLost === true
  }

  get abortReason(): AbortReason | null {
    return this.#abortReason
  }

  /** Of the clock's elapsed time. */
  get deadlineMs(): number {
    return Math.max(this.#deadlineMs, this.#slot?.deadlineMs ?? 0)
  }

  isTrusted(): boolean {
    return !this.isLost && this.#clock.elapsedMs() < this.deadlineMs
  }

  /** The store confirmed the lease until then. An older confirmation that arrives late changes nothing. */
  trustUntil(deadlineMs: number): void {
    this.#deadlineMs = Math.max(this.#deadlineMs, deadlineMs)
  }

  /** The heartbeat's thread renews it, too: what that writes counts. Null: no longer. */
  share(slot: TrustSlot | null): void {
    this.#deadlineMs = this.deadlineMs
    this.#isLost = this.isLost
    this.#slot = slot
  }

  cancel(): void {
    this.abort('cancelled')
  }

  lose(): void {
    this.#isLost = true
    this.abort('leaseLost')
  }

  abort(reason: AbortReason): void {
    if (this.#abortReason !== null) return
    this.#abortReason = reason
    const [code, detail] = abortCodes[reason]
    this.#controller.abort(new OnetickError(code, detail))
  }

  /** The holding is over: its deadline no longer matters. */
  release(): void {
    this.#isOver = true
    this.#cancelTimer()
  }

  #watch(): void {
    this.#cancelTimer = this.#clock.after(this.deadlineMs - this.#clock.elapsedMs(), () => {
      if (this.isTrusted()) this.#watch()
      else this.abort('leaseLost')
    })
  }
}
