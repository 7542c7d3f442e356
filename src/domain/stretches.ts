import type { JobRow, OldSchedule } from './job.ts'
import type { Compile, Instant, Timetable } from './timetable.ts'

/** What is to become of a due instant, before the misfire policy picks among those that may run. */
export type Judgement = 'run' | 'overlap' | 'paused' | 'missed'

/** Neighbouring due instants of one judgement. */
export interface Stretch {
  readonly judgement: Judgement
  readonly first: Instant
  /** The one before `last`; null in a stretch of one. */
  readonly beforeLast: Instant | null
  readonly last: Instant
  readonly count: number
}

/** Counting due instants stops here; judging them goes on. */
export const countLimit = 100_000

/** The instants of a row from its cursor on: by its old schedules up to the end of each, then by the current one. */
export class DueInstants {
  readonly #row: JobRow
  readonly #pieces: readonly { readonly timetable: Timetable; readonly until: Instant }[]

  constructor(row: JobRow, compile: Compile) {
    this.#row = row
    const current: OldSchedule = { schedule: row.definition.schedule, until: Number.POSITIVE_INFINITY }
    this.#pieces = [...row.oldSchedules, current].map(({ schedule, until }) => ({
      until,
      timetable: schedule === null ? never : compile(schedule),
    }))
  }

  /** The first instant later than `after`. */
  next(after: Instant): Instant {
    let from = after
    if (from === Number.POSITIVE_INFINITY) return from
    for (const { timetable, until } of this.#pieces) {
      if (from >= until) continue
      const instant = timetable.next(from)
      if (instant <= until) return instant
      from = until
    }
    return Number.POSITIVE_INFINITY
  }

  /** All instants from the cursor up to `horizon`, as stretches. At most `countLimit` are walked one by one. */
  until(horizon: Instant, judge: (at: Instant) => { judgement: Judgement; until: Instant }): Stretch[] {
    const stretches: Stretch[] = []
    let left = countLimit
    let at = this.#row.nextAt
    while (at <= horizon) {
      const { judgement, until } = judge(at)
      const end = Math.min(until, horizon)
      const first = at
      let [beforeLast, last, count]: [Instant | null, Instant, number] = [null, at, 1]
      at = this.next(at)
      while (at <= end && left > 0) {
        beforeLast = last
        last = at
        count++
        left--
        at = this.next(at)
      }
      if (at <= end) {
        last = this.#lastUpTo(end)
        beforeLast = this.#lastUpTo(last - 1)
        at = this.next(last)
      }
      stretches.push({ judgement, first, beforeLast, last, count })
    }
    return stretches
  }

  /** The stretch's instant number `index`, from 0. */
  nth(stretch: Stretch, index: number): Instant {
    let at = stretch.first
    for (let i = 0; i < index; i++) at = this.next(at)
    return at
  }

  /** What is left of a stretch when one of its instants is opened. */
  without(stretch: Stretch, opened: Instant | null): Stretch[] {
    if (opened === null || opened < stretch.first || opened > stretch.last) return [stretch]
    if (opened === stretch.last) {
      if (stretch.beforeLast === null) return []
      return [{ ...stretch, last: stretch.beforeLast, beforeLast: null, count: Math.max(1, stretch.count - 1) }]
    }
    let [before, count]: [Instant | null, number] = [null, 0]
    for (let at = stretch.first; at < opened; at = this.next(at)) {
      before = at
      count++
    }
    const rest: Stretch = { ...stretch, first: this.next(opened), count: Math.max(1, stretch.count - count - 1) }
    return before === null ? [rest] : [{ ...stretch, last: before, beforeLast: null, count }, rest]
  }

  /** The old schedules that still have a say once the cursor stands at `nextAt`. */
  notPassed(nextAt: Instant): readonly OldSchedule[] {
    return this.#row.oldSchedules.filter(({ until }) => until >= nextAt)
  }

  /** The last instant up to `end`: steps back twice as far each time until there is one. There must be one. */
  #lastUpTo(end: Instant): Instant {
    let span = 1000
    while (this.next(end - span) > end) span *= 2
    let last = this.next(end - span)
    for (let at = this.next(last); at <= end; at = this.next(at)) last = at
    return last
  }
}

const never: Timetable = { next: () => Number.POSITIVE_INFINITY }
