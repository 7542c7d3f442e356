import type { Schedule } from '../domain/timetable.ts'
import { inWords } from '../schedule/index.ts'
import { printable } from './text.ts'

/** Also of a stored schedule that this release cannot read. */
export function scheduleInWords(schedule: Schedule | null): string {
  if (schedule === null) return 'Only when asked for'
  try {
    return inWords(schedule)
  } catch {
    return printable(schedule.schedule)
  }
}
