import { OnetickError, quoted } from '../domain/errors.ts'
import type { Instant, Schedule, Timetable } from '../domain/timetable.ts'
import { DAY_MS, localText, offsetText } from './calendar.ts'
import { timetableOf } from './compile.ts'
import type { LocalTimes } from './local-times.ts'
import { type ReadSchedule, readSchedule } from './read-schedule.ts'
import { type Span, type Zone, zoneOf } from './zone.ts'
import { passesOf, ZonedTimetable } from './zoned.ts'

export const MOST_PREVIEWED = 1_000
/** A schedule that its policy skips at one clock change after the other is shown so often and no more. */
const MOST_SKIPPED_IN_A_ROW = 10

/** What the local clock does: nothing special, one of two passes of the same time, or the time asked for is missing. */
export type ClockMark = 'plain' | 'first pass' | 'second pass' | 'missing'

/** One line of a preview. */
export interface PreviewItem {
  /** When the schedule runs or, where `runs` is false, when it would have. */
  readonly instant: Instant
  /** `instant` on the zone's clock, as in `2026-10-25T02:30:00+02:00`. */
  readonly local: string
  /** False where the DST policy passes this one by. */
  readonly runs: boolean
  readonly clock: ClockMark
  /** How many local times of the schedule the line stands for: more than 1 where a clock change took several. */
  readonly times: number
  /** What the mark means, in words; empty where nothing is special. */
  readonly note: string
}

/**
 * The next `count` runs later than `after`, with a mark on each local time that comes twice or was missing, and a line for what
 * the DST policy passes by. Schedules that follow elapsed time have nothing passed by.
 *
 * Throws what `compileSchedule` throws, and ONETICK_OPTION for a `count` that is not a whole number from 1 to 1,000.
 */
export function preview(spec: Schedule, { after, count }: { after: Instant; count: number }): PreviewItem[] {
  if (!Number.isInteger(count) || count < 1 || count > MOST_PREVIEWED) {
    throw new OnetickError('ONETICK_OPTION', `count ${quoted(count)} is not a whole number from 1 to ${MOST_PREVIEWED}.`)
  }
  const read = readSchedule(spec)
  const zone = zoneOf(read.timeZone)
  const candidates = everyPass(read, zone)
  const lines = new Lines(read, zone)
  while (lines.runs < count && lines.skippedInARow < MOST_SKIPPED_IN_A_ROW) {
    const instant = candidates.next(lines.lastInstant ?? after)
    if (instant === Infinity) break
    lines.add(instant)
  }
  return lines.items
}

/** All that a policy might choose from: both passes of every fold, the end of every gap. */
function everyPass(read: ReadSchedule, zone: Zone): Timetable {
  if ('timetable' in read || read.times.isIntervalLike) return timetableOf(read)
  return new ZonedTimetable(read.times, zone, { madeUpMs: Infinity, fold: 'both' })
}

class Lines {
  readonly items: PreviewItem[] = []
  runs = 0
  skippedInARow = 0
  lastInstant: Instant | undefined
  readonly #timetable: Timetable
  readonly #zone: Zone
  /** For schedules that may miss local times. */
  readonly #times: LocalTimes | undefined
  readonly #madeUpMs: number = 0

  constructor(read: ReadSchedule, zone: Zone) {
    this.#timetable = timetableOf(read)
    this.#zone = zone
    if ('timetable' in read || read.times.isIntervalLike) return
    this.#times = read.times
    this.#madeUpMs = passesOf(read.dst, false).madeUpMs
  }

  add(instant: Instant): void {
    this.lastInstant = instant
    const span = this.#zone.spanAt(instant)
    const runs = this.#timetable.next(instant - 1) === instant
    const missing = instant === span.from ? this.#missingBefore(span) : []
    const [asked] = missing
    if (asked === undefined) {
      this.#push(lineOf(instant, span, { runs, clock: passAt(instant, span) }))
      return
    }
    const isMadeUp = instant + span.offsetMs - span.reached <= this.#madeUpMs
    this.#push(lineOf(instant, span, { runs: isMadeUp, clock: 'missing', asked, times: missing.length }))
    if (runs && !isMadeUp) this.#push(lineOf(instant, span, { runs, clock: 'plain' }))
  }

  #push(item: PreviewItem): void {
    const last = this.items[this.items.length - 1]
    if (last !== undefined && isSameChange(last, item)) {
      this.items[this.items.length - 1] = { ...last, times: last.times + 1 }
      return
    }
    this.items.push(item)
    if (item.runs) this.runs++
    this.skippedInARow = item.runs ? 0 : this.skippedInARow + 1
  }

  #missingBefore({ from, offsetMs, reached }: Span): number[] {
    const missing: number[] = []
    if (this.#times === undefined) return missing
    for (let local = this.#times.atLeast(reached); local < from + offsetMs; local = this.#times.atLeast(local + 1)) missing.push(local)
    return missing
  }
}

function passAt(instant: Instant, { offsetMs, reached, returnsTo }: Span): ClockMark {
  if (instant + offsetMs < reached) return 'second pass'
  return instant + offsetMs >= returnsTo ? 'first pass' : 'plain'
}

/** Skipped lines of one clock change become one line: nobody wants to read sixty of them. */
function isSameChange(last: PreviewItem, item: PreviewItem): boolean {
  return !last.runs && !item.runs && last.clock === item.clock && item.clock !== 'missing' && item.instant - last.instant <= DAY_MS
}

function lineOf(
  instant: Instant,
  { offsetMs }: Span,
  line: { runs: boolean; clock: ClockMark; asked?: number; times?: number },
): PreviewItem {
  const { runs, clock, asked = instant + offsetMs, times = 1 } = line
  const local = `${localText(instant + offsetMs)}${offsetText(offsetMs)}`
  return { instant, local, runs, clock, times, note: noteOf({ runs, clock, asked }) }
}

function noteOf({ runs, clock, asked }: { runs: boolean; clock: ClockMark; asked: number }): string {
  if (clock === 'plain') return ''
  if (clock === 'missing') return `${localText(asked)} does not exist: ${runs ? 'runs when the clock has jumped over it' : 'skipped'}`
  return `${localText(asked)} comes twice: ${runs ? `this is the ${clock}` : `the ${clock} is skipped`}`
}
