import { quoted } from '../domain/errors.ts'
import { DAY_MS, SECOND_MS } from './calendar.ts'
import { DayOfMonth } from './day-of-month.ts'
import { DayOfWeek } from './day-of-week.ts'
import { Days } from './days.ts'
import { HOUR, MINUTE, MONTH, readBits, SECOND } from './field.ts'
import type { LocalTimes } from './local-times.ts'
import { type Refuse, refusal } from './refusal.ts'
import { TimesOfDay } from './times-of-day.ts'
import { readYears } from './years.ts'

/** The seven fields in their order, as text in capitals. */
export interface CronFields {
  readonly second: string
  readonly minute: string
  readonly hour: string
  readonly dayOfMonth: string
  readonly month: string
  readonly dayOfWeek: string
  readonly year: string
}

/** The local times of a cron expression. */
export class CronTimes implements LocalTimes {
  /**
   * A `*` or a step in the second, minute or hour makes the schedule an interval in disguise: it then follows
   * elapsed time through clock changes, where a schedule of fixed times follows the DST policy.
   */
  readonly isIntervalLike: boolean
  readonly #days: Days
  readonly #timesOfDay: TimesOfDay

  constructor(fields: CronFields, refuse: Refuse) {
    this.#timesOfDay = new TimesOfDay({
      seconds: readBits(fields.second, SECOND, refuse),
      minutes: readBits(fields.minute, MINUTE, refuse),
      hours: readBits(fields.hour, HOUR, refuse),
    })
    this.#days = new Days({
      dayOfMonth: new DayOfMonth(fields.dayOfMonth, refuse),
      months: readBits(fields.month, MONTH, refuse),
      dayOfWeek: new DayOfWeek(fields.dayOfWeek, refuse),
      years: readYears(fields.year, refuse),
    })
    this.isIntervalLike = /[*/]/.test(fields.second + fields.minute + fields.hour)
  }

  atLeast(start: number): number {
    const day = Math.floor(start / DAY_MS)
    const runDay = this.#days.atLeast(day)
    if (runDay === day) {
      const second = this.#timesOfDay.atLeast(Math.ceil((start - day * DAY_MS) / SECOND_MS))
      if (second !== -1) return day * DAY_MS + second * SECOND_MS
      return this.#startOf(this.#days.atLeast(day + 1))
    }
    return this.#startOf(runDay)
  }

  /** False where no year that it allows has such a day. */
  areAny(): boolean {
    return this.#days.areAny()
  }

  #startOf(day: number): number {
    return day * DAY_MS + this.#timesOfDay.first * SECOND_MS
  }
}

/** Reads 5, 6 (seconds first) or 7 (year last) fields. Throws ONETICK_SCHEDULE, or ONETICK_SCHEDULE_NEVER for a day that no year has. */
export function readCron(expression: string, refuse: Refuse): CronTimes {
  const times = new CronTimes(splitFields(expression, refuse), refuse)
  if (times.areAny()) return times
  throw refusal(
    'ONETICK_SCHEDULE_NEVER',
    `schedule ${quoted(expression)}: no year that it allows has such a day.`,
    'Name a day that exists, as in 0 0 28 2 *.',
  )
}

export function splitFields(expression: string, refuse: Refuse): CronFields {
  const fields = expression.toUpperCase().split(/[ \t]+/)
  if (fields.length < 5 || fields.length > 7) {
    throw refuse(
      `cron has 5 fields, or 6 with seconds first, or 7 with the year last; this has ${fields.length}`,
      "Write minute, hour, day of month, month, day of week, as in '0 3 * * *'.",
    )
  }
  if (fields.length === 5) fields.unshift('0')
  const [second = '', minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = '', year = '*'] = fields
  return { second, minute, hour, dayOfMonth, month, dayOfWeek, year }
}
