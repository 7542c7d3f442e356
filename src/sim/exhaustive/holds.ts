import type { Clock } from '../../domain/clock.ts'
import type { Instant } from '../../domain/timetable.ts'
import { Holding } from '../../execution/holding.ts'
import type { Grant } from '../../store/store.ts'
import type { Hold, Replica } from './state.ts'

/** What a replica holds; how far it is trusted, and what it means to be told to stop, is the shipped `Holding`'s to say. */
export function held(grant: Grant, deadlineMs: number, seenAt: Instant): Hold {
  return {
    row: grant.row,
    deadlineMs,
    isLost: false,
    abortReason: null,
    stage: 'planning',
    seen: grant,
    seenAt,
    startedAt: -1,
    waiting: null,
    hasFailed: false,
    settle: null,
  }
}

/** S5. One that was told to stop does not count as running. */
export function isTrusted(hold: Hold, now: Instant): boolean {
  return hold.abortReason === null && !hold.isLost && holdingUntil(hold, now).isTrusted()
}

export function renewed(hold: Hold, deadlineMs: number): Hold {
  const holding = new Holding(hold.row, hold.deadlineMs, clock)
  holding.trustUntil(deadlineMs)
  return { ...hold, deadlineMs: holding.deadlineMs }
}

/** Told to stop, or not: one for each reason will do. */
export function stoppedFor({ row, abortReason }: Hold): Holding {
  const holding = stopped.get(abortReason) ?? new Holding(row, Number.POSITIVE_INFINITY, clock)
  if (abortReason !== null) holding.abort(abortReason)
  stopped.set(abortReason, holding)
  holding.row = row
  return holding
}

/** Only asked, never changed: one for each deadline will do. */
function holdingUntil({ row, deadlineMs }: Hold, now: Instant): Holding {
  const holding = standing.get(deadlineMs) ?? new Holding(row, deadlineMs, clock)
  standing.set(deadlineMs, holding)
  nowMs = now
  return holding
}

export function withHold(replica: Replica, hold: Hold): Replica {
  return { ...replica, holds: replica.holds.map(other => (isSame(other, hold) ? hold : other)) }
}

export function without(replica: Replica, hold: Hold): Replica {
  return { ...replica, holds: replica.holds.filter(other => !isSame(other, hold)) }
}

export function rowsOf(holds: readonly Hold[]): number[] {
  return [...new Set(holds.map(({ row }) => row.id))]
}

/** A lease that was claimed in vain, its plan unanswered until it was over, does not keep its holder from the row. */
export function rowsInUse({ holds }: Replica, now: Instant): number[] {
  return rowsOf(holds.filter(hold => hold.stage !== 'planning' || isTrusted(hold, now)))
}

function isSame({ row: a }: Hold, { row: b }: Hold): boolean {
  return a.id === b.id && a.fence === b.fence
}

let nowMs = 0
const clock: Clock = { now: () => nowMs, elapsedMs: () => nowMs, after: () => () => undefined }
const standing: Map<number, Holding> = new Map()
const stopped: Map<Hold['abortReason'], Holding> = new Map()
