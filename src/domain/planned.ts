import { nextFence } from './claim.ts'
import type { JobRow, Range } from './job.ts'
import type { Plan, Seen } from './plan.ts'
import { closed, free, laterOf } from './settle.ts'
import type { Instant } from './timetable.ts'

/** What writing a plan down does to the row. */
export type Planned =
  /** The row may start under its lease: opened now, or by an earlier call whose reply was lost. */
  | { readonly kind: 'granted'; readonly row: JobRow }
  /** Nothing to run: the lease is let go. */
  | { readonly kind: 'freed'; readonly row: JobRow }
  /** Overlap `allow`: the row is free again, an extra row (without its id yet) runs the occurrence. */
  | { readonly kind: 'spawned'; readonly row: JobRow; readonly child: Omit<JobRow, 'id'> }
  /** An extra row whose occurrence has its verdict. */
  | { readonly kind: 'gone' }
  /** The row is not what was planned for: read again, plan again. */
  | { readonly kind: 'stale'; readonly row: JobRow }

/**
 * Writes a plan down. The caller has checked the lease (`holds`), appends `plan.lines` and steps the ask
 * where the answer is not `stale` and nothing was granted before (`row.lease.mayStart`).
 */
export function planned(row: JobRow, plan: Plan, by: { readonly claimId: string; readonly ttlMs: number }, now: Instant): Planned {
  const { lease } = row
  if (lease === null) throw new TypeError(`row ${row.id} has no lease to plan under`)
  if (lease.mayStart) return { kind: 'granted', row }
  if (!isAsSeen(row, plan.seen)) return { kind: 'stale', row }
  if (plan.closes && row.parent !== null) return { kind: 'gone' }
  const judged = judgedRow(row, plan)
  const granted = { ...lease, mayStart: true }
  switch (plan.then.kind) {
    case 'idle':
      return { kind: 'freed', row: free(judged, now) }
    case 'again': {
      if (judged.open === null) throw new TypeError(`row ${row.id} has no open occurrence to start again`)
      return {
        kind: 'granted',
        row: { ...judged, acquiredAt: now, lease: granted, open: { ...judged.open, attempt: judged.open.attempt + 1 } },
      }
    }
    case 'open': {
      const { cause, scheduledAt, ask } = plan.then
      const asked = ask !== null && ask.nextAt === null ? judged.asked - 1 : judged.asked
      const open = { cause, scheduledAt, openedAt: now, attempt: 1, failures: 0, checkpoint: null }
      const opened: JobRow = {
        ...judged,
        asked,
        lastCause: cause,
        lastAt: cause === '' ? laterOf(judged.lastAt, scheduledAt) : judged.lastAt,
      }
      if (row.definition.policy.overlap !== 'allow') {
        return { kind: 'granted', row: { ...judged, acquiredAt: now, asked, open, lease: granted } }
      }
      // S3: the extra row's fence is above the one that planned it, and so is the parent's next
      const fence = nextFence(row.fence, now)
      const child = childOf(opened, {
        open,
        fence,
        dueAt: now + by.ttlMs,
        lease: { ...granted, claimId: by.claimId },
        parentFence: row.fence,
      })
      return { kind: 'spawned', child, row: free({ ...opened, fence }, now) }
    }
  }
}

/** Whether the row stands as it was read; what waits and what is open included. */
export function isAsSeen(row: JobRow, seen: Seen): boolean {
  return (
    row.rev === seen.rev &&
    row.asked === seen.asked &&
    row.nextAt === seen.nextAt &&
    row.open?.cause === seen.open?.cause &&
    row.open?.scheduledAt === seen.open?.scheduledAt
  )
}

function judgedRow(row: JobRow, plan: Plan): JobRow {
  const { pauseEnds } = plan
  const held = pauseEnds === null ? row.held : joined(row.held, pauseEnds, row.nextAt)
  // D1: somebody may have paused the job anew since it was planned
  const hasEnded = pauseEnds !== null && row.pause?.at === pauseEnds.from && row.pause.until === pauseEnds.until
  const rest: JobRow = {
    ...row,
    // a cancel that came while this was planned stays for the next renewal to tell
    ...(plan.closes ? closed(row) : {}),
    pause: hasEnded ? null : row.pause,
    held,
  }
  return plan.cursor === null ? rest : { ...rest, ...plan.cursor }
}

/** A quiet range joined to the one before it while the cursor has not passed that one. */
export function joined(before: Range | null, range: Range, nextAt: Instant): Range {
  if (before === null || nextAt > before.until) return range
  return { from: Math.min(before.from, range.from), until: Math.max(before.until, range.until) }
}

function childOf(
  row: JobRow,
  of: { open: JobRow['open']; fence: number; dueAt: Instant; lease: JobRow['lease']; parentFence: number },
): Omit<JobRow, 'id'> {
  const { id, ...rest } = row
  return {
    ...rest,
    acquiredAt: of.open?.openedAt ?? null,
    nextAt: Number.POSITIVE_INFINITY,
    afterAt: Number.POSITIVE_INFINITY,
    oldSchedules: [],
    open: of.open,
    dueAt: of.dueAt,
    fence: of.fence,
    lease: of.lease,
    busy: null,
    held: null,
    pause: null,
    asked: 0,
    lastCause: '',
    lastAt: null,
    lastOwner: null,
    endedAt: null,
    cancelFence: null,
    parent: { id, fence: of.parentFence },
  }
}
