import type { LedgerLine } from '../../domain/run.ts'
import type { RunView } from '../store.ts'
import type { SqlValue } from './driver.ts'
import { jsonOf, textOf } from './row.ts'

/** A row of onetick_runs, beside its job's name, as SQLite gives it. */
export interface LineColumns {
  readonly id: number
  readonly row_id: number
  readonly job: number
  readonly name: string
  readonly cause: string
  readonly scheduled_at: number
  readonly until_at: number
  readonly count: number
  readonly attempt: number
  readonly fence: number
  readonly owner: string | null
  readonly started_at: number | null
  readonly ended_at: number
  readonly outcome: LedgerLine['end']
  readonly final: number
  readonly reason: LedgerLine['reason']
  readonly error: string | null
  readonly result: string | null
  readonly log_tail: string | null
}

export function lineOf(of: LineColumns): RunView {
  return {
    id: of.id,
    job: of.name,
    rowId: of.row_id,
    jobId: of.job,
    cause: of.cause,
    scheduledAt: of.scheduled_at,
    untilAt: of.until_at,
    count: of.count,
    attempt: of.attempt,
    fence: of.fence,
    owner: of.owner,
    startedAt: of.started_at,
    endedAt: of.ended_at,
    end: of.outcome,
    final: of.final === 1,
    reason: of.reason,
    error: jsonOf(of.error) as LedgerLine['error'],
    result: jsonOf(of.result),
    logTail: of.log_tail,
  }
}

/** In the order of the statement in book.ts. */
export function lineColumns(line: LedgerLine): SqlValue[] {
  return [
    line.rowId,
    line.jobId,
    line.cause,
    line.scheduledAt,
    line.untilAt,
    line.count,
    line.attempt,
    line.fence,
    line.owner,
    line.startedAt,
    line.endedAt,
    line.end,
    line.final ? 1 : 0,
    line.reason,
    textOf(line.error),
    textOf(line.result),
    line.logTail,
  ]
}
