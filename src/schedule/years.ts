import { LAST_YEAR } from './calendar.ts'
import { readRange, type ValueRange, YEAR } from './field.ts'
import type { Refuse } from './refusal.ts'

/** The years of a schedule. Ranges, not bits: 9,999 bits would be more than a whole schedule may weigh. */
export class Years {
  readonly #ranges: readonly ValueRange[]

  constructor(ranges: readonly ValueRange[]) {
    this.#ranges = ranges
  }

  /** The first year that is `year` or later, or `Infinity`. */
  atLeast(year: number): number {
    let earliest = Infinity
    for (const range of this.#ranges) earliest = Math.min(earliest, firstInRange(range, year))
    return earliest
  }
}

const EVERY_YEAR = new Years([{ from: YEAR.min, to: LAST_YEAR, step: 1 }])

export function readYears(text: string, refuse: Refuse): Years {
  return text === '*' ? EVERY_YEAR : new Years(text.split(',').map(item => readRange(item, YEAR, refuse)))
}

function firstInRange({ from, to, step }: ValueRange, year: number): number {
  const first = year <= from ? from : from + Math.ceil((year - from) / step) * step
  return first <= to ? first : Infinity
}
