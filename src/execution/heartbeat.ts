import type { Cancel, Clock } from '../domain/clock.ts'
import type { Renewed, RenewReply, RenewRequest } from '../store/store.ts'

/** A lease that a heartbeat keeps. */
export interface Beaten {
  readonly rowId: number
  readonly fence: number
  readonly isLost: boolean
  /** The store confirmed it until then, of the clock's elapsed time. */
  trustUntil(deadlineMs: number): void
  lose(): void
  /** Somebody wants its run to end. */
  cancel(): void
}

export interface HeartbeatOptions<B extends Beaten> {
  readonly clock: Clock
  readonly owner: string
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly marginMs: number
  /** Store call, bounded in time. */
  readonly renew: (request: RenewRequest) => Promise<RenewReply>
  readonly holdings: () => Iterable<B>
  /** Those to be renewed at this beat, where somebody else renews too. Default: all. */
  readonly due?: (held: readonly B[]) => readonly B[]
  /** How long to the next beat. Default: the heartbeat. */
  readonly beatMs?: () => number
}

/** Keeps the leases of everything this replica holds, in one call a beat: in a thread of its own, or on the event loop. */
export class Heartbeat<B extends Beaten> {
  readonly #options: HeartbeatOptions<B>
  #cancelTimer: Cancel | null = null
  #isBeating = false
  #isStopped = false

  constructor(options: HeartbeatOptions<B>) {
    this.#options = options
  }

  /** Something is held: beat, if it is not beating yet. */
  keep(): void {
    if (this.#cancelTimer === null && !this.#isBeating && !this.#isStopped) this.#beatIn(this.#usualMs())
  }

  /** Whoever else was renewing does not: no waiting for the next beat. */
  beatNow(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    if (!this.#isBeating && !this.#isStopped) void this.#beat()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  #beatIn(delayMs: number): void {
    this.#cancelTimer = this.#options.clock.after(delayMs, () => {
      this.#cancelTimer = null
      void this.#beat()
    })
  }

  async #beat(): Promise<void> {
    const held = [...this.#options.holdings()].filter(holding => !holding.isLost)
    if (held.length === 0 || this.#isStopped) return
    const due = this.#options.due?.(held) ?? held
    this.#isBeating = true
    const nextMs = due.length === 0 ? this.#usualMs() : await this.#renew(due)
    this.#isBeating = false
    if (!this.#isStopped) this.#beatIn(nextMs)
  }

  #usualMs(): number {
    return this.#options.beatMs?.() ?? this.#options.heartbeatMs
  }

  /** Returns when to beat again. */
  async #renew(held: readonly B[]): Promise<number> {
    const { clock, owner, leaseMs, heartbeatMs, marginMs, renew } = this.#options
    const sentAt = clock.elapsedMs()
    const byFence = new Map(held.map(holding => [`${holding.rowId}/${holding.fence}`, holding]))
    try {
      const leases = held.map(({ rowId, fence }) => ({ rowId, fence }))
      const reply = await renew({ owner, ttlMs: leaseMs, leases })
      let isBusy = false
      for (const renewed of reply.leases) {
        const holding = byFence.get(`${renewed.rowId}/${renewed.fence}`)
        if (holding === undefined) continue
        // S5: measured before the call, so a slow reply cannot lengthen trust
        apply(holding, renewed, sentAt + renewed.dueAt - reply.now - marginMs)
        isBusy ||= renewed.state === 'busy'
      }
      return isBusy ? heartbeatMs / 4 : this.#usualMs()
    } catch {
      // told of by the call itself; what was not renewed is given up at its deadline
      return heartbeatMs / 4
    }
  }
}

function apply(holding: Beaten, renewed: Renewed, deadlineMs: number): void {
  switch (renewed.state) {
    case 'held':
      holding.trustUntil(deadlineMs)
      if (renewed.cancelled) holding.cancel()
      return
    case 'busy':
      return
    case 'lost':
      holding.lose()
  }
}
