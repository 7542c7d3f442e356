import { Emitter } from '../domain/events.ts'
import type { Compile } from '../domain/timetable.ts'
import { version } from '../domain/version.ts'
import type { Handler } from '../execution/context.ts'
import { definitionOf, type JobOptions } from '../scheduler/job-options.ts'
import { declarable, Jobs } from '../scheduler/jobs.ts'
import { Scheduler } from '../scheduler/scheduler.ts'
import type { Timing } from '../scheduler/timing.ts'
import type { Store } from '../store/store.ts'
import type { Chance } from './chance.ts'
import type { Host } from './host.ts'
import type { Link } from './link.ts'

/** A job as a release declares it. */
export interface JobSpec {
  readonly name: string
  readonly options: JobOptions
  readonly jitterMs: number
}

/** All that one release declares. */
export type Release = readonly JobSpec[]

export interface ReplicaParts {
  readonly id: string
  readonly host: Host
  readonly link: Link
  /** The link, or what a mutant makes of it. */
  readonly store: Store
  readonly chance: Chance
  readonly release: Release
  readonly timing: Timing
  readonly compile: Compile
  readonly capacity: number
  readonly handler: Handler
}

/** The shipped scheduler in a simulated process. */
export class Replica {
  readonly id: string
  readonly host: Host
  readonly link: Link
  readonly events: Emitter = new Emitter()
  readonly release: Release
  readonly hash: string
  readonly capacity: number
  readonly #scheduler: Scheduler
  isDraining = false
  /** A claim of its has been answered, since its machine last slept. */
  hasAsked = false

  constructor(of: ReplicaParts) {
    this.id = of.id
    this.host = of.host
    this.link = of.link
    this.release = of.release
    this.capacity = of.capacity
    const jobs = jobsOf(of)
    this.hash = jobs.release
    this.#scheduler = new Scheduler({
      store: of.store,
      clock: of.host.clock,
      random: of.chance,
      events: this.events,
      compile: of.compile,
      jobs,
      timing: of.timing,
      startThread: null,
      migrate: false,
      replica: { id: of.id, host: of.id, version, release: jobs.release, role: 'all', tasks: jobs.tasks, capacity: of.capacity },
    })
  }

  get running(): number {
    return this.#scheduler.running
  }

  /** Up, in touch with the store, and with room: what a bound may be judged by. */
  get isHealthy(): boolean {
    const { host, link } = this
    return host.isUp && !host.isFrozen && !this.isDraining && this.hasAsked && link.isClear && this.running < this.capacity
  }

  start(): Promise<void> {
    return this.#scheduler.start()
  }

  async stop(limits: { readonly drainMs: number; readonly graceMs: number }): Promise<void> {
    this.isDraining = true
    await this.#scheduler.stop(limits)
  }

  async crash(): Promise<void> {
    this.host.crash()
    await this.link.close()
  }
}

function jobsOf({ release, handler, timing, compile }: ReplicaParts): Jobs {
  const jobs = new Jobs()
  for (const { name, options, jitterMs } of release) {
    jobs.addTask(name, handler)
    const definition = definitionOf(name, options, timing, compile)
    jobs.addJob(declarable(name, name, { ...definition, policy: { ...definition.policy, jitterMs } }))
  }
  return jobs
}
