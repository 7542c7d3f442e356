/**
 * The Gregorian calendar in whole numbers. A day is counted from 1970-01-01 (day 0); a local time is
 * written as the milliseconds that a clock in UTC would have counted when it shows the same figures.
 */

export const SECOND_MS = 1_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** Years a schedule may name. */
export const FIRST_YEAR = 1
export const LAST_YEAR = 9999

/** Days from 0001-01-01 to 1970-01-01. */
const DAYS_BEFORE_EPOCH = 719_162
/** 400 years have 97 leap years. */
const DAYS_A_YEAR = 365.2425
/** Days of an ordinary year that lie before each month; month 1 is January. */
const DAYS_BEFORE_MONTH = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]

export function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

export function monthLength(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** The day on which a month begins. */
export function firstDayOf(year: number, month: number): number {
  const passed = year - 1
  const leapDays = Math.floor(passed / 4) - Math.floor(passed / 100) + Math.floor(passed / 400)
  return 365 * passed + leapDays - DAYS_BEFORE_EPOCH + daysBeforeMonth(year, month)
}

export function yearOf(day: number): number {
  const guess = Math.floor((day + DAYS_BEFORE_EPOCH) / DAYS_A_YEAR) + 1
  if (day < firstDayOf(guess, 1)) return guess - 1
  return day < firstDayOf(guess + 1, 1) ? guess : guess + 1
}

/** The month of a day that lies in `year`. */
export function monthOf(day: number, year: number): number {
  const dayOfYear = day - firstDayOf(year, 1)
  let month = (dayOfYear >> 5) + 1
  while (dayOfYear >= daysBeforeMonth(year, month + 1)) month++
  return month
}

/** 0 is Sunday. */
export function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7
}

/** A local time as `2027-01-31T09:30:00`, with milliseconds only where there are any. */
export function localText(local: number): string {
  const day = Math.floor(local / DAY_MS)
  const year = yearOf(day)
  const month = monthOf(day, year)
  const date = [padded(year, 4), padded(month, 2), padded(day - firstDayOf(year, month) + 1, 2)].join('-')
  const rest = local - day * DAY_MS
  const time = [Math.floor(rest / HOUR_MS), Math.floor(rest / 60_000) % 60, Math.floor(rest / SECOND_MS) % 60]
    .map(part => padded(part, 2))
    .join(':')
  const ms = rest % SECOND_MS
  return `${date}T${time}${ms === 0 ? '' : `.${padded(ms, 3)}`}`
}

/** A distance from UTC as `+05:30`, with seconds only where there are any. */
export function offsetText(offsetMs: number): string {
  const seconds = Math.abs(offsetMs) / SECOND_MS
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map(part => padded(part, 2))
  return `${offsetMs < 0 ? '-' : '+'}${parts.slice(0, seconds % 60 === 0 ? 2 : 3).join(':')}`
}

function daysBeforeMonth(year: number, month: number): number {
  const days = DAYS_BEFORE_MONTH[month] as number
  return month > 2 && isLeapYear(year) ? days + 1 : days
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0')
}
