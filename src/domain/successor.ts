import type { JobRow } from './job.ts'
import type { Successor } from './settle.ts'
import { DueInstants } from './stretches.ts'
import type { Compile } from './timetable.ts'

/** What comes after the cursor, for the settle that is to come; null where the row knows it already, or has none. */
export function successorOf(row: JobRow, compile: Compile): Successor | null {
  if (row.afterAt !== null || row.parent !== null) return null
  return { rev: row.rev, nextAt: row.nextAt, afterAt: new DueInstants(row, compile).next(row.nextAt) }
}
