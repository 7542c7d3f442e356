import type { JobRow } from './job.ts'
import type { Instant } from './timetable.ts'

/**
 * When a row without a lease may next be claimed. `retryAt` is asked for only while an occurrence is open:
 * the end of its back-off, or now where it was handed back.
 */
export function dueWhenFree(row: JobRow, now: Instant, retryAt: Instant = now): Instant {
  const due = row.open === null ? dueWhenIdle(row, now) : dueWhenWaiting(row, retryAt)
  if (row.pause === null || (row.open === null && row.asked > 0)) return due
  return Math.max(due, row.pause.until)
}

function dueWhenIdle(row: JobRow, now: Instant): Instant {
  if (row.removedAt !== null) return Number.POSITIVE_INFINITY
  if (row.asked > 0) return now
  return row.nextAt + row.definition.policy.jitterMs
}

/** A retry of a scheduled occurrence yields to the next instant, so it wakes for either. */
function dueWhenWaiting(row: JobRow, retryAt: Instant): Instant {
  const { policy } = row.definition
  if (row.open?.cause !== '' || policy.misfire === 'all') return retryAt
  return Math.min(retryAt, row.nextAt + policy.jitterMs)
}
