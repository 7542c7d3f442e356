import type { JobRow } from './job.ts'
import type { Json } from './json.ts'
import type { Instant } from './timetable.ts'

/** How one attempt ended. */
export type Outcome = 'succeeded' | 'failed' | 'timedOut' | 'cancelled' | 'stuck' | 'leaseLost' | 'handedBack'

/** How an occurrence ended, once and for all. */
export type Verdict = 'succeeded' | 'failed' | 'timedOut' | 'cancelled' | 'skipped' | 'missed' | 'superseded' | 'abandoned'

/** Why, in a word; null where the verdict says it all. */
export type Reason =
  | 'overlap'
  | 'paused'
  | 'byHand'
  | 'removed'
  | 'window'
  | 'misfire'
  | 'replaced'
  | 'attempts'
  | 'takeover'
  | 'handedBack'
  | 'nextDue'

/** A line of the ledger: one attempt (`final` false), or the end of one occurrence or of a range of alike ones. */
export interface LedgerLine {
  readonly rowId: number
  readonly jobId: number
  readonly cause: string
  readonly scheduledAt: Instant
  /** The last instant of a range; `scheduledAt` where it is one occurrence. */
  readonly untilAt: Instant
  /** How many occurrences the range holds. Counting stops at 100,000. */
  readonly count: number
  /** 0: never started. */
  readonly attempt: number
  readonly fence: number
  readonly owner: string | null
  readonly startedAt: Instant | null
  readonly endedAt: Instant
  readonly end: Outcome | Verdict
  readonly final: boolean
  readonly reason: Reason | null
  readonly error: RunError | null
  readonly result: Json
  readonly logTail: string | null
}

export interface RunError {
  readonly name: string
  readonly message: string
  readonly stack: string | null
}

/** What a replica reports of a run beside its end. */
export interface RunReport {
  readonly reason?: Reason | null
  readonly error?: RunError | null
  readonly result?: Json
  readonly logTail?: string | null
}

type Ending = { readonly end: Outcome | Verdict; readonly final: boolean; readonly endedAt: Instant } & RunReport

/** The line that ends the row's running attempt. */
export function attemptLine(row: JobRow, ending: Ending): LedgerLine {
  if (row.open === null) throw new TypeError(`row ${row.id} has no open occurrence to end`)
  return {
    rowId: row.id,
    jobId: jobIdOf(row),
    cause: row.open.cause,
    scheduledAt: row.open.scheduledAt,
    untilAt: row.open.scheduledAt,
    count: 1,
    attempt: row.open.attempt,
    fence: row.fence,
    owner: row.lease?.owner ?? row.lastOwner,
    startedAt: row.lease?.mayStart ? row.acquiredAt : null,
    endedAt: ending.endedAt,
    end: ending.end,
    final: ending.final,
    reason: ending.reason ?? null,
    error: ending.error ?? null,
    result: ending.result ?? null,
    logTail: ending.logTail ?? null,
  }
}

/** Occurrences are the job's, also where an extra row of overlap `allow` ran them. */
export function jobIdOf(row: JobRow): number {
  return row.parent?.id ?? row.id
}
