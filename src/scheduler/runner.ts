import type { Cancel } from '../domain/clock.ts'
import { dueWhenFree } from '../domain/due.ts'
import type { JobRow } from '../domain/job.ts'
import { type Plan, plan } from '../domain/plan.ts'
import type { RunError, Verdict } from '../domain/run.ts'
import type { RunEnd } from '../domain/settle.ts'
import { successorOf } from '../domain/successor.ts'
import type { Instant } from '../domain/timetable.ts'
import { contextOf, takenOverFrom } from '../execution/context.ts'
import type { Heartbeats } from '../execution/heartbeats.ts'
import { Holding } from '../execution/holding.ts'
import { endOf, run } from '../execution/run.ts'
import type { Grant } from '../store/store.ts'
import type { Claims } from './claims.ts'
import type { SchedulerOptions } from './options.ts'
import type { SettleAnswer, Settler } from './settler.ts'
import type { StoreClock } from './store-clock.ts'

export interface RunnerOptions extends SchedulerOptions {
  readonly settler: Settler
  readonly claims: Claims
  readonly storeClock: StoreClock
  /** By row; the runner takes out what has ended. */
  readonly holdings: Map<number, Holding>
  readonly heartbeats: Heartbeats
  readonly isDraining: () => boolean
  /** A slot is free; the row it held is due then. */
  readonly onFree: (dueAt: Instant) => void
}

/** A plan is made again this often while the row keeps changing under it. */
const planLimit = 20

/** Takes what was granted to its end: plan where needed, handler, settle. One straight line a lease. */
export class Runner {
  readonly #of: RunnerOptions
  readonly #idleListeners: Set<() => void> = new Set()

  constructor(of: RunnerOptions) {
    this.#of = of
  }

  take(holding: Holding, grant: Grant, now: Instant): void {
    this.#hold(holding, () => this.#carry(holding, grant, now))
  }

  #hold(holding: Holding, body: () => Promise<void>): void {
    this.#of.holdings.set(holding.row.id, holding)
    this.#of.heartbeats.hold(holding)
    body()
      .catch(error => this.#of.events.emit('planFailed', { job: holding.row.name, error: error as Error }))
      .finally(() => this.#drop(holding))
  }

  /** Whether nothing is held any more, waited for at most `limitMs`. */
  idle(limitMs: number): Promise<boolean> {
    if (this.#of.holdings.size === 0) return Promise.resolve(true)
    return new Promise(resolve => {
      let cancel: Cancel = () => undefined
      const answer = (isIdle: boolean): void => {
        cancel()
        this.#idleListeners.delete(onIdle)
        resolve(isIdle)
      }
      const onIdle = (): void => answer(true)
      this.#idleListeners.add(onIdle)
      cancel = this.#of.clock.after(limitMs, () => answer(false))
    })
  }

  #drop(holding: Holding): void {
    const { holdings, heartbeats, onFree } = this.#of
    holding.release()
    heartbeats.drop(holding)
    if (holdings.get(holding.row.id) === holding) holdings.delete(holding.row.id)
    onFree(holding.nextDueAt)
    if (holdings.size === 0) for (const listener of [...this.#idleListeners]) listener()
  }

  async #carry(holding: Holding, grant: Grant, now: Instant): Promise<void> {
    if (grant.row.lease?.mayStart) return this.#run(holding)
    holding.isPlanning = true
    const planned = await this.#plan(holding, grant, now)
    holding.isPlanning = false
    if (planned === null) return
    if (!isExtra(planned.row, holding)) {
      holding.row = planned.row
      return this.#run(holding)
    }
    // overlap `allow`: the occurrence has a row of its own, so a holding of its own; the job's row is free again
    const extra = new Holding(planned.row, planned.deadlineMs, this.#of.clock)
    this.#hold(extra, () => this.#run(extra))
  }

  /** Writes down what the lease means. Null: nothing to run, or no answer while it could matter. */
  async #plan(holding: Holding, grant: Grant, now: Instant): Promise<(Grant & { deadlineMs: number }) | null> {
    const { settler, claims, holdings, timing, compile } = this.#of
    let [seen, seenAt] = [grant, now]
    for (let i = 0; i < planLimit; i++) {
      const made = plan(seen.row, seen, seenAt, compile)
      const { id: rowId, fence } = seen.row
      const item = { kind: 'plan', rowId, fence, claimId: claims.claimId, ttlMs: timing.leaseMs, plan: made } as const
      // S7: an extra row that an unanswered plan has made lasts one lease longer than its parent's, and is to be found
      const answer = await settler.settle(item, () => holding.deadlineMs + timing.leaseMs)
      if (answer === null) return null
      const { result, sentAtMs } = answer
      switch (result.kind) {
        case 'granted':
          this.#tellJudged(holding, seen.row, made)
          // S2: a repeated ask may have found the extra row before this reply came
          if (isExtra(result.grant.row, holding) && (holdings.has(result.grant.row.id) || !claims.isNews(result.grant))) return null
          return { ...result.grant, deadlineMs: sentAtMs + result.grant.row.dueAt - answer.now - timing.marginMs }
        case 'stale':
          ;[seen, seenAt] = [result.grant, answer.now]
          break
        case 'settled':
          this.#tellJudged(holding, seen.row, made)
          return null
        case 'already':
        case 'lost':
          return null
      }
    }
    return null
  }

  #tellJudged(holding: Holding, row: JobRow, { lines, cursor }: Plan): void {
    holding.nextDueAt = cursor?.nextAt ?? row.nextAt
    for (const { end, reason, scheduledAt, untilAt, count } of lines) {
      this.#of.events.emit('judged', { job: row.name, verdict: end as Verdict, reason, scheduledAt, untilAt, count })
    }
  }

  async #run(holding: Holding): Promise<void> {
    const { row } = holding
    const { jobs, store, replica, random, compile } = this.#of
    const handler = jobs.handler(row.task)
    // I4: nothing starts after the local deadline, or on a replica that stops
    if (!holding.isTrusted()) return
    if (handler === undefined || this.#of.isDraining()) {
      await this.#settle(holding, { kind: 'handBack', started: false, successor: null })
      return
    }
    const startedAt = this.#of.storeClock.now()
    this.#of.events.emit('started', {
      ...this.#about(holding),
      lateMs: startedAt - (row.open?.scheduledAt ?? startedAt),
      takenOverFrom: takenOverFrom(holding),
    })
    const cancelReplaced = this.#watchReplaced(holding)
    const onAbort = (): void => {
      if (holding.abortReason === 'leaseLost') this.#of.events.emit('leaseLost', this.#about(holding))
    }
    holding.signal.addEventListener('abort', onAbort, { once: true })
    const returned = await run(handler, contextOf(holding, replica.id, store))
    holding.signal.removeEventListener('abort', onAbort)
    cancelReplaced()
    const end = endOf(holding, returned, successorOf(row, compile), random)
    const answer = await this.#settle(holding, end)
    this.#tellSettled(holding, end, answer, this.#of.storeClock.now() - startedAt, returned.kind === 'threw' ? returned.error : null)
  }

  /** With overlap `replace` a run makes way for the next occurrence. */
  #watchReplaced(holding: Holding): Cancel {
    const { open, nextAt, definition } = holding.row
    if (definition.policy.overlap !== 'replace' || open?.cause !== '' || nextAt === Number.POSITIVE_INFINITY) return () => undefined
    return this.#of.clock.after(this.#of.storeClock.delayUntil(nextAt), () => holding.abort('superseded'))
  }

  /** S7: repeated until it is answered; the heartbeat goes on meanwhile, so nobody takes over what has ended. */
  async #settle(holding: Holding, end: RunEnd): Promise<SettleAnswer | null> {
    const { row } = holding
    const occurrence = row.open === null ? null : { cause: row.open.cause, scheduledAt: row.open.scheduledAt }
    const answer = await this.#of.settler.settle({ kind: 'run', rowId: row.id, fence: row.fence, occurrence, end })
    if (answer !== null) holding.nextDueAt = nextDue(row, end, answer.now)
    return answer
  }

  #tellSettled(holding: Holding, end: RunEnd, answer: SettleAnswer | null, durationMs: number, error: RunError | null): void {
    if (answer === null) return
    const about = this.#about(holding)
    if (answer.result.kind === 'lost') this.#of.events.emit('fencedOff', about)
    else this.#of.events.emit('settled', { ...about, verdict: verdictOf(holding.row, end), durationMs, error })
  }

  #about({ row }: Holding): { job: string; cause: string; scheduledAt: Instant; attempt: number; fence: number } {
    const { open } = row
    return { job: row.name, cause: open?.cause ?? '', scheduledAt: open?.scheduledAt ?? 0, attempt: open?.attempt ?? 0, fence: row.fence }
  }
}

/** Overlap `allow`: the plan gave the occurrence a row of its own. */
function isExtra(row: JobRow, holding: Holding): boolean {
  return row.id !== holding.row.id
}

/** A guess, to ask at the right time; the store knows. */
function nextDue(row: JobRow, end: RunEnd, now: Instant): Instant {
  if (row.parent !== null) return Number.POSITIVE_INFINITY
  if (row.asked > 0 || end.kind === 'handBack') return now
  if (end.kind === 'retry') return dueWhenFree(row, now, now + end.backoffMs)
  return row.nextAt + row.definition.policy.jitterMs
}

/** Null: the occurrence stays open. */
function verdictOf({ open, definition: { policy } }: JobRow, end: RunEnd): Verdict | null {
  const isSpent = open !== null && open.attempt >= policy.maxAttempts
  switch (end.kind) {
    case 'final':
      return end.verdict
    case 'retry':
      return isSpent || (open !== null && open.failures >= policy.retries) ? 'failed' : null
    case 'handBack':
      return end.started && (isSpent || !policy.takeOver) ? 'abandoned' : null
  }
}
