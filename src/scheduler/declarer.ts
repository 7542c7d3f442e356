import type { Cancel } from '../domain/clock.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import type { Instant, Schedule } from '../domain/timetable.ts'
import type { DeclareReply, Store } from '../store/store.ts'
import type { Calls } from './calls.ts'
import { type Declarable, declarationAt } from './jobs.ts'
import type { SchedulerOptions } from './options.ts'

/** A declaration is computed again this often when its instants pass before it arrives. */
const lateLimit = 5

/** Jobs declared in one call. */
const batchSize = 500

const longestPauseMs = 5000

const migrateLimitMs = 60_000

export interface DeclarerOptions extends SchedulerOptions {
  readonly calls: Calls
}

/** Makes this process's jobs known to the store: at the start, and again while a newer release overrules some. */
export class Declarer {
  readonly #of: DeclarerOptions
  #overruled: readonly Declarable[] = []
  #isDeclared = false
  #isStopped = false
  #cancelTimer: Cancel = () => undefined

  constructor(of: DeclarerOptions) {
    this.#of = of
  }

  /** Rejects with the first failure; may be called again. */
  async declareAll(): Promise<void> {
    if (this.#of.migrate) await this.#migrate()
    this.#overruled = await this.#declare(this.#of.jobs.declared)
    this.#isDeclared = true
    for (const { name } of this.#overruled) this.#of.events.emit('overruled', { job: name })
  }

  async #migrate(): Promise<void> {
    const { store, calls } = this.#of
    const migrated = async (): Promise<{ readonly now: Instant }> => {
      await store.migrate('apply')
      return store.read('status', {})
    }
    await calls.send('migrate', migrated, migrateLimitMs)
  }

  /** D1: a rollback works once the newer replicas are gone. */
  async declareOverruled(): Promise<void> {
    if (this.#isDeclared && this.#overruled.length > 0) this.#overruled = await this.#declare(this.#overruled)
  }

  keepTrying(onDeclared: () => void, pauseMs = 200): void {
    if (this.#isStopped) return
    this.#cancelTimer = this.#of.clock.after(pauseMs, () => {
      this.declareAll().then(onDeclared, () => this.keepTrying(onDeclared, Math.min(pauseMs * 2, longestPauseMs)))
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  /** Returns those that a newer release overrules. */
  async #declare(jobs: readonly Declarable[]): Promise<readonly Declarable[]> {
    const { store, calls } = this.#of
    let { now } = await calls.send('status', () => store.read('status', {}))
    const overruled: Declarable[] = []
    // a replica without jobs makes itself known all the same
    for (let start = 0; start === 0 || start < jobs.length; start += batchSize) {
      const done = await this.#declareBatch(jobs.slice(start, start + batchSize), now)
      now = done.now
      overruled.push(...done.overruled)
    }
    return overruled
  }

  async #declareBatch(jobs: readonly Declarable[], asOf: Instant): Promise<{ now: Instant; overruled: Declarable[] }> {
    const { store, calls } = this.#of
    const overruled: Declarable[] = []
    let batch = await this.#withoutStillborn(jobs, asOf)
    let now = asOf
    // an instant skipped by hand may lie ahead: what is declared of that job, and of no other, begins after it
    const after = new Map<string, Instant>()
    for (let i = 0; i < lateLimit; i++) {
      const reply = await this.#send(batch, now, after)
      now = reply.now
      overruled.push(...batch.filter((_job, index) => reply.results[index] === 'overruled'))
      batch = batch.filter((_job, index) => reply.results[index] === 'late')
      if (batch.length === 0) return { now, overruled }
      for (const { name } of batch) after.set(name, (await calls.send('jobs', () => settledLast(store, name))).at)
    }
    for (const { name } of batch) {
      this.#failed(name, tooFast(name))
    }
    return { now, overruled }
  }

  /** A schedule with nothing to come is refused while it is new, and kept where the store knows the job: it has had its time. */
  async #withoutStillborn(jobs: readonly Declarable[], now: Instant): Promise<readonly Declarable[]> {
    const { store, calls, compile } = this.#of
    const alive: Declarable[] = []
    for (const job of jobs) {
      const { schedule } = job.definition
      const isOver = schedule !== null && compile(schedule).next(now) === Number.POSITIVE_INFINITY
      if (!isOver || (await calls.send('jobs', () => store.read('jobs', { name: job.name, removed: true }))).jobs.length > 0)
        alive.push(job)
      else this.#failed(job.name, over(job.name, schedule))
    }
    return alive
  }

  #failed(job: string, error: Error): void {
    this.#of.events.emit('declareFailed', { job, error })
  }

  #send(jobs: readonly Declarable[], now: Instant, after: ReadonlyMap<string, Instant>): Promise<DeclareReply> {
    const { store, calls, compile, replica, timing } = this.#of
    const declarations = jobs.map(job => declarationAt(job, Math.max(now, after.get(job.name) ?? now), compile))
    return calls.send(
      'declare',
      () => store.declare({ replica, liveForMs: timing.liveForMs, jobs: declarations }),
      timing.callTimeoutMs * 4,
    )
  }
}

/** A late declaration begins after the instant that was settled last: one that was skipped by hand may lie ahead. */
export async function settledLast(store: Store, name: string): Promise<{ readonly now: Instant; readonly at: Instant }> {
  const { now, jobs } = await store.read('jobs', { name, removed: true })
  return { now, at: jobs[0]?.lastAt ?? 0 }
}

/** Also of a job that is made at run time. */
export function tooFast(name: string): OnetickError {
  return new OnetickError('ONETICK_STORE_TIMEOUT', `The job ${quoted(name)} comes due faster than the store answers.`, {
    remedy: 'Give it a longer interval, or look for load on the database.',
  })
}

function over(name: string, { schedule }: Schedule): OnetickError {
  return new OnetickError(
    'ONETICK_SCHEDULE_NEVER',
    `The schedule ${quoted(schedule)} of the new job ${quoted(name)} has no instant to come.`,
  )
}
