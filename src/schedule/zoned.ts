import type { DstPolicy, Instant, Timetable } from '../domain/timetable.ts'
import { DAY_MS, HOUR_MS } from './calendar.ts'
import type { LocalTimes } from './local-times.ts'
import { FIRST_INSTANT, LAST_INSTANT } from './reach.ts'
import type { Span, Zone } from './zone.ts'

/** Larger jumps of a clock are not summer time but a date that was struck out, as in Samoa in 2011: nothing is made up for. */
const LONGEST_SHIFT_MS = 3 * HOUR_MS

/** What happens to local times that a clock change skips or repeats. */
export interface Passes {
  /** Gaps up to this long are made up for at their end. */
  readonly madeUpMs: number
  readonly fold: 'first' | 'last' | 'both'
}

/** Each pass as it comes and nothing made up for: the schedule follows elapsed time. */
const ELAPSED_TIME: Passes = { madeUpMs: 0, fold: 'both' }

/** Local clocks differ by a little more than a day at most; this is further back than any change can set one. */
const WELL_BACK_MS = 2 * DAY_MS
/**
 * A search that saw so many spans without a run has followed a date that falls into a gap year after year, and ends.
 * One date costs it up to four spans; dates years apart cost no more, as the search leaps from one to the next.
 */
const MAX_SPANS = 100

/** Local times as instants of a zone. */
export class ZonedTimetable implements Timetable {
  readonly #times: LocalTimes
  readonly #zone: Zone
  readonly #madeUpMs: number
  readonly #fold: Passes['fold']

  constructor(times: LocalTimes, zone: Zone, { madeUpMs, fold }: Passes) {
    this.#times = times
    this.#zone = zone
    this.#madeUpMs = madeUpMs
    this.#fold = fold
  }

  next(after: Instant): Instant {
    let from = Math.max(Math.floor(after) + 1, FIRST_INSTANT)
    for (let seen = 0; from < LAST_INSTANT && seen < MAX_SPANS; seen++) {
      const span = this.#zone.spanAt(from)
      if (from === span.from && this.#makesUp(span)) return from
      const start = from + span.offsetMs
      const local = this.#times.atLeast(this.#fold === 'first' ? Math.max(start, span.reached) : start)
      const end = span.until + span.offsetMs
      if (local < (this.#fold === 'last' ? Math.min(end, span.returnsTo) : end)) return local - span.offsetMs
      // No clock is ever set back to before `start - WELL_BACK_MS`, so nothing can run until well before the local time found from there.
      from = Math.max(span.until, this.#times.atLeast(start - WELL_BACK_MS) - WELL_BACK_MS)
    }
    return Infinity
  }

  #makesUp({ from, offsetMs, reached }: Span): boolean {
    const gapEnd = from + offsetMs
    return reached < gapEnd && gapEnd - reached <= this.#madeUpMs && this.#times.atLeast(reached) < gapEnd
  }
}

/** The passes of a job's policy. An interval-like schedule has no fixed local times for a policy to be about. */
export function passesOf(dst: DstPolicy | undefined, isIntervalLike: boolean): Passes {
  if (isIntervalLike) return ELAPSED_TIME
  return { madeUpMs: dst?.gap === 'skip' ? 0 : LONGEST_SHIFT_MS, fold: dst?.fold ?? 'first' }
}
