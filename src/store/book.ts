import type { Release } from '../domain/declare.ts'
import type { Ask, JobRow } from '../domain/job.ts'
import type { LedgerLine } from '../domain/run.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Presence, Replica } from './store.ts'

/**
 * Rows, ledger, asks and releases as one synchronous table, inside one transaction, for stores that can be read and written
 * without waiting: memory and SQLite. `verbs.ts`, `releases.ts` and `commands.ts` are written over it, once for both.
 */
export interface Book {
  row(id: number): JobRow | undefined
  /** The job's own row, never an extra one. */
  rowNamed(name: string): JobRow | undefined
  /** The extra row that a plan under `fence` made. */
  childOf(parentId: number, fence: number): JobRow | undefined
  /** Some extra row of the job runs, or waits with, an occurrence of this cause. */
  isCauseOpen(parentId: number, cause: string): boolean
  insert(row: Omit<JobRow, 'id'>): JobRow
  update(row: JobRow): void
  delete(id: number): void

  /** Rows with `dueAt <= now`, the longest due first. */
  due(of: DueFilter & { readonly limit: number }): readonly JobRow[]
  /** How many there are, counted up to `cap`. */
  countDue(of: DueFilter & { readonly cap: number }): number
  /** The least `dueAt` after now, or the next instant (jitter included) of a leased row where that is sooner. */
  nextDueAt(tasks: readonly string[], now: Instant): Instant
  anyLeased(tasks: readonly string[], now: Instant): boolean
  /** What an earlier ask with this claim id was given and still holds. */
  claimedBy(owner: string, claimId: string, now: Instant): readonly JobRow[]

  append(line: LedgerLine): void
  /** A line of this row and fence for this occurrence, other than `leaseLost`. */
  isSettled(of: { readonly rowId: number; readonly fence: number; readonly cause: string; readonly scheduledAt: Instant }): boolean
  /** Some final line of the job has this cause. */
  isCauseSettled(jobId: number, cause: string): boolean

  asks(jobId: number): readonly Ask[]
  ask(jobId: number, id: string): Ask | undefined
  /** The oldest that waits. */
  oldestAsk(jobId: number, kind: Ask['kind']): Ask | null
  insertAsk(jobId: number, ask: Ask): void
  moveAsk(jobId: number, id: string, at: Instant): void
  deleteAsk(jobId: number, id: string): void

  saveReplica(replica: Replica, now: Instant): void
  seeReplica(id: string, presence: Presence, now: Instant): void
  forgetReplica(id: string): void
  /** Replicas seen since, that are not draining and share a task. */
  countLive(tasks: readonly string[], since: Instant): number
  liveReleases(since: Instant): ReadonlySet<string>
  /** Remembers when a release's definition was first seen; returns all that are known of the job. */
  seeRelease(jobId: number, release: Release): readonly Release[]

  /** A step of housekeeping, short enough for one transaction, from the job after `after` on. Where the next one begins; null: done. */
  prune(of: { readonly before: Instant; readonly keepLines: number; readonly after: number }): number | null
}

export interface DueFilter {
  readonly tasks: readonly string[]
  readonly now: Instant
  readonly except: readonly number[]
}
