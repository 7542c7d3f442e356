import type { JobRow } from '../domain/job.ts'
import type { Instant } from '../domain/timetable.ts'
import type { ToldEvent } from './history.ts'

/** A replica heard of this lease. */
export function told(at: Instant, replica: string, row: JobRow): ToldEvent {
  return { kind: 'told', at, replica, rowId: row.id, fence: row.fence }
}
