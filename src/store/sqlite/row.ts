import type { Ask, JobRow } from '../../domain/job.ts'
import type { Json } from '../../domain/json.ts'
import type { SqlValue } from './driver.ts'

/** A row of onetick_jobs as SQLite gives it. */
export interface RowColumns {
  readonly id: number
  readonly name: string
  readonly task: string
  readonly definition: string
  readonly hash: string
  readonly rev: number
  readonly next_at: number
  readonly after_at: number | null
  readonly old_schedules: string
  readonly scheduled_at: number | null
  readonly opened_at: number | null
  readonly cause: string | null
  readonly attempt: number | null
  readonly failures: number | null
  readonly checkpoint: string | null
  readonly due_at: number
  readonly owner: string | null
  readonly claim_id: string | null
  readonly fence: number
  readonly acquired_at: number | null
  readonly may_start: number
  readonly busy_from: number | null
  readonly busy_until: number | null
  readonly held_from: number | null
  readonly held_until: number | null
  readonly paused_at: number | null
  readonly paused_until: number | null
  readonly paused_by: string | null
  readonly paused_why: string | null
  readonly removed_at: number | null
  readonly asked: number
  readonly last_cause: string
  readonly last_at: number | null
  readonly last_owner: string | null
  readonly ended_at: number | null
  readonly cancel_fence: number | null
  readonly parent: number | null
  readonly parent_fence: number | null
}

/** As named above; part of each statement that reads rows. */
export const columns: string =
  'id, name, task, definition, hash, rev, next_at, after_at, old_schedules, scheduled_at, opened_at, cause, attempt, failures, checkpoint, ' +
  'due_at, owner, claim_id, fence, acquired_at, may_start, busy_from, busy_until, held_from, held_until, ' +
  'paused_at, paused_until, paused_by, paused_why, removed_at, asked, last_cause, last_at, last_owner, ended_at, cancel_fence, parent, parent_fence'

export function rowOf(of: RowColumns): JobRow {
  return {
    id: of.id,
    name: of.name,
    task: of.task,
    definition: JSON.parse(of.definition),
    hash: of.hash,
    rev: of.rev,
    nextAt: of.next_at,
    afterAt: of.after_at,
    oldSchedules: of.old_schedules === '[]' ? none : JSON.parse(of.old_schedules),
    open:
      of.scheduled_at === null
        ? null
        : {
            cause: of.cause ?? '',
            scheduledAt: of.scheduled_at,
            openedAt: of.opened_at ?? of.scheduled_at,
            attempt: of.attempt ?? 0,
            failures: of.failures ?? 0,
            checkpoint: jsonOf(of.checkpoint),
          },
    dueAt: of.due_at,
    fence: of.fence,
    lease: of.owner === null ? null : { owner: of.owner, claimId: of.claim_id, mayStart: of.may_start === 1 },
    acquiredAt: of.acquired_at,
    busy: rangeOf(of.busy_from, of.busy_until),
    held: rangeOf(of.held_from, of.held_until),
    pause:
      of.paused_at === null ? null : { at: of.paused_at, until: of.paused_until ?? of.paused_at, by: of.paused_by, why: of.paused_why },
    removedAt: of.removed_at,
    asked: of.asked,
    lastCause: of.last_cause,
    lastAt: of.last_at,
    lastOwner: of.last_owner,
    endedAt: of.ended_at,
    cancelFence: of.cancel_fence,
    parent: of.parent === null ? null : { id: of.parent, fence: of.parent_fence ?? 0 },
  }
}

/** What people and releases set, and what only a plan moves: changes seldom. In the order of the statements in jobs.ts. */
export function settingsOf(row: Omit<JobRow, 'id'>): SqlValue[] {
  return [
    row.name,
    row.task,
    JSON.stringify(row.definition),
    row.hash,
    row.rev,
    row.definition.policy.jitterMs,
    JSON.stringify(row.oldSchedules),
    row.held?.from ?? null,
    row.held?.until ?? null,
    row.pause?.at ?? null,
    row.pause?.until ?? null,
    row.pause?.by ?? null,
    row.pause?.why ?? null,
    row.removedAt,
  ]
}

/** Whether the columns of `settingsOf` would be the same. Transitions hand on unchanged what they do not change. */
export function hasSameSettings(a: JobRow, b: JobRow): boolean {
  return (
    a.definition === b.definition &&
    a.oldSchedules === b.oldSchedules &&
    a.pause === b.pause &&
    a.held === b.held &&
    a.removedAt === b.removedAt &&
    a.rev === b.rev &&
    a.hash === b.hash &&
    a.task === b.task &&
    a.name === b.name
  )
}

/** Cursor, open occurrence, lease: what every run changes. In the order of the statements in jobs.ts. */
export function stateOf(row: Omit<JobRow, 'id'>): SqlValue[] {
  return [
    row.nextAt,
    row.afterAt,
    row.open?.scheduledAt ?? null,
    row.open?.openedAt ?? null,
    row.open?.cause ?? null,
    row.open?.attempt ?? null,
    row.open?.failures ?? null,
    textOf(row.open?.checkpoint ?? null),
    row.dueAt,
    row.fence,
    row.lease?.owner ?? null,
    row.lease?.claimId ?? null,
    row.lease?.mayStart ? 1 : 0,
    row.acquiredAt,
    row.busy?.from ?? null,
    row.busy?.until ?? null,
    row.asked,
    row.lastCause,
    row.lastAt,
    row.lastOwner,
    row.endedAt,
    row.cancelFence,
  ]
}

/** A row of onetick_asked. */
export interface AskColumns {
  readonly id: string
  readonly kind: Ask['kind']
  readonly next_at: number
  readonly until_at: number
  readonly schedule: string | null
}

export function askOf({ id, kind, next_at, until_at, schedule }: AskColumns): Ask {
  return { id, kind, at: next_at, until: until_at, schedule: jsonOf(schedule) as Ask['schedule'] }
}

export function jsonOf(text: string | null): Json {
  return text === null ? null : JSON.parse(text)
}

export function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

const none: readonly never[] = []

function rangeOf(from: number | null, until: number | null): { from: number; until: number } | null {
  return from === null || until === null ? null : { from, until }
}
