import { dueWhenFree } from './due.ts'
import type { Definition, JobRow } from './job.ts'
import type { Instant } from './timetable.ts'

/** What a replica says of one of its jobs. */
export interface Declaration {
  readonly name: string
  readonly task: string
  readonly definition: Definition
  /** Of task and definition. */
  readonly hash: string
  /**
   * The next few instants after a store time this replica was told, ascending; closed by `Infinity` where the schedule ends.
   * The store takes the first that is still to come under the row's lock: no instant of the past is ever set.
   */
  readonly upcoming: readonly Instant[]
}

export type Declared =
  | { readonly kind: 'new'; readonly row: Omit<JobRow, 'id'> }
  | { readonly kind: 'edited'; readonly row: JobRow }
  /** The row stands as declared. */
  | { readonly kind: 'unchanged' }
  /** All instants handed in have passed, or were skipped by hand: compute them again from the later of the store's now and the row's `lastAt`. */
  | { readonly kind: 'late' }

/** D1: declaring is harmless. An edit never erases a due occurrence, fires the past, un-pauses, or touches a lease. */
export function declared(row: JobRow | null, as: Declaration, now: Instant): Declared {
  if (row !== null && row.removedAt === null && row.hash === as.hash) return { kind: 'unchanged' }
  const cursor = cursorAfter(as.upcoming, Math.max(now, row?.lastAt ?? now))
  if (cursor === null) return { kind: 'late' }
  if (row === null) return { kind: 'new', row: newRow(as, cursor) }
  const redefined = { task: as.task, definition: as.definition, hash: as.hash, rev: row.rev + 1 }
  if (row.removedAt !== null) {
    return edited({ ...row, ...redefined, ...cursor, removedAt: null, oldSchedules: [], busy: null, held: null }, row, now)
  }
  if (row.nextAt > now) return edited({ ...row, ...redefined, ...cursor, oldSchedules: [] }, row, now)
  // due instants stay, and up to now they are the old schedule's
  const oldSchedules = [...row.oldSchedules.filter(old => old.until <= now), { schedule: row.definition.schedule, until: now }]
  return edited({ ...row, ...redefined, afterAt: null, oldSchedules }, row, now)
}

function edited(next: JobRow, before: JobRow, now: Instant): Declared {
  const idle = before.lease === null && before.open === null
  return { kind: 'edited', row: idle ? { ...next, dueAt: dueWhenFree(next, now) } : next }
}

/** S2: strictly later than `after`: now, or an instant ahead of it that was skipped by hand and so has its verdict. */
function cursorAfter(upcoming: readonly Instant[], after: Instant): { nextAt: Instant; afterAt: Instant | null } | null {
  const index = upcoming.findIndex(instant => instant > after)
  const nextAt = upcoming[index]
  if (nextAt === undefined) return null
  return { nextAt, afterAt: nextAt === Number.POSITIVE_INFINITY ? nextAt : (upcoming[index + 1] ?? null) }
}

function newRow(as: Declaration, cursor: { nextAt: Instant; afterAt: Instant | null }): Omit<JobRow, 'id'> {
  return {
    name: as.name,
    task: as.task,
    definition: as.definition,
    hash: as.hash,
    rev: 1,
    ...cursor,
    oldSchedules: [],
    open: null,
    dueAt: cursor.nextAt + as.definition.policy.jitterMs,
    fence: 0,
    lease: null,
    acquiredAt: null,
    busy: null,
    held: null,
    pause: null,
    removedAt: null,
    asked: 0,
    lastCause: '',
    lastAt: null,
    lastOwner: null,
    endedAt: null,
    cancelFence: null,
    parent: null,
  }
}

/** A definition as some release declared it. */
export interface Release {
  readonly release: string
  readonly hash: string
  readonly firstSeenAt: Instant
}

/**
 * Whether `mine` is in force: the newest first-seen definition that a live replica declares (the caller is one).
 * So an old pod that restarts during a rollout changes nothing, and a rollback works once the new pods are gone.
 */
export function isInForce(mine: Release, known: readonly Release[], live: ReadonlySet<string>): boolean {
  return known.every(other => other.hash === mine.hash || !live.has(other.release) || !isNewer(other, mine))
}

/** Two first seen in the same millisecond are told apart by name, or each restart of either would change the job. */
function isNewer(a: Release, b: Release): boolean {
  return a.firstSeenAt === b.firstSeenAt ? a.release > b.release : a.firstSeenAt > b.firstSeenAt
}
