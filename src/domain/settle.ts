import { dueWhenFree } from './due.ts'
import { type JobRow, leaseTask, type OpenOccurrence, type Range } from './job.ts'
import { attemptLine, type LedgerLine, type RunReport, type Verdict } from './run.ts'
import type { Instant } from './timetable.ts'

/** The cursor's successor as the replica computed it; used only where the row still stands as it was then. */
export interface Successor {
  readonly rev: number
  readonly nextAt: Instant
  readonly afterAt: Instant
}

/** How a holder ends its run. */
export type RunEnd =
  | ({ readonly kind: 'final'; readonly verdict: Verdict; readonly successor: Successor | null } & RunReport)
  /** It threw. Tried again after `backoffMs` where the policy allows it, else the final verdict is `failed`. */
  | ({ readonly kind: 'retry'; readonly backoffMs: number; readonly successor: Successor | null } & RunReport)
  /** The replica stops: another may go on at once. */
  | ({ readonly kind: 'handBack'; readonly started: boolean; readonly successor: Successor | null } & RunReport)

export interface Settled {
  /** Null: an extra row of overlap `allow`, gone with its occurrence. */
  readonly row: JobRow | null
  readonly lines: readonly LedgerLine[]
}

/** Ends the run that holds the row. The caller has checked the lease: `holds(row, …)` and `lease.mayStart`. */
export function settled(row: JobRow, end: RunEnd, now: Instant): Settled {
  if (row.task === leaseTask) return leaseReleased(row, end, now)
  if (row.open === null) throw new TypeError(`row ${row.id} has no open occurrence to settle`)
  switch (end.kind) {
    case 'final':
      return finished(row, end.verdict, end, end.successor, now)
    case 'retry':
      return retried(row, row.open, end, now)
    case 'handBack':
      return handedBack(row, row.open, end, now)
  }
}

function finished(row: JobRow, verdict: Verdict, report: RunReport, successor: Successor | null, now: Instant): Settled {
  const lines = [attemptLine(row, { ...report, end: verdict, final: true, endedAt: now })]
  if (row.parent !== null) return { row: null, lines }
  return { lines, row: advanced(free({ ...row, busy: busyAfter(row, now), ...closed(row) }, now), successor, now) }
}

function retried(row: JobRow, open: OpenOccurrence, end: RunEnd & { kind: 'retry' }, now: Instant): Settled {
  const { retries, maxAttempts } = row.definition.policy
  if (open.failures >= retries || open.attempt >= maxAttempts) return finished(row, 'failed', end, end.successor, now)
  const waiting: JobRow = { ...row, open: { ...open, failures: open.failures + 1 } }
  return {
    lines: [attemptLine(row, { ...end, end: 'failed', final: false, endedAt: now })],
    row: advanced(free(waiting, now, now + end.backoffMs), end.successor, now, now + end.backoffMs),
  }
}

function handedBack(row: JobRow, open: OpenOccurrence, end: RunEnd & { kind: 'handBack' }, now: Instant): Settled {
  if (!end.started) return { lines: [], row: free({ ...row, open: { ...open, attempt: open.attempt - 1 } }, now) }
  const { takeOver, maxAttempts } = row.definition.policy
  // S8: a started run that may not start again is given up here, not left for a plan to find
  if (!takeOver || open.attempt >= maxAttempts) {
    return finished(row, 'abandoned', { ...end, reason: 'handedBack' }, end.successor, now)
  }
  return { lines: [attemptLine(row, { ...end, end: 'handedBack', final: false, endedAt: now })], row: free(row, now) }
}

/** A lease by name: free from the moment it is let go. A line in the ledger only where it stood for an occurrence. */
function leaseReleased(row: JobRow, end: RunEnd, now: Instant): Settled {
  const freed: JobRow = { ...row, lease: null, lastOwner: row.lease?.owner ?? row.lastOwner, endedAt: now, dueAt: now }
  if (row.open === null) return { row: freed, lines: [] }
  const { open } = row
  switch (end.kind) {
    case 'final':
      return {
        lines: [attemptLine(row, { ...end, end: end.verdict, final: true, endedAt: now })],
        row: { ...freed, open: null, lastAt: open.scheduledAt },
      }
    case 'retry':
      return {
        lines: [attemptLine(row, { ...end, end: 'failed', final: false, endedAt: now })],
        row: { ...freed, open: { ...open, failures: open.failures + 1 } },
      }
    case 'handBack':
      if (!end.started) return { lines: [], row: { ...freed, open: { ...open, attempt: open.attempt - 1 } } }
      return { lines: [attemptLine(row, { ...end, end: 'handedBack', final: false, endedAt: now })], row: freed }
  }
}

/** The lease let go, the due instant by the one rule. */
export function free(row: JobRow, now: Instant, retryAt: Instant = now): JobRow {
  const freed: JobRow = { ...row, lease: null, lastOwner: row.lease?.owner ?? row.lastOwner, endedAt: now }
  return { ...freed, dueAt: dueWhenFree(freed, now, retryAt) }
}

/** The open occurrence is over. */
export function closed(row: JobRow): Pick<JobRow, 'open' | 'lastCause' | 'lastAt' | 'cancelFence'> {
  return {
    open: null,
    lastCause: row.open?.cause ?? row.lastCause,
    lastAt: row.open?.cause === '' ? laterOf(row.lastAt, row.open.scheduledAt) : row.lastAt,
    cancelFence: null,
  }
}

/** An instant that was skipped by hand ahead of time stays the last one settled while earlier ones end. */
export function laterOf(lastAt: Instant | null, at: Instant): Instant {
  return lastAt === null ? at : Math.max(lastAt, at)
}

/** D1, L3: a successor computed before an edit, or for another instant, is not taken; the next claim plans instead. */
function advanced(row: JobRow, successor: Successor | null, now: Instant, retryAt: Instant = now): JobRow {
  if (successor === null || row.afterAt !== null || row.rev !== successor.rev || row.nextAt !== successor.nextAt) return row
  const known: JobRow = { ...row, afterAt: successor.afterAt }
  return { ...known, dueAt: dueWhenFree(known, now, retryAt) }
}

/** With overlap `skip`, instants that came due since the first grant are skipped, joined to a range not yet passed. */
function busyAfter(row: JobRow, now: Instant): Range | null {
  if (row.definition.policy.overlap !== 'skip' || row.open === null) return row.busy
  const from = row.busy !== null && row.nextAt <= row.busy.until ? row.busy.from : row.open.openedAt
  return { from, until: now }
}

/** S4: the condition of every write of a holder. */
export function holds(row: JobRow | undefined, held: { readonly owner: string; readonly fence: number }): row is JobRow {
  return row !== undefined && row.fence === held.fence && row.lease?.owner === held.owner
}
