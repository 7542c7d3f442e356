import type { Json } from '../domain/json.ts'
import type { Outcome, Reason, RunError, Verdict } from '../domain/run.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Occurrence } from './occurrence.ts'

/** One start of a handler, over or not. */
export interface Attempt {
  readonly attempt: number
  readonly replica: string | null
  readonly fence: number
  readonly startedAt: Instant
  /** Null, as `end`: it has not ended. */
  readonly endedAt: Instant | null
  readonly end: Outcome | Verdict | null
  readonly reason: Reason | null
  readonly error: RunError | null
  readonly result: Json
  readonly logTail: string | null
  /** Whose attempt it goes on from: one that vanished (taken over), or one that stopped (handed back). */
  readonly after: { readonly replica: string; readonly how: 'takenOver' | 'handedBack' } | null
  /** Of one that has not ended: when its lease runs out. */
  readonly leaseUntil: Instant | null
}

export function attemptsOf({ lines, row }: Occurrence): Attempt[] {
  const attempts: Attempt[] = []
  for (const { attempt, owner: replica, fence, startedAt, endedAt, end, reason, error, result, logTail } of lines) {
    if (startedAt === null) continue
    const ended = { endedAt, end, reason, error, result, logTail, leaseUntil: null }
    attempts.push({ attempt, replica, fence, startedAt, ...ended, after: origin(attempts.at(-1)) })
  }
  if (row?.open != null && row.lease?.mayStart && row.acquiredAt !== null) {
    const running = { endedAt: null, end: null, reason: null, error: null, result: null, logTail: null, leaseUntil: row.dueAt }
    const { attempt } = row.open
    attempts.push({
      attempt,
      replica: row.lease.owner,
      fence: row.fence,
      startedAt: row.acquiredAt,
      ...running,
      after: origin(attempts.at(-1)),
    })
  }
  return attempts
}

function origin(before: Attempt | undefined): Attempt['after'] {
  if (before === undefined || before.replica === null) return null
  if (before.end === 'leaseLost') return { replica: before.replica, how: 'takenOver' }
  return before.end === 'handedBack' ? { replica: before.replica, how: 'handedBack' } : null
}
