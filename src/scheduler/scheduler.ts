import type { Cancel } from '../domain/clock.ts'
import type { Instant } from '../domain/timetable.ts'
import { Heartbeats } from '../execution/heartbeats.ts'
import { Holding } from '../execution/holding.ts'
import type { Wakeup } from '../store/store.ts'
import { Calls, isHopeless } from './calls.ts'
import { type Asked, Claims } from './claims.ts'
import { Declarer } from './declarer.ts'
import { Housekeeping } from './housekeeping.ts'
import type { SchedulerOptions } from './options.ts'
import { Runner } from './runner.ts'
import { Settler } from './settler.ts'
import { StoreClock } from './store-clock.ts'

/** Pause before what others have left is asked for again; doubles while nothing is got. */
const leftoverPauseMs = 50

/**
 * One replica's loop: ask, run, settle, sleep until the store says that something is due.
 * Its clock only decides when to ask; what is due, and whose it is, the store decides.
 */
export class Scheduler {
  readonly #of: SchedulerOptions
  readonly #storeClock: StoreClock
  readonly #calls: Calls
  readonly #claims: Claims
  readonly #settler: Settler
  readonly #heartbeats: Heartbeats
  readonly #runner: Runner
  readonly #declarer: Declarer
  readonly #housekeeping: Housekeeping
  readonly #holdings: Map<number, Holding> = new Map()
  #wakeup: Wakeup | null = null
  #state: 'idle' | 'running' | 'draining' | 'stopped' = 'idle'
  #isAsking = false
  /** The ask that is under way, taken to its end; never rejects. */
  #underWay: Promise<void> = Promise.resolve()
  #askAgain = false
  #isFilled = false
  /** An ask was due while there was no room. */
  #isHeldBack = false
  #emptyAsks = 0
  /** What the next ask is aimed at; null: it is a poll. */
  #aim: Instant | null = null
  #askAtMs = Number.POSITIVE_INFINITY
  #cancelAsk: Cancel = () => undefined
  #cancelWatch: Cancel = () => undefined
  #lagMs = 0

  constructor(of: SchedulerOptions) {
    this.#of = of
    const { store, clock, random, events, timing, replica } = of
    const owner = replica.id
    this.#storeClock = new StoreClock(clock)
    this.#calls = new Calls({
      ...{ clock, storeClock: this.#storeClock, events, limitMs: timing.callTimeoutMs },
      onRecovered: () => this.#settler.hasten(),
    })
    this.#claims = new Claims({
      clock,
      random,
      storeClock: this.#storeClock,
      timing,
      owner,
      tasks: () => replica.tasks,
      send: request => this.#calls.send('claim', () => store.claim(request)),
    })
    this.#settler = new Settler({
      clock,
      random,
      owner,
      longestPauseMs: timing.pollMs,
      send: request => this.#calls.send('settle', () => store.settle(request)),
    })
    this.#heartbeats = new Heartbeats({
      ...{ clock, random, events, owner, timing, capacity: replica.capacity, startThread: of.startThread },
      holdings: () => this.#holdings.values(),
      renew: request => this.#calls.send('renew', () => store.renew(request)),
    })
    this.#runner = new Runner({
      ...of,
      settler: this.#settler,
      claims: this.#claims,
      holdings: this.#holdings,
      heartbeats: this.#heartbeats,
      storeClock: this.#storeClock,
      isDraining: () => this.#state !== 'running',
      onFree: dueAt => this.#onFree(dueAt),
    })
    this.#declarer = new Declarer({ ...of, calls: this.#calls })
    this.#housekeeping = new Housekeeping({ ...of, calls: this.#calls, declarer: this.#declarer })
  }

  get running(): number {
    return this.#holdings.size
  }

  /** The store's time, as its replies tell it. */
  storeNow(): Instant {
    return this.#storeClock.now()
  }

  /** Resolves once the store has been asked for the first time; where it does not answer, goes on trying. Rejects where trying again cannot help. */
  async start(): Promise<void> {
    if (this.#state !== 'idle') return
    this.#state = 'running'
    try {
      await this.#calls.first(() => this.#declarer.declareAll())
    } catch (error) {
      if (isHopeless(error)) {
        this.#state = 'stopped'
        throw error
      }
      this.#declarer.keepTrying(() => void this.#begin())
      return
    }
    await this.#begin()
  }

  /** Only once the jobs are declared: by then the store's clock is known, too. */
  async #begin(): Promise<void> {
    if (this.#state !== 'running') return
    this.#housekeeping.start()
    if (this.#of.replica.tasks.length === 0) return
    const ready = this.#heartbeats.start()
    if (ready !== null) await ready
    if (this.#state !== 'running') return
    void this.#listen()
    this.#askIn(0)
  }

  /**
   * No new claims from now on. Waits for what runs, at most `drainMs`; then tells it to stop, waits at most `graceMs`, and hands
   * back what has ended by then. A handler that ignores all this keeps its lease until that expires: nothing is ever let go
   * while its handler still runs here.
   */
  async stop({ drainMs, graceMs }: { drainMs: number; graceMs: number }): Promise<void> {
    if (this.#state === 'stopped' || this.#state === 'draining') return
    const wasRunning = this.#state === 'running'
    this.#state = 'draining'
    this.#cancelAsk()
    this.#cancelWatch()
    this.#housekeeping.stop()
    this.#declarer.stop()
    if (wasRunning) {
      this.#of.events.emit('draining', { running: this.#holdings.size })
      await this.#findLostClaim()
      if (!(await this.#runner.idle(drainMs))) {
        for (const holding of this.#holdings.values()) holding.abort('draining')
        await this.#runner.idle(graceMs)
      }
      await this.#leave()
    }
    this.#state = 'stopped'
    await this.#heartbeats.stop()
    this.#settler.stop()
    for (const holding of this.#holdings.values()) holding.release()
    await this.#wakeup?.close().catch(() => undefined)
    this.#of.events.emit('stopped', {})
  }

  /** An ask under way, or a lost one, may hold leases: looked up with room for none, they come back here and are handed back. */
  async #findLostClaim(): Promise<void> {
    await this.#underWay
    if (!this.#claims.isUnsure) return
    try {
      await this.#take(await this.#claims.ask({ limit: 0, except: [], presence: this.#presence() }))
    } catch {
      // they expire
    }
  }

  async #leave(): Promise<void> {
    const { store, replica } = this.#of
    try {
      await this.#calls.send('leave', () => store.control({ kind: 'leave', replicaId: replica.id }))
    } catch {
      // the store forgets it by its age
    }
  }

  async #listen(): Promise<void> {
    try {
      this.#wakeup = await this.#of.store.wake(() => this.#askIn(0))
      if (this.#state === 'stopped') await this.#wakeup.close()
    } catch {
      // polling alone is correct
    }
  }

  /** Asks in `delayMs`, or sooner where that was planned. */
  #askIn(delayMs: number, aim: Instant | null = null): void {
    if (this.#state !== 'running') return
    const atMs = this.#of.clock.elapsedMs() + Math.max(0, delayMs)
    if (atMs >= this.#askAtMs) return
    this.#cancelAsk()
    this.#askAtMs = atMs
    this.#aim = aim
    this.#cancelAsk = this.#of.clock.after(delayMs, () => {
      this.#lagMs = Math.max(0, this.#of.clock.elapsedMs() - atMs)
      this.#askAtMs = Number.POSITIVE_INFINITY
      this.#ask()
    })
  }

  #askNow(): void {
    this.#askAtMs = Number.POSITIVE_INFINITY
    this.#askIn(0)
  }

  #ask(): void {
    if (this.#state !== 'running') return
    if (this.#isAsking) {
      this.#askAgain = true
      return
    }
    const limit = this.#of.replica.capacity - this.#holdings.size
    // a full replica asks when a slot is free; until then only the heartbeat speaks
    this.#isHeldBack = limit <= 0 && !this.#claims.isUnsure
    if (!this.#isHeldBack) this.#underWay = this.#askFor(limit)
  }

  async #askFor(limit: number): Promise<void> {
    const { timing, random, events } = this.#of
    const aim = this.#aim
    this.#isAsking = true
    try {
      const asked = await this.#claims.ask({ limit: Math.max(0, limit), except: this.#rowsInUse(), presence: this.#presence() })
      await this.#take(asked)
      if (asked.fresh.length === 0 && aim !== null) events.emit('stoodBy', { dueAt: aim })
      // more was due than there was room for: the next ask need not wait for the leftovers of others
      this.#isFilled = asked.reply.moreDue && asked.fresh.length >= limit
      this.#planNextAsk(asked)
    } catch {
      // S7: under the same id, soon; the call itself has told of the failure
      this.#emptyAsks++
      this.#askIn(Math.min(leftoverPauseMs * 2 ** Math.min(this.#emptyAsks, 6), timing.pollMs) * (0.5 + random.next()))
    } finally {
      this.#isAsking = false
      if (this.#askAgain) {
        this.#askAgain = false
        this.#askIn(0)
      }
    }
  }

  /** L5: not given to oneself again. L3: but for what was claimed in vain, its plan unanswered until the lease was over. */
  #rowsInUse(): number[] {
    return [...this.#holdings.values()].filter(holding => !holding.isPlanning || holding.isTrusted()).map(({ rowId }) => rowId)
  }

  async #take({ reply, fresh, sentAtMs }: Asked): Promise<void> {
    const { clock, timing } = this.#of
    for (const grant of fresh) {
      // S5: counted from before the ask was sent
      const holding = new Holding(grant.row, sentAtMs + grant.row.dueAt - reply.now - timing.marginMs, clock)
      this.#runner.take(holding, grant, reply.now)
    }
  }

  #planNextAsk({ reply, fresh, wasLookup }: Asked): void {
    const { timing } = this.#of
    const isQuiet = this.#wakeup?.live() === true && !reply.anyLeased && this.#holdings.size === 0
    this.#emptyAsks = fresh.length > 0 || !reply.moreDue ? 0 : this.#emptyAsks + 1
    if (isQuiet) this.#sleepQuietly(timing.quietPollMs)
    else this.#askIn(timing.pollMs)
    if (reply.nextDueAt !== Number.POSITIVE_INFINITY) this.#askIn(this.#storeClock.delayUntil(reply.nextDueAt), reply.nextDueAt)
    if (reply.moreDue) this.#askIn(wasLookup ? 0 : Math.min(leftoverPauseMs * 2 ** Math.min(this.#emptyAsks, 10), timing.pollMs))
  }

  /**
   * Long sleep without asking, for as long as wake-ups arrive: looked at as often as it would be asked otherwise. A machine that was
   * suspended meanwhile finds here that the instant it aimed at has passed, while its timer still runs.
   */
  #sleepQuietly(leftMs: number): void {
    const { clock, timing } = this.#of
    this.#askIn(leftMs)
    this.#cancelWatch()
    this.#cancelWatch = clock.after(timing.pollMs, () => {
      if (this.#wakeup?.live() !== true || clock.elapsedMs() > this.#askAtMs) this.#askNow()
      else if (leftMs > timing.pollMs) this.#sleepQuietly(leftMs - timing.pollMs)
    })
  }

  /** A slot is free again, and its row is due at `dueAt` next. */
  #onFree(dueAt: Instant): void {
    if (dueAt !== Number.POSITIVE_INFINITY) this.#askIn(this.#storeClock.delayUntil(dueAt))
    const isRoomy = this.#holdings.size <= this.#of.replica.capacity / 2
    if (this.#isHeldBack || (this.#isFilled && isRoomy)) this.#askIn(0)
  }

  #presence(): { running: number; draining: boolean; clockOffsetMs: number; loopLagMs: number } {
    return {
      running: this.#holdings.size,
      draining: this.#state !== 'running',
      clockOffsetMs: this.#storeClock.hostAheadMs(),
      loopLagMs: Math.round(this.#lagMs),
    }
  }
}
