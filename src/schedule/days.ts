import { type BitSet, lowestBit } from './bit-set.ts'
import { FIRST_YEAR, firstDayOf, isLeapYear, LAST_YEAR, monthLength, monthOf, weekdayOf, yearOf } from './calendar.ts'
import type { DayOfMonth } from './day-of-month.ts'
import type { DayOfWeek } from './day-of-week.ts'
import type { Years } from './years.ts'

const FIRST_DAY = firstDayOf(FIRST_YEAR, 1)
const LAST_DAY = firstDayOf(LAST_YEAR + 1, 1) - 1
/** A year is leap or not and starts on one of seven weekdays. */
const KINDS_OF_YEAR = 14

/** The days on which a cron expression runs, read off one month at a time: a month is a word of bits. */
export class Days {
  readonly #dayOfMonth: DayOfMonth
  readonly #dayOfWeek: DayOfWeek
  readonly #months: BitSet
  readonly #years: Years

  // The open month; its days are bits, bit 0 is the 1st.
  #year = 0
  #month = 0
  #first = 0
  #length = 0
  #days = 0

  constructor(fields: { dayOfMonth: DayOfMonth; dayOfWeek: DayOfWeek; months: BitSet; years: Years }) {
    this.#dayOfMonth = fields.dayOfMonth
    this.#dayOfWeek = fields.dayOfWeek
    this.#months = fields.months
    this.#years = fields.years
  }

  /** The first day that is `start` or later, or `Infinity`. */
  atLeast(start: number): number {
    if (start > LAST_DAY) return Infinity
    const day = Math.max(start, FIRST_DAY)
    if (day < this.#first || day >= this.#first + this.#length) this.#openAt(day)
    let rest = this.#days & (-1 << (day - this.#first))
    while (rest === 0) {
      if (!this.#openNext()) return Infinity
      rest = this.#days
    }
    return this.#first + lowestBit(rest)
  }

  /** Whether there is any such day at all, as there is not for 30 February. Looks at one year of each kind. */
  areAny(): boolean {
    const seen = new Set<number>()
    for (let year = this.#years.atLeast(FIRST_YEAR); year <= LAST_YEAR && seen.size < KINDS_OF_YEAR; year = this.#years.atLeast(year + 1)) {
      const kind = weekdayOf(firstDayOf(year, 1)) + (isLeapYear(year) ? 7 : 0)
      if (seen.has(kind)) continue
      seen.add(kind)
      for (let month = this.#months.atLeast(1); month !== -1; month = this.#months.atLeast(month + 1)) {
        this.#open(year, month)
        if (this.#days !== 0) return true
      }
    }
    return false
  }

  #openAt(day: number): void {
    const year = yearOf(day)
    const month = monthOf(day, year)
    this.#open(year, month)
    if (!this.#months.has(month) || this.#years.atLeast(year) !== year) this.#days = 0
  }

  /** Goes on to the next month that the schedule names; false where there is none. */
  #openNext(): boolean {
    const inThisYear = this.#years.atLeast(this.#year) === this.#year ? this.#months.atLeast(this.#month + 1) : -1
    if (inThisYear !== -1) {
      this.#open(this.#year, inThisYear)
      return true
    }
    const year = this.#years.atLeast(this.#year + 1)
    if (year > LAST_YEAR) return false
    this.#open(year, this.#months.atLeast(1))
    return true
  }

  #open(year: number, month: number): void {
    this.#year = year
    this.#month = month
    this.#first = firstDayOf(year, month)
    this.#length = monthLength(year, month)
    this.#days = this.#daysOfOpenMonth() & (0x7fffffff >>> (31 - this.#length))
  }

  /** With both day fields restricted either is enough; a star among them adds no day of its own. */
  #daysOfOpenMonth(): number {
    if (this.#dayOfMonth.isStar && this.#dayOfWeek.isStar) return -1
    const shape = { length: this.#length, startsOn: weekdayOf(this.#first) }
    return this.#dayOfMonth.daysOf(shape) | this.#dayOfWeek.daysOf(shape)
  }
}
