import { quoted } from '../domain/errors.ts'
import type { Instant, Timetable } from '../domain/timetable.ts'
import { DAY_MS, FIRST_YEAR, firstDayOf, HOUR_MS, LAST_YEAR, monthLength } from './calendar.ts'
import type { LocalTimes } from './local-times.ts'
import { type Refuse, refusal } from './refusal.ts'

const FORM = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(Z|[+-]\d\d:\d\d)?$/i
/** No zone has ever been further from UTC. */
const LARGEST_OFFSET_MS = 18 * HOUR_MS

/** One instant, and then never again. */
export class OneInstant implements Timetable {
  readonly instant: Instant

  constructor(instant: Instant) {
    this.instant = instant
  }

  next(after: Instant): Instant {
    return after < this.instant ? this.instant : Infinity
  }
}

/** One local time, which the zone and the DST policy turn into an instant, two or none. */
export class OneLocalTime implements LocalTimes {
  readonly isIntervalLike = false
  readonly local: number

  constructor(local: number) {
    this.local = local
  }

  atLeast(start: number): number {
    return start <= this.local ? this.local : Infinity
  }
}

/** Reads `2027-01-01T09:00:00Z`, the same with an offset, or without either. Throws ONETICK_SCHEDULE, or ONETICK_SCHEDULE_NEVER for a day that is none. */
export function readOneOff(text: string, refuse: Refuse): OneInstant | OneLocalTime {
  const parts = FORM.exec(text)
  if (parts === null) {
    throw refuse(
      'this is not a date and time',
      'Write 2027-01-01T09:00:00Z, or the same with an offset (+01:00), or without either beside a timeZone.',
    )
  }
  const local = readLocal(parts, text, refuse)
  const offset = parts[8]
  return offset === undefined ? new OneLocalTime(local) : new OneInstant(local - readOffset(offset, refuse))
}

function readLocal(parts: RegExpExecArray, text: string, refuse: Refuse): number {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(part => Number(part ?? 0))
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1 || day > monthLength(year, month)) {
    throw refusal(
      'ONETICK_SCHEDULE_NEVER',
      `schedule ${quoted(text)}: the calendar has no such day.`,
      'Name a day that exists, as in 2027-02-28T09:00:00Z.',
    )
  }
  if (hour > 23 || minute > 59 || second > 59) throw refuse('a day has no such time', 'Write a time from 00:00:00 to 23:59:59.')
  const ms = Number((parts[7] ?? '').padEnd(3, '0'))
  return (firstDayOf(year, month) + day - 1) * DAY_MS + hour * HOUR_MS + minute * 60_000 + second * 1_000 + ms
}

function readOffset(text: string, refuse: Refuse): number {
  if (text.toUpperCase() === 'Z') return 0
  const minutes = Number(text.slice(4, 6))
  const offsetMs = Number(text.slice(1, 3)) * HOUR_MS + minutes * 60_000
  if (minutes > 59 || offsetMs > LARGEST_OFFSET_MS)
    throw refuse(`the offset ${quoted(text)} is not one that clocks have`, 'Write an offset from -18:00 to +18:00, or Z.')
  return text.startsWith('-') ? -offsetMs : offsetMs
}
