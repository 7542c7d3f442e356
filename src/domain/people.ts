import { dueWhenFree } from './due.ts'
import type { Ask, JobRow } from './job.ts'
import { type JudgedInstants, verdictLine } from './plan.ts'
import { joined } from './planned.ts'
import { attemptLine, type LedgerLine } from './run.ts'
import { closed, laterOf } from './settle.ts'
import { DueInstants } from './stretches.ts'
import type { Compile, Instant } from './timetable.ts'

/** What people do to a job: each a pure change of its row, made under the row's lock on the store's now. */

/** Nothing is claimed until `until`, but for runs asked for by hand. A running one goes on. */
export function paused(row: JobRow, pause: { until: Instant; by: string | null; why: string | null }, now: Instant): JobRow {
  if (row.removedAt !== null) return row
  // a second pause moves the end and the reason; what came due since the first is still quiet
  const at = row.pause !== null && row.pause.until > now ? row.pause.at : now
  const held =
    row.pause !== null && row.pause.until <= now ? joined(row.held, { from: row.pause.at, until: row.pause.until }, row.nextAt) : row.held
  const next: JobRow = { ...row, held, pause: { at, until: pause.until, by: pause.by, why: pause.why } }
  if (row.lease !== null) return next
  return { ...next, dueAt: dueWhenFree(next, now, row.open === null ? now : row.dueAt) }
}

/** D1: what came due during the pause stays quiet; it does not fire now. */
export function resumed(row: JobRow, now: Instant): JobRow {
  if (row.pause === null) return row
  const held = joined(row.held, { from: row.pause.at, until: Math.min(now, row.pause.until) }, row.nextAt)
  const next: JobRow = { ...row, pause: null, held }
  return row.lease === null ? { ...next, dueAt: dueWhenFree(next, now) } : next
}

/** A run or backfill waits its turn; an idle job is due at once, also while paused. */
export function asked(row: JobRow, now: Instant): JobRow {
  const next: JobRow = { ...row, asked: row.asked + 1 }
  return row.lease === null && row.open === null ? { ...next, dueAt: Math.min(row.dueAt, now) } : next
}

/** What a command does to the row; null: the row is gone. */
export interface Changed {
  readonly row: JobRow | null
  readonly lines: readonly LedgerLine[]
  /** False: there was nothing to do it to. */
  readonly did: boolean
}

/** A waiting occurrence ends on the spot; a running one is told at its next renewal. */
export function cancelled(row: JobRow, now: Instant): Changed {
  if (row.open === null) return { row, lines: [], did: false }
  if (row.lease !== null) return { row: { ...row, cancelFence: row.fence }, lines: [], did: true }
  const lines = [attemptLine(row, { end: 'cancelled', final: true, reason: 'byHand', endedAt: now })]
  if (row.parent !== null) return { row: null, lines, did: true }
  const next: JobRow = { ...row, ...closed(row), endedAt: now }
  return { row: { ...next, dueAt: dueWhenFree(next, now) }, lines, did: true }
}

/** The next instant is passed over. `following` and its successor were computed for just this `nextAt` and `rev`. */
export function nextSkipped(row: JobRow, cursor: { nextAt: Instant; afterAt: Instant }, now: Instant): Changed {
  if (row.nextAt === Number.POSITIVE_INFINITY) return { row, lines: [], did: false }
  const lines = [verdictLine(row, { end: 'skipped', reason: 'byHand', scheduledAt: row.nextAt }, now)]
  const next: JobRow = {
    ...row,
    nextAt: cursor.nextAt,
    afterAt: cursor.afterAt,
    // so that no edit brings it back
    lastAt: laterOf(row.lastAt, row.nextAt),
    rev: row.rev + 1,
    oldSchedules: row.oldSchedules.filter(old => old.until >= cursor.nextAt),
  }
  return { lines, did: true, row: row.lease === null && row.open === null ? { ...next, dueAt: dueWhenFree(next, now) } : next }
}

/** The verdicts a removal owes: instants already due, asks that wait. A waiting occurrence is `removed`'s own. */
export function removalLines(row: JobRow, asks: readonly Ask[], now: Instant, compile: Compile): LedgerLine[] {
  const skipped = (of: Omit<JudgedInstants, 'end' | 'reason'>) => verdictLine(row, { end: 'skipped', reason: 'removed', ...of }, now)
  const due = new DueInstants(row, compile)
  const lines = due
    .until(now, () => ({ judgement: 'run', until: now }))
    .map(({ first, last, count }) => skipped({ scheduledAt: first, untilAt: last, count }))
  for (const ask of asks) {
    let count = 1
    if (ask.kind === 'backfill' && ask.schedule !== null) {
      const timetable = compile(ask.schedule)
      for (let at = timetable.next(ask.at); at <= ask.until && count < 100_000; at = timetable.next(at)) count++
    }
    lines.push(skipped({ cause: ask.id, scheduledAt: ask.at, untilAt: ask.until, count }))
  }
  return lines
}

/** Whether the lines are about just what waits: a backfill that went on since they were made would get two verdicts for an instant. */
export function coversAsks(lines: readonly LedgerLine[], asks: readonly Ask[]): boolean {
  const covered = lines.filter(({ cause }) => cause !== '')
  return covered.length === asks.length && asks.every(({ id, at }) => covered.some(line => line.cause === id && line.scheduledAt === at))
}

/** Removal is a mark: the row, its fence and its history stay. A running occurrence may finish. */
export function removed(row: JobRow, now: Instant): { row: JobRow; lines: readonly LedgerLine[] } {
  const waits = row.lease === null && row.open !== null
  const lines = waits ? [attemptLine(row, { end: 'abandoned', final: true, reason: 'removed', endedAt: now })] : []
  const next: JobRow = {
    ...row,
    ...(waits ? closed(row) : {}),
    asked: 0,
    removedAt: now,
    rev: row.rev + 1,
    nextAt: Number.POSITIVE_INFINITY,
    afterAt: Number.POSITIVE_INFINITY,
    oldSchedules: [],
    pause: null,
  }
  return { lines, row: row.lease === null ? { ...next, dueAt: Number.POSITIVE_INFINITY } : next }
}
