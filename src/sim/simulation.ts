import { compileSchedule } from '../schedule/index.ts'
import { type Timing, timingOf } from '../scheduler/timing.ts'
import type { Store } from '../store/store.ts'
import { Chance } from './chance.ts'
import { Counters } from './counters.ts'
import { calm, handlerOf, type Temper } from './handler.ts'
import type { HandlerRun, HealthySpan, History, HistoryEvent } from './history.ts'
import { Host } from './host.ts'
import { fine, Link, type Weather } from './link.ts'
import type { Mutant } from './mutants/mutant.ts'
import { RecordingStore } from './recording.ts'
import { type Release, Replica } from './replica.ts'
import { type Fault, type Scenario, scenarioOf } from './scenario.ts'
import { Server } from './server.ts'
import { told } from './telling.ts'
import { type Turn, World } from './world.ts'

export interface SimulationOptions {
  readonly seed: number
  readonly turn: Turn
  readonly mutant?: Mutant | undefined
  /** Minutes of chaos, by hand. */
  readonly minutes?: number | null
  readonly onTrace?: ((line: string) => void) | undefined
}

/** The test profile: a lease of 3 s, a heartbeat of 1 s; a call may take 0.5 s, a poll comes every 0.5 s. */
const profile = { lease: '3s', heartbeat: '1s' } as const

/** One seed's world: a store, its replicas, and what is done to them. */
export class Simulation {
  readonly world: World
  readonly server: Server
  readonly chance: Chance
  readonly scenario: Scenario
  readonly timing: Timing = timingOf(profile)
  readonly counters: Counters = new Counters()
  readonly history: History
  /** What all replicas and people speak to. */
  readonly store: Store
  readonly replicas: Set<Replica> = new Set()
  readonly releases: Release[]
  readonly wallAheadMs: Map<string, () => number> = new Map()
  readonly #spans: Map<Replica, HealthySpan> = new Map()
  readonly #mutant: Mutant | undefined
  readonly #onTrace: ((line: string) => void) | undefined
  /** Where the chance of a fault at a hook stands; none once healed. */
  isChaos = true
  weather: Weather = fine
  #born = 0

  constructor({ seed, turn, mutant, minutes = null, onTrace }: SimulationOptions) {
    this.chance = new Chance(seed)
    this.scenario = scenarioOf(this.chance.fork(), minutes)
    this.world = new World({ nowMs: this.scenario.startsAtMs, chance: this.chance.fork(), turn })
    this.server = new Server(this.world)
    this.releases = [this.scenario.release]
    this.#mutant = mutant
    this.#onTrace = onTrace
    const { leaseMs, heartbeatMs, callTimeoutMs, pollMs, liveForMs } = this.timing
    this.history = {
      ...{ leaseMs, heartbeatMs, callTimeoutMs, pollMs, liveForMs },
      ...{ events: [], runs: [], healthy: [], ledger: [], healedAt: 0, endedAt: 0, lostSuffix: false, repeated: new Set() },
    }
    const { server, world } = this
    const wallOf = (owner: string): number => Math.floor(world.nowMs + (this.wallAheadMs.get(owner)?.() ?? 0))
    const base = mutant?.server?.(server.store, { server, world, wallOf }) ?? server.store
    this.store = new RecordingStore(base, this.history, event => this.#onEvent(event))
  }

  get newest(): Release {
    return this.releases.at(-1) as Release
  }

  has(fault: Fault): boolean {
    return this.isChaos && this.scenario.faults.includes(fault)
  }

  trace(line: string): void {
    this.#onTrace?.(`${this.#atText()}  ${line}`)
  }

  count(name: Parameters<Counters['add']>[0]): void {
    this.counters.add(name)
  }

  record(event: HistoryEvent): void {
    this.history.events.push(event)
    this.#onEvent(event)
  }

  /** A process with this release on a machine of its own. */
  launch(release: Release): Replica {
    const { world, server, chance, timing, history } = this
    const id = `r${++this.#born}`
    const own = chance.fork()
    const hardware = {
      wallAheadMs: this.#skew(own),
      rate: this.has('drift') ? own.between(0.95, 1.05) : own.between(0.9999, 1.0001),
      timerLateMs: this.scenario.timerLateMs,
    }
    const host = new Host({ world, chance: own.fork(), hardware, onChange: () => this.#observe(replica) })
    this.wallAheadMs.set(id, () => host.clock.now() - world.nowMs)
    const link = new Link({
      ...{ world, chance: own.fork(), host, server, store: this.store, limitMs: timing.callTimeoutMs },
      events: {
        onLost: what => this.count(what === 'reply' ? 'lostReply' : 'lostRequest'),
        onLate: () => this.count('lateRequest'),
        onRepeated: claimId => history.repeated.add(claimId),
        onClaimed: (reply, sentAtMs) => {
          replica.hasAsked = true
          this.record({ kind: 'answered', at: server.now(), sentAt: Math.floor(sentAtMs), replica: id })
          for (const { row } of reply.grants) this.record(told(server.now(), id, row))
          if (reply.grants.length > 0) this.#atGrant(replica)
        },
        onSettled: (_request, reply) => {
          for (const result of reply.results) {
            if (result.kind === 'granted') this.record(told(server.now(), id, result.grant.row))
            if (result.kind === 'stale') this.count('stalePlan')
            if (result.kind === 'already') this.count('settledBefore')
          }
        },
      },
    })
    link.weather = this.weather
    const store = this.#mutant?.client?.(link, { id, host, server, chance: own.fork(), marginMs: timing.marginMs }) ?? link
    const handler = handlerOf({
      ...{ clock: host.clock, chance: own.fork(), replica: id, history, now: () => server.now() },
      temper: job => this.#temper(job),
      onStart: run => this.trace(`${id} starts ${run.job} ${nameOf(run)}`),
      onEnd: run => this.#atEnd(replica, run),
    })
    const capacity = own.pick([1, 2, 3, 10])
    const replica: Replica = new Replica({
      id,
      host,
      link,
      store,
      chance: own,
      release,
      timing,
      compile: compileSchedule,
      capacity,
      handler,
    })
    this.replicas.add(replica)
    this.#watch(replica)
    this.trace(`${id} launched, capacity ${capacity}`)
    replica.start().catch(error => this.unexpected(`start of ${id}`, error))
    return replica
  }

  async crash(replica: Replica): Promise<void> {
    if (!this.replicas.delete(replica)) return
    this.trace(`${replica.id} crashes`)
    if (replica.running > 0) this.count('crashMidRun')
    await replica.crash()
    this.#observe(replica)
    if (this.replicas.size === 0) this.count('allDown')
  }

  /** SIGTERM; the process is gone when the scheduler says so. */
  async drain(replica: Replica, limits: { readonly drainMs: number; readonly graceMs: number }): Promise<void> {
    if (!this.replicas.has(replica) || replica.isDraining) return
    this.trace(`${replica.id} drains with ${replica.running} held`)
    if (replica.running > 0) this.count('drainedMidRun')
    const stopping = replica.stop(limits)
    this.#observe(replica)
    await stopping
    await this.crash(replica)
  }

  /** The network of all replicas. */
  setWeather(weather: Weather): void {
    this.weather = weather
    for (const { link } of this.replicas) link.weather = weather
    this.observeAll()
  }

  observeAll(): void {
    for (const replica of this.replicas) this.#observe(replica)
  }

  unexpected(where: string, error: unknown): void {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    this.counters.unexpected.push(`${where}: ${text}`)
    this.trace(`UNEXPECTED ${where}: ${text}`)
  }

  end(): void {
    for (const span of this.#spans.values()) span.until = this.server.now()
    this.history.endedAt = this.server.now()
    this.history.ledger = this.server.book.lines
  }

  #skew(chance: Chance): number {
    return this.has('skew')
      ? chance.pick([-90_000_000, -3_600_000, -2000, -400, 40, 700, 4000, 3_600_000, 90_000_000])
      : chance.between(-5, 5)
  }

  #temper(job: string): Temper {
    return (this.isChaos ? this.scenario.tempers.get(job) : undefined) ?? calm
  }

  #atGrant(replica: Replica): void {
    if (this.has('crashAtGrant') && this.chance.yes(0.04)) void this.crash(replica)
    else if (this.has('pauseAtGrant') && this.chance.yes(0.04)) replica.host.pause(this.chance.between(1000, 9000))
    else if (this.has('deafAtGrant') && this.chance.yes(0.3)) this.#deafen(replica.link)
  }

  /** A link that goes silent and mends one way first. */
  #deafen(link: Link): void {
    const { world, chance } = this
    this.count('deaf')
    const silentMs = chance.between(1200, 2400)
    const turn = (state: Link['state']): void => {
      link.state = state
      this.observeAll()
    }
    turn('blackhole')
    world.after(silentMs, () => this.isChaos && turn('deaf'))
    world.after(silentMs + chance.between(300, 900), () => turn('open'))
  }

  #atEnd(replica: Replica, run: HandlerRun): void {
    this.trace(`${replica.id} ends ${run.job} ${nameOf(run)}${run.abortedAt === null ? '' : ', aborted'}`)
    if (run.abortedAt !== null) this.count('abortedZombie')
    if (this.has('crashAtEnd') && this.chance.yes(0.05)) void this.crash(replica)
    else if (this.has('pauseAtEnd') && this.chance.yes(0.05)) replica.host.pause(this.chance.between(1000, 9000))
  }

  #watch({ id, events }: Replica): void {
    events.on('storeFailed', ({ during, error, code }) => {
      if (code === null) this.unexpected(`${during} of ${id}`, error)
    })
    events.on('planFailed', ({ error }) => this.unexpected(`plan of ${id}`, error))
    events.on('listenerFailed', ({ error }) => this.unexpected(`listener of ${id}`, error))
    events.on('overruled', () => this.count('overruled'))
    events.on('fencedOff', () => this.count('fencedOff'))
    events.on('started', ({ takenOverFrom }) => takenOverFrom !== null && this.count('takeover'))
    events.on('settled', ({ verdict }) => verdict === null && this.count('retryOrHandBack'))
    events.on('judged', ({ verdict, reason }) => {
      this.count(`${verdict}:${reason}`)
    })
  }

  #observe(replica: Replica): void {
    const span = this.#spans.get(replica)
    const isHealthy = this.replicas.has(replica) && replica.isHealthy
    if (isHealthy === (span !== undefined)) return
    if (span !== undefined) {
      span.until = this.server.now()
      this.#spans.delete(replica)
      return
    }
    const begun = { replica: replica.id, from: this.server.now(), until: Number.POSITIVE_INFINITY }
    this.#spans.set(replica, begun)
    this.history.healthy.push(begun)
  }

  #onEvent(event: HistoryEvent): void {
    this.counters.see(event)
    if (this.#onTrace === undefined || event.kind === 'answered') return
    const { kind, at: _at, ...rest } = event
    this.trace(`store: ${kind} ${JSON.stringify(rest, (key, value) => (key === 'definition' ? value.schedule : value))}`)
  }

  #atText(): string {
    return ((this.world.nowMs - this.scenario.startsAtMs) / 1000).toFixed(3).padStart(9)
  }
}

function nameOf({ cause, scheduledAt, attempt, fence }: HandlerRun): string {
  return `${cause}/${scheduledAt} attempt ${attempt} fence ${fence}`
}
