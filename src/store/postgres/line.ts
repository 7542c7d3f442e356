import type { LedgerLine } from '../../domain/run.ts'
import type { RunView } from '../store.ts'
import { instant, json, printable } from './parameter.ts'
import type { Values } from './row.ts'

/** A line of the ledger on its way there, as JSON. */
export function lineParameters(line: LedgerLine): object {
  return {
    row_id: line.rowId,
    job: line.jobId,
    cause: line.cause,
    scheduled_at: instant(line.scheduledAt),
    until_at: instant(line.untilAt),
    count: line.count,
    attempt: line.attempt,
    fence: line.fence,
    owner: line.owner,
    started_at: line.startedAt === null ? null : instant(line.startedAt),
    ended_at: instant(line.endedAt),
    outcome: line.end,
    final: line.final,
    reason: line.reason,
    error: json(line.error),
    result: json(line.result),
    log_tail: printable(line.logTail),
  }
}

/** Reads a line after the store's now. By position, as a ledger is long. */
export function runFrom(values: Values): RunView {
  return {
    id: values[1],
    job: values[2],
    rowId: values[3],
    jobId: values[4],
    cause: values[5],
    scheduledAt: values[6],
    untilAt: values[7],
    count: values[8],
    attempt: values[9],
    fence: values[10],
    owner: values[11],
    startedAt: values[12],
    endedAt: values[13],
    end: values[14],
    final: values[15],
    reason: values[16],
    error: values[17],
    result: values[18],
    logTail: values[19],
  } as RunView
}
