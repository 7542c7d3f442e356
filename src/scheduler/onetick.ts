import type { Clock } from '../domain/clock.ts'
import { type Duration, parseDuration } from '../domain/duration.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import { Emitter, type Events, type Listener } from '../domain/events.ts'
import type { Instant } from '../domain/timetable.ts'
import { version } from '../domain/version.ts'
import type { Handler } from '../execution/context.ts'
import { hostName, onStopSignal, replicaId, warn } from '../platform/host.ts'
import { systemClock, systemRandom } from '../platform/system.ts'
import { assertFires, compileSchedule } from '../schedule/index.ts'
import { openStore } from '../store/open.ts'
import type { Replica, Store } from '../store/store.ts'
import { settledLast, tooFast } from './declarer.ts'
import { definitionOf, type JobOptions, refuseVainRetries } from './job-options.ts'
import { type Declarable, declarable, declarationAt, Jobs } from './jobs.ts'
import { refuseUnknown } from './known-options.ts'
import { type OnetickOptions, settingsOf } from './replica-options.ts'
import { Scheduler } from './scheduler.ts'
import { threadStarter } from './thread-starter.ts'
import type { Timing } from './timing.ts'
import { unheard } from './unheard.ts'

export type { OnetickOptions } from './replica-options.ts'

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
  #isStopped = false
  #heedNoSignals: () => void = () => undefined

  /** Throws `ONETICK_DURATION`, `ONETICK_NAME` or `ONETICK_OPTION` on options that cannot be. Connects to nothing yet. */
  constructor(options: OnetickOptions = {}) {
    const { timing, capacity, drainMs, graceMs } = settingsOf(options)
    this.#options = options
    this.#timing = timing
    this.#capacity = capacity
    this.#drainMs = drainMs
    this.#graceMs = graceMs
    this.#clock = options.clock ?? systemClock
    this.#replicaId = replicaId(options.random ?? systemRandom, options.replica)
  }

  /** Declares a job. Throws at once on bad input; call before `start`. */
  job(name: string, options: JobOptions, handler?: Handler): this {
    this.#refuseStarted('job', 'Call it before start(); while it runs, schedule() makes and edits jobs.')
    const job = this.#declarable(name, options, name)
    if ((handler === undefined) === (options.task === undefined)) {
      const has = handler === undefined ? 'neither a handler nor a task' : 'both a handler and a task'
      throw new OnetickError('ONETICK_OPTION', `The job ${quoted(name)} has ${has}.`, { remedy: 'Give it one of the two.' })
    }
    this.#jobs.addJob(job, handler)
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
      if (this.#jobs.handler(task) === undefined) throw taskUnknown(name, task)
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
      startThread: threadStarter(this.#options, { store, clock: this.#clock, owner: this.#replicaId, timing: this.#timing }),
      migrate: this.#options.migrate !== false,
    })
    this.#scheduler = scheduler
    await scheduler.start()
  }

  /** Claims nothing more, waits for what runs, hands back the rest, closes the store. */
  async stop(options: { readonly drainTimeout?: Duration } = {}): Promise<void> {
    refuseUnknown('stop', options, ['drainTimeout'])
    const { drainTimeout } = options
    const drainMs = drainTimeout === undefined ? this.#drainMs : parseDuration('drainTimeout', drainTimeout)
    this.#stopping ??= this.#stop(drainMs)
    await this.#stopping
  }

  async #stop(drainMs: number): Promise<void> {
    await this.#starting?.catch(() => undefined)
    await this.#scheduler?.stop({ drainMs, graceMs: this.#graceMs })
    this.#isStopped = true
    await this.#store?.close()
    this.#heedNoSignals()
  }

  /**
   * Makes a job, or edits it, at run time, on all replicas; the last edit wins. The task is one that this process defines, or a replica
   * that the store has heard of: else `ONETICK_TASK_UNKNOWN`. A client's is taken as it is, as its workers may be down just now.
   * Throws `ONETICK_SCHEDULE_NEVER` where no instant is to come.
   */
  async schedule(name: string, options: JobOptions & { readonly task: string }): Promise<void> {
    await this.#started('schedule')
    const job = this.#declarable(name, options)
    if (this.role !== 'client') await this.#refuseUnknownTask(job)
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
      now = Math.max(reply.now, (await settledLast(this.store, name)).at)
    }
    throw tooFast(name)
  }

  /**
   * Asks for a run now, beside the schedule. The same id, 1 to 255 bytes of visible text, asks only once. Returns the id: the
   * occurrence's cause. Throws `ONETICK_JOB_UNKNOWN`; `ONETICK_NAME` for an id that cannot be.
   */
  async trigger(name: string, options: { readonly id?: string } = {}): Promise<string> {
    refuseUnknown('trigger', options, ['id'])
    await this.#started('trigger')
    const { id: cause = (this.#options.random ?? systemRandom).id() } = options
    const { kind } = await this.store.control({ kind: 'trigger', name, id: cause })
    if (kind === 'unknown') throw new OnetickError('ONETICK_JOB_UNKNOWN', `There is no job ${quoted(name)}.`)
    return cause
  }

  /** Returns what removes the listener. A listener that throws disturbs nothing. Throws `ONETICK_OPTION` for an event that does not exist. */
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

  get namespace(): string {
    return this.#options.namespace ?? 'default'
  }

  /** This replica's id: the owner of its leases. */
  get replicaId(): string {
    return this.#replicaId
  }

  get timing(): Timing {
    return this.#timing
  }

  /** How long `stop()` may take: what runs is waited for, then its handlers have to heed their aborted signals. */
  get drain(): { readonly drainMs: number; readonly graceMs: number } {
    return { drainMs: this.#drainMs, graceMs: this.#graceMs }
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

  #declarable(name: string, options: JobOptions, ownTask?: string): Declarable {
    const definition = definitionOf(name, options, this.#timing, compileSchedule)
    refuseVainRetries(name, definition.policy)
    // one that is missing in spite of its type is refused by its name
    return declarable(name, (options.task ?? ownTask) as string, definition)
  }

  async #refuseUnknownTask({ name, task }: Declarable): Promise<void> {
    if (this.#jobs.handler(task) !== undefined) return
    const { replicas } = await this.store.read('replicas', {})
    if (!replicas.some(({ tasks }) => tasks.includes(task))) throw taskUnknown(name, task)
  }

  /** Until the drain is over: what runs may ask for more. */
  async #started(what: string): Promise<void> {
    if (this.#isStopped) throw new OnetickError('ONETICK_STOPPED', `${what} was called after stop.`)
    if (this.#starting === null) throw new OnetickError('ONETICK_NOT_STARTED', `${what} was called before start.`)
    await this.#starting
  }

  #refuseStarted(what: string, remedy?: string): void {
    if (this.#starting !== null) {
      throw new OnetickError('ONETICK_STARTED', `${what} was called after start.`, remedy === undefined ? {} : { remedy })
    }
    if (this.#stopping !== null) throw new OnetickError('ONETICK_STOPPED', `${what} was called after stop.`)
  }
}

function taskUnknown(name: string, task: string): OnetickError {
  return new OnetickError('ONETICK_TASK_UNKNOWN', `The job ${quoted(name)} names the task ${quoted(task)}.`)
}
