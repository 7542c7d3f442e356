import { type ErrorCode, OnetickError, quoted } from './errors.ts'
import type { Reason, RunError, Verdict } from './run.ts'
import type { Instant } from './timetable.ts'

/** What an event of a run says of it. */
export interface RunEvent {
  readonly job: string
  /** Empty: the schedule's; else the id of the ask. */
  readonly cause: string
  readonly scheduledAt: Instant
  readonly attempt: number
  readonly fence: number
}

/** What a replica tells while it works. Listeners that throw are told of by `listenerFailed` and change nothing. */
export interface Events {
  /** This replica got the occurrence; the handler starts. `lateMs`: start − due, on the store's clock. */
  started: RunEvent & { readonly lateMs: number; readonly takenOverFrom: string | null }
  /** The attempt ended and the store took it. `verdict` null: it will be tried again. */
  settled: RunEvent & { readonly verdict: Verdict | null; readonly durationMs: number; readonly error: RunError | null }
  /** Occurrences that ended without a run: skipped, missed, superseded, abandoned. */
  judged: {
    readonly job: string
    readonly verdict: Verdict
    readonly reason: Reason | null
    readonly scheduledAt: Instant
    readonly untilAt: Instant
    readonly count: number
  }
  /** Something was due, and others got it. */
  stoodBy: { readonly dueAt: Instant }
  /** The lease is no longer trusted: the signal was aborted. */
  leaseLost: RunEvent
  /** The run ended, but another replica had the job by then: nothing was written. */
  fencedOff: RunEvent
  /** A store call failed; it goes on. */
  storeFailed: { readonly during: string; readonly error: OnetickError | Error; readonly code: ErrorCode | null }
  /** The store answers again. */
  storeRecovered: { readonly afterMs: number }
  /** The heartbeat's thread is gone, or does not renew: the loop does, and a handler that blocks the loop loses its lease. Told once, until it is well again. */
  heartbeatDegraded: { readonly error: OnetickError }
  /** A lease could not be planned, its stored schedule for one; it is left to expire, and then tried again. */
  planFailed: { readonly job: string; readonly error: Error }
  /** A newer release that lives declares this job otherwise; that definition stays in force. */
  overruled: { readonly job: string }
  /** A declared job could not be made known; the others were. */
  declareFailed: { readonly job: string; readonly error: Error }
  listenerFailed: { readonly event: string; readonly error: unknown }
  draining: { readonly running: number }
  stopped: Record<string, never>
}

const names: { readonly [K in keyof Events]: true } = {
  started: true,
  settled: true,
  judged: true,
  stoodBy: true,
  leaseLost: true,
  fencedOff: true,
  storeFailed: true,
  storeRecovered: true,
  heartbeatDegraded: true,
  planFailed: true,
  overruled: true,
  declareFailed: true,
  listenerFailed: true,
  draining: true,
  stopped: true,
}

/** All that a replica may tell. */
export const eventNames: readonly (keyof Events)[] = Object.keys(names) as (keyof Events)[]

export type Listener<K extends keyof Events> = (event: Events[K]) => void

/** Events by name; a listener's throw reaches neither the emitter nor the other listeners. */
export class Emitter {
  readonly #listeners: Map<keyof Events, Set<Listener<never>>> = new Map()
  readonly #onUnheard: <K extends keyof Events>(name: K, event: Events[K]) => void

  /** `onUnheard` is told of what nobody listens to. */
  constructor(onUnheard: <K extends keyof Events>(name: K, event: Events[K]) => void = () => undefined) {
    this.#onUnheard = onUnheard
  }

  /** Returns what removes the listener. Throws `ONETICK_OPTION` for an event that does not exist, which nobody would ever hear of. */
  on<K extends keyof Events>(name: K, listener: Listener<K>): () => void {
    if (!Object.hasOwn(names, name)) {
      const remedy = `Listen to one of ${eventNames.join(', ')}.`
      throw new OnetickError('ONETICK_OPTION', `There is no event ${quoted(name)}.`, { remedy })
    }
    if (typeof listener !== 'function') {
      throw new OnetickError('ONETICK_OPTION', `The listener of ${quoted(name)} is ${typeof listener}, not a function.`)
    }
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  emit<K extends keyof Events>(name: K, event: Events[K]): void {
    const listeners = [...(this.#listeners.get(name) ?? [])]
    if (listeners.length === 0) this.#onUnheard(name, event)
    for (const listener of listeners) {
      try {
        const answer: unknown = (listener as Listener<K>)(event)
        if (answer instanceof Promise) answer.catch(error => this.#failed(name, error))
      } catch (error) {
        this.#failed(name, error)
      }
    }
  }

  #failed(name: keyof Events, error: unknown): void {
    if (name !== 'listenerFailed') this.emit('listenerFailed', { event: name, error })
  }
}
