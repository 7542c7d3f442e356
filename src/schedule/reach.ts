import { DAY_MS, FIRST_YEAR, firstDayOf, LAST_YEAR } from './calendar.ts'

// Schedules name years 1 to 9999. Instants reach a day further, as local clocks run up to a day apart from UTC.
export const FIRST_INSTANT: number = (firstDayOf(FIRST_YEAR, 1) - 1) * DAY_MS
export const LAST_INSTANT: number = (firstDayOf(LAST_YEAR + 1, 1) + 1) * DAY_MS
