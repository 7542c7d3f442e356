import type { Cancel, Clock } from '../domain/clock.ts'
import type { Renewed, RenewReply, RenewRequest } from '../store/store.ts'
import type { Holding } from './holding.ts'

export interface HeartbeatOptions {
  readonly clock: Clock
  readonly owner: string
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly marginMs: number
  /** Store call, bounded in time. */
  readonly renew: (request: RenewRequest) => Promise<RenewReply>
  readonly holdings: () => Iterable<Holding>
}

/** Keeps the leases of everything this replica holds, in one call a beat. Here on the event loop. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #cancelTimer: Cancel | null = null
  #isBeating = false
  #isStopped = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  /** Something is held: beat, if it is not beating yet. */
  keep(): void {
    if (this.#cancelTimer === null && !this.#isBeating && !this.#isStopped) this.#beatIn(this.#options.heartbeatMs)
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
    this.#isBeating = true
    const nextMs = await this.#renew(held)
    this.#isBeating = false
    if (!this.#isStopped) this.#beatIn(nextMs)
  }

  /** Returns when to beat again. */
  async #renew(held: readonly Holding[]): Promise<number> {
    const { clock, owner, leaseMs, heartbeatMs, marginMs, renew } = this.#options
    const sentAt = clock.elapsedMs()
    const byFence = new Map(held.map(holding => [`${holding.row.id}/${holding.row.fence}`, holding]))
    try {
      const leases = held.map(({ row }) => ({ rowId: row.id, fence: row.fence }))
      const reply = await renew({ owner, ttlMs: leaseMs, leases })
      let isBusy = false
      for (const renewed of reply.leases) {
        const holding = byFence.get(`${renewed.rowId}/${renewed.fence}`)
        if (holding === undefined) continue
        // S5: measured before the call, so a slow reply cannot lengthen trust
        apply(holding, renewed, sentAt + renewed.dueAt - reply.now - marginMs)
        isBusy ||= renewed.state === 'busy'
      }
      return isBusy ? heartbeatMs / 4 : heartbeatMs
    } catch {
      // told of by the call itself; what was not renewed is given up at its deadline
      return heartbeatMs / 4
    }
  }
}

function apply(holding: Holding, renewed: Renewed, deadlineMs: number): void {
  switch (renewed.state) {
    case 'held':
      holding.trustUntil(deadlineMs)
      if (renewed.cancelled) holding.abort('cancelled')
      return
    case 'busy':
      return
    case 'lost':
      holding.lose()
  }
}
