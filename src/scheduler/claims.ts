import type { Clock, Random } from '../domain/clock.ts'
import type { Instant } from '../domain/timetable.ts'
import type { ClaimReply, ClaimRequest, Grant } from '../store/store.ts'
import type { StoreClock } from './store-clock.ts'
import type { Timing } from './timing.ts'

export interface Asked {
  readonly reply: ClaimReply
  /** Grants that this replica has not been told of before. */
  readonly fresh: readonly Grant[]
  /** On the clock's elapsed time: trust is counted from here (S5). */
  readonly sentAtMs: number
  /** It only looked for what an unanswered ask before it had been given, and is the last that had to. */
  readonly wasLookup: boolean
}

type Question = Pick<ClaimRequest, 'limit' | 'except' | 'presence'>

/**
 * The replica's asks, one at a time. S7: an ask whose reply was lost is repeated under the same id, which finds again what
 * it was given, until the store would refuse it for its age; only then comes a new id.
 */
export class Claims {
  readonly #clock: Clock
  readonly #random: Random
  readonly #storeClock: StoreClock
  readonly #timing: Timing
  readonly #send: (request: ClaimRequest) => Promise<ClaimReply>
  readonly #owner: string
  readonly #tasks: () => readonly string[]
  #claimId: string
  /** An ask under this id that may still reach the store could do so until then. */
  #unsureUntil: Instant | null = null
  readonly #told: Set<string> = new Set()

  constructor(of: {
    clock: Clock
    random: Random
    storeClock: StoreClock
    timing: Timing
    owner: string
    tasks: () => readonly string[]
    send: (request: ClaimRequest) => Promise<ClaimReply>
  }) {
    this.#clock = of.clock
    this.#random = of.random
    this.#storeClock = of.storeClock
    this.#timing = of.timing
    this.#owner = of.owner
    this.#tasks = of.tasks
    this.#send = of.send
    this.#claimId = of.random.id()
  }

  /** The id of the last ask. */
  get claimId(): string {
    return this.#claimId
  }

  /** Some ask has not been answered: what it was given, if anything, is still to be found. */
  get isUnsure(): boolean {
    return this.#unsureUntil !== null
  }

  /** Rejects where the store did not answer; ask again soon. */
  async ask(question: Question): Promise<Asked> {
    if (this.#unsureUntil === null) this.#renewId()
    const sentAtMs = this.#clock.elapsedMs()
    const notAfter = this.#storeClock.now() + this.#timing.callTimeoutMs
    const unsureBefore = this.#unsureUntil
    this.#unsureUntil = notAfter
    const reply = await this.#send({
      owner: this.#owner,
      claimId: this.#claimId,
      tasks: this.#tasks(),
      ttlMs: this.#timing.leaseMs,
      notAfter,
      liveForMs: this.#timing.liveForMs,
      ...question,
    })
    // this ask is answered; an earlier one under the same id may still be under way
    this.#unsureUntil = unsureBefore !== null && reply.now <= unsureBefore ? unsureBefore : null
    const fresh = reply.grants.filter(grant => this.isNews(grant))
    return { reply, fresh, sentAtMs, wasLookup: unsureBefore !== null && this.#unsureUntil === null }
  }

  #renewId(): void {
    this.#claimId = this.#random.id()
    this.#told.clear()
  }

  /**
   * A repeated ask may be answered with a lease that was run and settled since, or with the extra row of a plan whose own
   * reply is still under way: each is told of once, whichever way it comes.
   */
  isNews({ row }: Grant): boolean {
    const key = `${row.id}/${row.fence}`
    if (this.#told.has(key)) return false
    this.#told.add(key)
    return true
  }
}
