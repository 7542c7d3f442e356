import type { Clock, Random } from '../domain/clock.ts'
import type { Emitter } from '../domain/events.ts'
import type { RenewReply, RenewRequest } from '../store/store.ts'
import { Heartbeat } from './heartbeat.ts'
import { type Beats, HeartbeatThread, type StartThread } from './heartbeat-thread.ts'
import type { Holding } from './holding.ts'

/** Leases of extra rows beyond the replica's room. */
const spareSlots = 64

/** A replica's two heartbeats: the thread's, and the loop's for whatever the thread does not renew. */
export class Heartbeats {
  readonly #loop: Heartbeat<Holding>
  readonly #thread: HeartbeatThread | null

  constructor(of: {
    readonly clock: Clock
    readonly random: Random
    readonly events: Emitter
    readonly owner: string
    readonly timing: Beats
    readonly capacity: number
    /** Null: the loop alone renews. */
    readonly startThread: StartThread | null
    /** The loop's way to the store, bounded in time. */
    readonly renew: (request: RenewRequest) => Promise<RenewReply>
    readonly holdings: () => Iterable<Holding>
  }) {
    const { startThread, capacity, ...both } = of
    const slots = 2 * capacity + spareSlots
    const thread = startThread && new HeartbeatThread({ ...both, slots, start: startThread, onGone: () => this.#loop.beatNow() })
    this.#thread = thread
    const beside = thread === null ? {} : { due: (held: readonly Holding[]) => thread.due(held), beatMs: () => thread.beatMs() }
    this.#loop = new Heartbeat({ ...both, ...of.timing, ...beside })
  }

  /** Null: there is no thread to wait for. */
  start(): Promise<void> | null {
    return this.#thread?.start() ?? null
  }

  hold(holding: Holding): void {
    this.#thread?.hold(holding)
    this.#loop.keep()
  }

  drop(holding: Holding): void {
    this.#thread?.drop(holding)
  }

  async stop(): Promise<void> {
    this.#loop.stop()
    await this.#thread?.stop()
  }
}
