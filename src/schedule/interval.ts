import { quoted } from '../domain/errors.ts'
import type { Instant, Timetable } from '../domain/timetable.ts'
import { FIRST_INSTANT, LAST_INSTANT } from './reach.ts'
import type { Refuse } from './refusal.ts'

/** The largest first. */
export const INTERVAL_UNITS: readonly { readonly unit: string; readonly word: string; readonly ms: number }[] = [
  { unit: 'w', word: 'week', ms: 604_800_000 },
  { unit: 'd', word: 'day', ms: 86_400_000 },
  { unit: 'h', word: 'hour', ms: 3_600_000 },
  { unit: 'm', word: 'minute', ms: 60_000 },
  { unit: 's', word: 'second', ms: 1_000 },
  { unit: 'ms', word: 'millisecond', ms: 1 },
]

const SHORTEST_MS = 100
/** A hundred years. */
const LONGEST_MS = 36_525 * 86_400_000

/** Every so many milliseconds, counted from the epoch, so that all replicas agree whenever they were started. */
export class Interval implements Timetable {
  readonly everyMs: number

  constructor(everyMs: number) {
    this.everyMs = everyMs
  }

  next(after: Instant): Instant {
    const from = Math.max(Math.floor(after), FIRST_INSTANT)
    const past = ((from % this.everyMs) + this.everyMs) % this.everyMs
    const instant = from - past + this.everyMs
    return instant <= LAST_INSTANT ? instant : Infinity
  }
}

/** Reads what follows `every`: whole numbers with units, the largest first, as in `1h30m`. Throws ONETICK_SCHEDULE. */
export function readInterval(text: string, refuse: Refuse): Interval {
  const parts = [...text.matchAll(/(\d+)(ms|[wdhms])[ \t]*/g)]
  if (text === '' || parts.map(([part]) => part).join('') !== text) {
    throw refuse(`${quoted(text)} is not an interval`, 'Write whole numbers with units (w, d, h, m, s, ms), as in: every 90s, every 1h30m')
  }
  let everyMs = 0
  let lastPlace = -1
  for (const [, amount, unit = ''] of parts) {
    const place = INTERVAL_UNITS.findIndex(known => known.unit === unit)
    if (place <= lastPlace)
      throw refuse(`${quoted(unit)} comes after a unit that is no larger`, 'Name each unit once, the largest first, as in: every 1h30m')
    everyMs += Number(amount) * (INTERVAL_UNITS[place]?.ms ?? 0)
    lastPlace = place
  }
  if (everyMs < SHORTEST_MS) throw refuse(`an interval is at least ${SHORTEST_MS} ms`, 'Write for example: every 1s')
  if (everyMs > LONGEST_MS) throw refuse('an interval is at most 36525 days', 'Write for example: every 52w')
  return new Interval(everyMs)
}
