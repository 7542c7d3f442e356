import { type JobRow, leaseTask } from './job.ts'
import { attemptLine, type LedgerLine } from './run.ts'
import type { Instant } from './timetable.ts'

export interface Claimant {
  readonly owner: string
  readonly claimId: string
  readonly ttlMs: number
}

/** What one due row becomes when it is claimed. Parked: it was paused and is passed by. */
export interface Claimed {
  readonly granted: boolean
  readonly row: JobRow
  readonly lines: readonly LedgerLine[]
}

/**
 * Claims a due row. Due and expired are one test (`dueAt <= now`), so claiming and taking over are one path.
 * The common case opens the next instant on the spot; everything irregular is granted with `mayStart` false and planned first.
 */
export function claimed(row: JobRow, by: Claimant, now: Instant): Claimed {
  const vanished = row.lease?.mayStart === true && row.open !== null
  const lines = vanished ? [attemptLine(row, { end: 'leaseLost', final: false, endedAt: row.dueAt })] : []
  const fence = nextFence(row.fence, now)
  const lastOwner = row.lease?.owner ?? row.lastOwner
  if (isParked(row, now)) {
    const cancelFence = isCancelled(row) ? fence : null
    return { granted: false, lines, row: { ...row, fence, cancelFence, lease: null, lastOwner, dueAt: row.pause?.until ?? now } }
  }
  const mayStart = !needsPlan(row, now)
  const leased: JobRow = {
    ...row,
    fence,
    // a cancel that its holder never heard of is carried to the plan
    cancelFence: isCancelled(row) ? fence : null,
    lastOwner,
    lease: { owner: by.owner, claimId: by.claimId, mayStart },
    acquiredAt: now,
    dueAt: now + by.ttlMs,
  }
  if (!mayStart) return { granted: true, lines, row: leased }
  if (row.open !== null) return { granted: true, lines, row: { ...leased, open: { ...row.open, attempt: row.open.attempt + 1 } } }
  return {
    granted: true,
    lines,
    row: {
      ...leased,
      open: { cause: '', scheduledAt: row.nextAt, openedAt: now, attempt: 1, failures: 0, checkpoint: null },
      nextAt: row.afterAt ?? Number.POSITIVE_INFINITY,
      afterAt: null,
    },
  }
}

/** S3: greater than any before it, also when the row was lost or made anew; a safe integer until the year 2255. */
export function nextFence(fence: number, now: Instant): number {
  return Math.max(fence + 1, now * 1000)
}

/** Paused for now, unless somebody asked for a run and nothing is open. */
export function isParked(row: JobRow, now: Instant): boolean {
  return row.pause !== null && row.pause.until > now && !(row.open === null && row.asked > 0)
}

/** A cancel was asked of the fence that the row carries. */
export function isCancelled(row: JobRow): boolean {
  return row.cancelFence !== null && row.cancelFence === row.fence
}

/** False only where it is certain, without a schedule at hand, that the next instant (or attempt) may start at once. */
export function needsPlan(row: JobRow, now: Instant): boolean {
  const { policy } = row.definition
  if (row.task === leaseTask || row.removedAt !== null || isCancelled(row)) return true
  if (row.open === null) {
    return (
      row.asked > 0 ||
      // S2: nothing is due yet, the row is only free of a lease under which it was planned
      row.nextAt + policy.jitterMs > now ||
      row.afterAt === null ||
      row.afterAt <= now ||
      row.nextAt < now - policy.windowMs ||
      (row.busy !== null && row.nextAt <= row.busy.until) ||
      (row.held !== null && row.nextAt <= row.held.until) ||
      row.pause !== null ||
      policy.overlap === 'allow'
    )
  }
  const { attempt, failures, cause, scheduledAt } = row.open
  return (
    attempt >= policy.maxAttempts ||
    (!policy.takeOver && attempt > failures) ||
    (attempt === 0 && cause === '' && scheduledAt < now - policy.windowMs) ||
    (cause === '' && row.nextAt <= now && (policy.overlap === 'replace' || (failures > 0 && policy.misfire !== 'all')))
  )
}

/** What others have left this long is anyone's, beyond the fair share. */
export const leftoverMs = 50

/** How many due rows one ask takes: a fair share of what is due among the live replicas, never more than it has room for. */
export function fairShare(of: { free: number; due: number; leftOver: number; live: number }): number {
  return Math.min(of.free, Math.max(1, Math.ceil(of.due / Math.max(1, of.live)), of.leftOver))
}

export type Acquired =
  | { readonly kind: 'granted'; readonly row: JobRow; readonly lines: readonly LedgerLine[] }
  | { readonly kind: 'held'; readonly owner: string | null; readonly until: Instant }
  | { readonly kind: 'done'; readonly lastAt: Instant }
  | { readonly kind: 'refused' }

/** How far ahead of the store's clock an occurrence of a lease by name may lie. */
const aheadMs = 2000

/**
 * One lease by name. With `at` it stands for that occurrence: refused once it, or a later one, was settled;
 * the same one again after a vanished holder is its next attempt, a later one gives the old one up.
 */
export function acquired(row: JobRow, by: Claimant & { readonly at?: Instant }, now: Instant): Acquired {
  const { at } = by
  if (row.dueAt > now && row.lease !== null) {
    if (row.lease.owner === by.owner && row.lease.claimId === by.claimId) return { kind: 'granted', row, lines: [] }
    return { kind: 'held', owner: row.lease.owner, until: row.dueAt }
  }
  if (at !== undefined && at > now + aheadMs) return { kind: 'refused' }
  const latest = Math.max(row.lastAt ?? Number.NEGATIVE_INFINITY, (row.open?.scheduledAt ?? Number.NEGATIVE_INFINITY) - 1)
  if (at !== undefined && at <= latest) return { kind: 'done', lastAt: latest }
  const fence = nextFence(row.fence, now)
  const lines: LedgerLine[] = []
  let { open, lastAt } = row
  if (open !== null && row.lease !== null) lines.push(attemptLine(row, { end: 'leaseLost', final: false, endedAt: row.dueAt }))
  if (open !== null && at !== open.scheduledAt) {
    // S4: under the new fence, or the vanished holder would find its late settle in the ledger
    lines.push(attemptLine({ ...row, fence }, { end: 'abandoned', final: true, reason: 'takeover', endedAt: now }))
    lastAt = open.scheduledAt
    open = null
  }
  if (at !== undefined) {
    const fresh = { cause: '', scheduledAt: at, openedAt: now, attempt: 0, failures: 0, checkpoint: null }
    open = { ...(open ?? fresh), attempt: (open?.attempt ?? 0) + 1 }
  }
  const lease = { owner: by.owner, claimId: by.claimId, mayStart: true }
  return {
    kind: 'granted',
    lines,
    row: { ...row, open, lastAt, fence, lease, acquiredAt: now, dueAt: now + by.ttlMs, lastOwner: row.lease?.owner ?? row.lastOwner },
  }
}
