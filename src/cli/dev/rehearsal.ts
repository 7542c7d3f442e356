import type { Cancel } from '../../domain/clock.ts'
import type { Instant } from '../../domain/timetable.ts'
import { onStopSignal } from '../../platform/host.ts'
import type { Ending } from '../../platform/processes.ts'
import { systemClock, systemRandom } from '../../platform/system.ts'
import { compileSchedule } from '../../schedule/index.ts'
import { StoreClock } from '../../scheduler/store-clock.ts'
import type { RunView, Store } from '../../store/store.ts'
import { exitCodes, FailedElsewhere } from '../failure.ts'
import type { Session } from '../session.ts'
import { oneLine } from '../text.ts'
import type { Told } from '../told.ts'
import { type Audit, auditOf } from './audit.ts'
import { Fleet } from './fleet.ts'
import { History } from './history.ts'
import { Killer, longestBiteMs } from './killer.ts'
import { settled, unsettledIn, wholeLedger } from './ledger.ts'
import type { FromReplica } from './messages.ts'
import type { DevPlan } from './plan.ts'
import { Screen } from './screen.ts'

/** Longest that the end waits for takeovers, in leases. */
const settleLeases = 5
/** Longest that it waits for what runs. */
const drainLimitMs = 120_000

/** One call of `onetick dev`: a fleet, somebody who kills, a screen, and an account of it all. */
export class Rehearsal {
  readonly #session: Session
  readonly #plan: DevPlan
  readonly #store: Store
  readonly #storeClock: StoreClock = new StoreClock(systemClock)
  readonly #screen: Screen
  readonly #history: History = new History()
  readonly #fleet: Fleet
  readonly #killer: Killer
  /** By label: the id of its present boot, and whether we have killed it. */
  readonly #ids: Map<string, string> = new Map()
  readonly #killed: Set<string> = new Set()
  readonly #seen: Set<string> = new Set()
  /** How long each job's last run took. */
  readonly #tookMs: Map<string, number> = new Map()
  #kills = 0
  #firstUp: (failure: Error | null) => void = () => undefined

  constructor(session: Session, plan: DevPlan) {
    this.#session = session
    this.#plan = plan
    this.#store = plan.own.store
    this.#screen = new Screen(session.out, session.times, plan)
    this.#fleet = new Fleet({
      clock: systemClock,
      orders: plan.orders,
      onMessage: (label, message) => this.#heard(label, message),
      onLine: (label, line) => this.#screen.printed(label, this.#storeClock.now(), line),
      onEnded: (label, ending, wasAsked) => this.#ended(label, ending, wasAsked),
    })
    this.#killer = new Killer({
      clock: systemClock,
      random: systemRandom,
      everyMs: plan.killEveryMs,
      up: () => this.#fleet.up,
      kill: label => this.#kill(label),
      isBusy: label => this.#running(label).length > 0,
    })
  }

  async run(): Promise<number> {
    try {
      await this.#session.bounded('migrate', () => this.#store.migrate('apply'), 60_000)
      const stopping = this.#untilStopped()
      const begun = await this.#storeNow()
      this.#screen.header(this.#plan, this.#store.location)
      const isUp = new Promise<void>((resolve, reject) => {
        this.#firstUp = failure => (failure === null ? resolve() : reject(failure))
      })
      this.#fleet.start()
      await Promise.race([isUp, stopping])
      const up = await this.#storeNow()
      this.#killer.start()
      await stopping
      this.#killer.stop()
      const until = await this.#storeNow()
      await this.#stop(until)
      const lines = await wholeLedger(this.#session, this.#store)
      const from = startOf(lines, begun, up)
      const audit = await this.#audit(from, until, lines)
      this.#screen.audit(audit, { from, until, kills: this.#kills, look: this.#plan.look })
      return audit.isClean ? exitCodes.ok : exitCodes.difference
    } finally {
      await this.#fleet.stop(drainLimitMs)
      await this.#store.close().catch(() => undefined)
    }
  }

  /** A signal, or the end of --for. A second signal ends the process at once, and its children with it. */
  #untilStopped(): Promise<void> {
    const { forMs } = this.#plan
    return new Promise(resolve => {
      let cancel: Cancel = () => undefined
      if (forMs !== null) cancel = systemClock.after(forMs, resolve)
      onStopSignal(() => {
        cancel()
        resolve()
        // the command ends the process, with its own code
        return new Promise(() => undefined)
      })
    })
  }

  async #stop(until: Instant): Promise<void> {
    this.#screen.note('\nStopping: what is due is brought to its end first. Ctrl-C again ends at once, without an audit.')
    await settled(this.#session, this.#store, {
      clock: systemClock,
      until,
      limitMs: settleLeases * this.#plan.leaseMs,
      isLive: id => this.#fleet.up.some(label => this.#ids.get(label) === id),
    })
    await this.#fleet.stop(drainLimitMs)
  }

  async #audit(from: Instant, until: Instant, lines: readonly RunView[]): Promise<Audit> {
    const jobs = this.#plan.own.declared.map(({ name, definition }) => ({ name, schedule: definition.schedule }))
    const unsettled = await unsettledIn(this.#session, this.#store)
    return auditOf({ jobs, from, until, unsettled, lines, runs: this.#history.runs, compile: compileSchedule })
  }

  async #storeNow(): Promise<Instant> {
    const { now } = await this.#session.bounded('status', () => this.#store.read('status', {}))
    this.#storeClock.observe(now)
    return now
  }

  #heard(label: string, message: FromReplica): void {
    switch (message.kind) {
      case 'named':
        this.#ids.set(label, message.replicaId)
        break
      case 'up':
        this.#up(label)
        break
      case 'cannotStart':
        this.#say(label, { event: 'cannotStart', sign: '!', word: 'no start', tone: 'bad', note: message.failure.message })
        this.#firstUp(new FailedElsewhere(message.failure))
        break
      case 'told':
        this.#told(label, message.told)
        break
      case 'returned':
        this.#history.returned(this.#idOf(label), message)
    }
  }

  #up(label: string): void {
    const isBack = this.#seen.has(label)
    this.#seen.add(label)
    this.#firstUp(null)
    this.#say(label, { event: 'up', sign: '·', word: isBack ? 'back' : 'up', tone: 'quiet', note: isBack ? 'started again' : '' })
  }

  #told(label: string, told: Told): void {
    const id = this.#idOf(label)
    if (told.name === 'started') this.#history.started(id, told.event)
    if (told.name === 'settled' || told.name === 'fencedOff') this.#history.heard(id, told.event)
    // how each ends is not what people came to see
    if (told.name !== 'stopped' && !(told.name === 'draining' && told.event.running === 0)) this.#screen.told(label, told)
    if (told.name === 'settled') this.#tookMs.set(told.event.job, told.event.durationMs)
    if (told.name === 'started') this.#killer.onStarted(label, this.#biteMs(told.event.job))
  }

  #biteMs(job: string): number {
    return Math.min(longestBiteMs, Math.floor((this.#tookMs.get(job) ?? 0) / 4))
  }

  #kill(label: string): void {
    const jobs = this.#running(label).map(({ job }) => job)
    this.#kills++
    this.#killed.add(label)
    this.#fleet.kill(label)
    const note = jobs.length === 0 ? 'SIGKILL, while it ran nothing' : `SIGKILL, while it ran ${jobs.map(oneLine).join(' and ')}`
    this.#say(label, { event: 'killed', sign: '✗', word: 'killed', tone: 'bad', note })
  }

  #ended(label: string, { code, signal }: Ending, wasAsked: boolean): void {
    if (wasAsked) return
    this.#history.killed(this.#idOf(label))
    if (this.#killed.delete(label)) return
    const how = signal === null ? `code ${code}` : signal
    this.#say(label, { event: 'ended', sign: '!', word: 'ended', tone: 'bad', note: `by itself, ${how}; starts again` })
  }

  #say(label: string, what: Parameters<Screen['process']>[2]): void {
    this.#screen.process(label, this.#storeClock.now(), what)
  }

  #running(label: string): ReturnType<History['runningOn']> {
    return this.#history.runningOn(this.#idOf(label))
  }

  /** Told of before anything else it says, but for a replica that cannot start. */
  #idOf(label: string): string {
    return this.#ids.get(label) ?? label
  }
}

/** A replica may run something before it tells that it is up, and then all jobs were declared. Just before that, else when it was up. */
function startOf(lines: readonly RunView[], begun: Instant, up: Instant): Instant {
  const early = lines.filter(({ cause, scheduledAt }) => cause === '' && scheduledAt > begun)
  return early.reduce((from, { scheduledAt }) => Math.min(from, scheduledAt - 1), up)
}
