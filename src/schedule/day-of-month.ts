import { quoted } from '../domain/errors.ts'
import { DAY_OF_MONTH, readRange, readValue } from './field.ts'
import type { Refuse } from './refusal.ts'

/** A month as far as its days depend on it. Days are bits: bit 0 is the 1st. */
export interface MonthShape {
  readonly length: number
  /** Weekday of the 1st; 0 is Sunday. */
  readonly startsOn: number
}

/** The day-of-month field: numbers, `L` (last day), `LW` (last working day), `15W` (working day nearest the 15th). */
export class DayOfMonth {
  /** Only a bare `*` or `?` leaves the day to the day-of-week field. */
  readonly isStar: boolean
  #days = 0
  #nearestTo = 0
  #last = false
  #lastWorkingDay = false

  constructor(text: string, refuse: Refuse) {
    this.isStar = text === '*' || text === '?'
    if (!this.isStar) for (const item of text.split(',')) this.#add(item, refuse)
  }

  /** The days of one month, as bits; some may lie past its end. A star gives none. */
  daysOf({ length, startsOn }: MonthShape): number {
    let days = this.#days
    if (this.#last) days |= bit(length)
    if (this.#lastWorkingDay) days |= bit(nearestWorkingDay(length, { length, startsOn }))
    for (let day = 1; this.#nearestTo !== 0 && day <= length; day++) {
      if (this.#nearestTo & bit(day)) days |= bit(nearestWorkingDay(day, { length, startsOn }))
    }
    return days
  }

  #add(item: string, refuse: Refuse): void {
    if (item === 'L') this.#last = true
    else if (item === 'LW') this.#lastWorkingDay = true
    else if (/^\d+W$/.test(item)) this.#nearestTo |= bit(readValue(item.slice(0, -1), DAY_OF_MONTH, refuse))
    else if (item.startsWith('L-'))
      throw refuse(`a day counted from the end of the month (${quoted(item)}) is not offered`, 'Write L for the last day, or a number.')
    else {
      const { from, to, step } = readRange(item, DAY_OF_MONTH, refuse)
      for (let day = from; day <= to; day += step) this.#days |= bit(day)
    }
  }
}

/** Monday to Friday, as near as can be without leaving the month. */
function nearestWorkingDay(day: number, { length, startsOn }: MonthShape): number {
  const weekday = (startsOn + day - 1) % 7
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === length ? day - 2 : day + 1
  return day
}

function bit(day: number): number {
  return 1 << (day - 1)
}
