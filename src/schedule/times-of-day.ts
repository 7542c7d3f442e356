import type { BitSet } from './bit-set.ts'

/** The times of day at which a cron expression runs, in seconds from midnight. */
export class TimesOfDay {
  readonly #hours: BitSet
  readonly #minutes: BitSet
  readonly #seconds: BitSet
  readonly #firstMinute: number
  readonly #firstSecond: number
  /** The first of the day. */
  readonly first: number

  constructor(fields: { hours: BitSet; minutes: BitSet; seconds: BitSet }) {
    this.#hours = fields.hours
    this.#minutes = fields.minutes
    this.#seconds = fields.seconds
    this.#firstMinute = fields.minutes.atLeast(0)
    this.#firstSecond = fields.seconds.atLeast(0)
    this.first = fields.hours.atLeast(0) * 3600 + this.#firstMinute * 60 + this.#firstSecond
  }

  /** The first that is `start` or later, or -1 when the day has no more. */
  atLeast(start: number): number {
    const startMinute = Math.floor(start / 60)
    const startHour = Math.floor(start / 3600)
    if (startHour < 24 && this.#hours.has(startHour)) {
      const minute = startMinute - startHour * 60
      if (this.#minutes.has(minute)) {
        const second = this.#seconds.atLeast(start - startMinute * 60)
        if (second !== -1) return startMinute * 60 + second
      }
      const later = this.#minutes.atLeast(minute + 1)
      if (later !== -1) return startHour * 3600 + later * 60 + this.#firstSecond
    }
    const hour = this.#hours.atLeast(startHour + 1)
    return hour === -1 ? -1 : hour * 3600 + this.#firstMinute * 60 + this.#firstSecond
  }
}
