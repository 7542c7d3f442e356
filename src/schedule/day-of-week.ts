import { quoted } from '../domain/errors.ts'
import type { MonthShape } from './day-of-month.ts'
import { DAY_OF_WEEK, readRange, readValue } from './field.ts'
import type { Refuse } from './refusal.ts'

/** Bits of the days 1, 8, 15, 22 and 29. */
const EVERY_SEVENTH_DAY = 0b1_0000001_0000001_0000001_0000001
const NO_WEEKDAYS: readonly number[] = []

/** The day-of-week field: numbers and names, `FRI#2` (second Friday), `FRIL` (last Friday). */
export class DayOfWeek {
  /** Only a bare `*` or `?` leaves the day to the day-of-month field. */
  readonly isStar: boolean
  /** Bits of the weekdays that count each time; 0 is Sunday. */
  #weekdays = 0
  /** Bits of the weekdays that count only as the last of their month. */
  #last = 0
  /** Weekdays that count only as the first to the fifth of their month: at 0 the weekdays of `#1`. */
  #numbered = NO_WEEKDAYS

  constructor(text: string, refuse: Refuse) {
    this.isStar = text === '*' || text === '?'
    if (!this.isStar) for (const item of text.split(',')) this.#add(item, refuse)
  }

  /** The days of one month, as bits; some may lie past its end. A star gives none. */
  daysOf({ length, startsOn }: MonthShape): number {
    let days = 0
    for (let weekday = 0; weekday < 7; weekday++) {
      const first = (weekday - startsOn + 7) % 7
      if (this.#weekdays & (1 << weekday)) days |= EVERY_SEVENTH_DAY << first
      if (this.#last & (1 << weekday)) days |= 1 << (first + (first + 28 < length ? 28 : 21))
      for (let week = 0; week < this.#numbered.length; week++) {
        if ((this.#numbered[week] as number) & (1 << weekday) && first + 7 * week < length) days |= 1 << (first + 7 * week)
      }
    }
    return days
  }

  #add(item: string, refuse: Refuse): void {
    if (item === 'L')
      throw refuse(
        "a lone 'L' in the day of week field means different days to different programs",
        'Write SAT for Saturdays, or SATL for the last Saturday of the month.',
      )
    if (item.includes('#')) this.#addNumbered(item, refuse)
    else if (/^(?:\d+|[A-Z]{3})L$/.test(item)) this.#last |= 1 << (readValue(item.slice(0, -1), DAY_OF_WEEK, refuse) % 7)
    else {
      const { from, to, step } = readRange(item, DAY_OF_WEEK, refuse)
      for (let weekday = from; weekday <= to; weekday += step) this.#weekdays |= 1 << (weekday % 7)
    }
  }

  #addNumbered(item: string, refuse: Refuse): void {
    const [weekday = '', number = ''] = item.split('#')
    if (number === 'L')
      throw refuse(`the day of week field does not understand ${quoted(item)}`, `Write ${weekday}L for the last one of the month.`)
    if (!/^[1-5]$/.test(number) || item !== `${weekday}#${number}`) {
      throw refuse(`${quoted(item)} does not number a weekday of the month`, 'Write a weekday, # and a number from 1 to 5, as in FRI#2.')
    }
    const numbered = [0, 0, 0, 0, 0].map((none, week) => this.#numbered[week] ?? none)
    numbered[Number(number) - 1] = (numbered[Number(number) - 1] as number) | (1 << (readValue(weekday, DAY_OF_WEEK, refuse) % 7))
    this.#numbered = numbered
  }
}
