import { quoted } from '../domain/errors.ts'
import type { Instant, Schedule, Timetable } from '../domain/timetable.ts'
import { localText } from './calendar.ts'
import { checkKinds, type ReadSchedule, readSchedule } from './read-schedule.ts'
import { refusal } from './refusal.ts'
import { zoneOf } from './zone.ts'
import { passesOf, ZonedTimetable } from './zoned.ts'

const MAX_KEPT = 4_096
const kept = new Map<string, Timetable>()

/**
 * Turns a schedule into its instants. Jobs that share expression, zone and DST policy share one timetable.
 *
 * What is valid does not depend on the present: a schedule that was stored last year and lies in the past by now compiles.
 * Throws ONETICK_SCHEDULE, ONETICK_SCHEDULE_NEVER (a day that no year has), ONETICK_TIME_ZONE or ONETICK_OPTION.
 */
export function compileSchedule(spec: Schedule): Timetable {
  checkKinds(spec)
  const key = `${spec.schedule}\n${spec.timeZone}\n${spec.dst?.gap}\n${spec.dst?.fold}`
  let timetable = kept.get(key)
  if (timetable === undefined) {
    timetable = timetableOf(readSchedule(spec))
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value as string)
    kept.set(key, timetable)
  }
  return timetable
}

/**
 * For whoever declares a new job: refuses a schedule that has no instant later than `after`, and returns the timetable.
 *
 * Throws ONETICK_SCHEDULE_NEVER, and whatever `compileSchedule` throws.
 */
export function assertFires(spec: Schedule, after: Instant): Timetable {
  const timetable = compileSchedule(spec)
  if (timetable.next(after) === Infinity) {
    throw refusal(
      'ONETICK_SCHEDULE_NEVER',
      `schedule ${quoted(spec.schedule)} in ${spec.timeZone ?? 'UTC'} has no instant later than ${localText(Math.floor(after))}Z.`,
    )
  }
  return timetable
}

export function timetableOf(read: ReadSchedule): Timetable {
  if ('timetable' in read) return read.timetable
  return new ZonedTimetable(read.times, zoneOf(read.timeZone), passesOf(read.dst, read.times.isIntervalLike))
}
