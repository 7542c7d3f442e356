import type { Clock, Random } from '../domain/clock.ts'
import { type Duration, parseDuration } from '../domain/duration.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import { Emitter, type Events, type Listener } from '../domain/events.ts'
import { checkName } from '../domain/name.ts'
import type { Instant } from '../domain/timetable.ts'
import { version } from '../domain/version.ts'
import type { Handler } from '../execution/context.ts'
import { hostName, onStopSignal, replicaId, warn } from '../platform/host.ts'
import { systemClock, systemRandom } from '../platform/system.ts'
import { assertFires, compileSchedule } from '../schedule/index.ts'
import { openStore, type StoreSource } from '../store/open.ts'
import type { Replica, Store } from '../store/store.ts'
import { definitionOf, type JobOptions } from './job-options.ts'
import { type Declarable, declarable, declarationAt, Jobs } from './jobs.ts'
import { Scheduler } from './scheduler.ts'
import { type Timing, type TimingOptions, timingOf } from './timing.ts'
import { unheard } from './unheard.ts'

export interface OnetickOptions extends TimingOptions {
  /** `sqlite:PATH`, `postgres://…`, `memory:`, a pg Pool, or an opened store. Left out: `ONETICK_STORE_MISSING` at `start`. */
  readonly store?: StoreSource | undefined
  /** Apps with different namespaces on one database do not see each other. Default `default`. */
  readonly namespace?: string
  /** `all`: declares, claims and runs. `client`: an API pod of the same image that triggers but never claims. Default `all`. */
  readonly role?: 'all' | 'client'
  /** Runs at a time on this replica. Default 10. */
  readonly concurrency?: number
  /** How long `stop()` waits for what runs. Default 25 s. */
  readonly drainTimeout?: Duration
  /** How long a handler may take to heed its aborted signal. Default 10 s. */
  readonly abortGrace?: Duration
  /** Whether `start` brings the schema up to date. Default true; false: `ONETICK_STORE_NOT_MIGRATED` where it is not. */
  readonly migrate?: boolean
  /** The first part of the replica's id. Default: `POD_NAME`, else the host's name. */
  readonly replica?: string
  /** Time and chance, for tests. */
  readonly clock?: Clock
  readonly random?: Random
}

const knownOptions: readonly (keyof OnetickOptions)[] = [
  ...(['lease', 'heartbeat', 'store', 'namespace', 'role', 'concurrency', 'drainTimeout'] as const),
  ...(['abortGrace', 'migrate', 'replica', 'clock', 'random'] as const),
]

/** Scheduled jobs on many identical replicas: each occurrence is run by one of them. */
export class Onetick {
  readonly #options: OnetickOptions
  readonly #timing: Timing
  readonly #clock: Clock
  readonly #events: Emitter = new Emitter(unheard(warn))
  readonly #jobs: Jobs = new Jobs()
  readonly #replicaId: string
  readonly #capacity: number
  readonly #drainMs: number
  readonly #graceMs: number
  #store: Store | null = null
  #scheduler: Scheduler | null = null
  #starting: Promise<void> | null = null
  #stopping: Promise<void> | null = null
  #heedNoSignals: () => void = () => undefined

  /** Throws `ONETICK_DURATION` or `ONETICK_OPTION` on options that cannot be. Connects to nothing yet. */
  constructor(options: OnetickOptions = {}) {
    refuseUnknown('Onetick', options, knownOptions)
    if (options.namespace !== undefined) checkName('The namespace', options.namespace)
    if (options.migrate !== undefined && typeof options.migrate !== 'boolean') {
      throw new OnetickError('ONETICK_OPTION', `migrate is ${quoted(options.migrate)}; it may be true or false.`)
    }
    this.#options = options
    this.#timing = timingOf(options)
    this.#clock = options.clock ?? systemClock
    this.#capacity = options.concurrency ?? 10
    if (!Number.isInteger(this.#capacity) || this.#capacity < 1 || this.#capacity > 10_000) {
      throw new OnetickError('ONETICK_OPTION', `concurrency is ${quoted(this.#capacity)}; it must be a whole number from 1 to 10000.`)
    }
    if (options.role !== undefined && options.role !== 'all' && options.role !== 'client') {
      throw new OnetickError('ONETICK_OPTION', `role is ${quoted(options.role)}; it may be all or client.`)
    }
    this.#drainMs = parseDuration('drainTimeout', options.drainTimeout ?? '25s')
    this.#graceMs = parseDuration('abortGrace', options.abortGrace ?? '10s')
    this.#replicaId = replicaId(options.random ?? systemRandom, options.replica)
  }

  /** Declares a job. Throws at once on bad input; call before `start`. */
  job(name: string, options: JobOptions, handler?: Handler): this {
    this.#refuseStarted('job')
    const definition = definitionOf(name, options, this.#timing, compileSchedule)
    const job = declarable(name, options.task ?? name, definition)
    if (handler === undefined && options.task === undefined) {
      throw new OnetickError('ONETICK_OPTION', `${quoted(name)} has neither a handler nor a task.`)
    }
    if (handler !== undefined && options.task !== undefined) {
      throw new OnetickError('ONETICK_OPTION', `${quoted(name)} has both a handler and a task.`)
    }
    if (handler !== undefined) this.#jobs.addTask(name, handler)
    this.#jobs.addJob(job)
    return this
  }

  /** A handler that many jobs share, by its name. Call before `start`. */
  task(name: string, handler: Handler): this {
    this.#refuseStarted('task')
    this.#jobs.addTask(name, handler)
    return this
  }

  /**
   * Starts this replica; calling it again changes nothing. Resolves once the store was first asked; where it does not answer,
   * goes on trying and tells of it by `storeFailed`. `signals`: SIGTERM and SIGINT stop it and end the process.
   * Throws `ONETICK_STORE_MISSING`, `ONETICK_STORE_NOT_MIGRATED`, `ONETICK_STORE_UNFIT` … where trying again cannot help.
   */
  async start(options: { readonly signals?: boolean } = {}): Promise<void> {
    refuseUnknown('start', options, ['signals'])
    const { signals = false } = options
    if (typeof signals !== 'boolean') throw new OnetickError('ONETICK_OPTION', `signals is ${quoted(signals)}; it may be true or false.`)
    if (this.#stopping !== null) throw new OnetickError('ONETICK_STOPPED', 'This instance was stopped.')
    this.#starting ??= this.#start(signals)
    await this.#starting
  }

  async #start(signals: boolean): Promise<void> {
    for (const { name, task } of this.#jobs.declared) {
      if (this.#jobs.handler(task) === undefined)
        throw new OnetickError('ONETICK_TASK_UNKNOWN', `The job ${quoted(name)} names the task ${quoted(task)}.`)
    }
    const store = this.store
    if (signals) this.#heedNoSignals = onStopSignal(() => this.stop())
    if (this.role === 'client') return
    const scheduler = new Scheduler({
      store,
      clock: this.#clock,
      random: this.#options.random ?? systemRandom,
      events: this.#events,
      compile: compileSchedule,
      jobs: this.#jobs,
      timing: this.#timing,
      replica: this.#replica(),
      migrate: this.#options.migrate !== false,
    })
    this.#scheduler = scheduler
    await scheduler.start()
  }

  /** Claims nothing more, waits for what runs, hands back the rest, closes the store. */
  stop({ drainTimeout }: { readonly drainTimeout?: Duration } = {}): Promise<void> {
    const drainMs = drainTimeout === undefined ? this.#drainMs : parseDuration('drainTimeout', drainTimeout)
    this.#stopping ??= this.#stop(drainMs)
    return this.#stopping
  }

  async #stop(drainMs: number): Promise<void> {
    await this.#starting?.catch(() => undefined)
    await this.#scheduler?.stop({ drainMs, graceMs: this.#graceMs })
    await this.#store?.close()
    this.#heedNoSignals()
  }

  /**
   * Makes a job, or edits it, at run time, on all replicas; the last edit wins. The task is any that some replica knows.
   * Throws `ONETICK_SCHEDULE_NEVER` where no instant is to come.
   */
  async schedule(name: string, options: JobOptions & { readonly task: string }): Promise<void> {
    const job = declarable(name, options.task, definitionOf(name, options, this.#timing, compileSchedule))
    let { now } = await this.store.read('status', {})
    if (job.definition.schedule !== null) assertFires(job.definition.schedule, now)
    for (let i = 0; i < 5; i++) {
      const declaration = declarationAt(job, now, compileSchedule)
      const reply = await this.store.declare({
        replica: this.#replica(),
        jobs: [declaration],
        liveForMs: this.#timing.liveForMs,
        atRunTime: true,
      })
      if (reply.results[0] !== 'late') return
      now = reply.now
    }
    throw new OnetickError('ONETICK_STORE_TIMEOUT', `${quoted(name)} comes due faster than the store answers.`)
  }

  /** Asks for a run now, beside the schedule. The same id asks only once. Returns the id: the occurrence's cause. */
  async trigger(name: string, { id }: { readonly id?: string } = {}): Promise<string> {
    const cause = id ?? (this.#options.random ?? systemRandom).id()
    const { kind } = await this.store.control({ kind: 'trigger', name, id: cause })
    if (kind === 'unknown') throw new OnetickError('ONETICK_JOB_UNKNOWN', `There is no job ${quoted(name)}.`)
    return cause
  }

  /** Returns what removes the listener. A listener that throws disturbs nothing. */
  on<K extends keyof Events>(event: K, listener: Listener<K>): () => void {
    return this.#events.on(event, listener)
  }

  /** The store, opened on first use. Throws `ONETICK_STORE_MISSING` or `ONETICK_STORE_URL`. */
  get store(): Store {
    this.#store ??= openStore(this.#options.store, {
      callTimeoutMs: this.#timing.callTimeoutMs,
      ...(this.#options.namespace === undefined ? {} : { namespace: this.#options.namespace }),
    })
    return this.#store
  }

  get role(): 'all' | 'client' {
    return this.#options.role ?? 'all'
  }

  /** This replica's id: the owner of its leases. */
  get replicaId(): string {
    return this.#replicaId
  }

  get timing(): Timing {
    return this.#timing
  }

  /** What this process declares. */
  get declared(): readonly Declarable[] {
    return this.#jobs.declared
  }

  /** The handlers of this process, by name. */
  get tasks(): readonly string[] {
    return this.#jobs.tasks
  }

  /** The store's time as its replies tell it; this host's before `start`. */
  storeNow(): Instant {
    return this.#scheduler?.storeNow() ?? this.#clock.now()
  }

  /**
   * Unstarted, with the same jobs and tasks under other options. `reschedule` gives all jobs that have a schedule another;
   * `around` puts something around each handler. For the CLI and for tests.
   */
  configured(overrides: OnetickOptions, reschedule?: string, around: (handler: Handler) => Handler = handler => handler): Onetick {
    this.#refuseStarted('configured')
    const other = new Onetick({ ...this.#options, ...overrides })
    for (const task of this.#jobs.tasks) other.#jobs.addTask(task, around(this.#jobs.handler(task) as Handler))
    if (reschedule !== undefined) compileSchedule({ schedule: reschedule })
    for (const job of this.#jobs.declared) {
      const { name, task, definition } = job
      if (reschedule === undefined || definition.schedule === null) other.#jobs.addJob(job)
      else other.#jobs.addJob(declarable(name, task, { ...definition, schedule: { schedule: reschedule } }))
    }
    return other
  }

  #replica(): Replica {
    return {
      id: this.#replicaId,
      host: hostName(),
      version,
      release: this.#jobs.release,
      role: this.role,
      tasks: this.#jobs.tasks,
      capacity: this.#capacity,
    }
  }

  #refuseStarted(what: string): void {
    if (this.#starting !== null)
      throw new OnetickError('ONETICK_OPTION', `${what} was called after start.`, { remedy: 'Call it before start().' })
  }
}

function refuseUnknown(of: string, options: object, known: readonly string[]): void {
  if (options === null || typeof options !== 'object') {
    throw new OnetickError('ONETICK_OPTION', `The options of ${of} are ${options === null ? 'null' : typeof options}, not an object.`)
  }
  for (const option of Object.keys(options)) {
    if (!known.includes(option)) throw new OnetickError('ONETICK_OPTION', `${of} has an option ${quoted(option)} that does not exist.`)
  }
}
