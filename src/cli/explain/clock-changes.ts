import type { Instant, Schedule } from '../../domain/timetable.ts'
import { localText } from '../../schedule/calendar.ts'
import { preview } from '../../schedule/index.ts'
import { readSchedule } from '../../schedule/read-schedule.ts'
import { zoneOf } from '../../schedule/zone.ts'
import { lengthText } from '../times.ts'

/** A time at which the zone's clock is set, and what the schedule does about it. */
export interface ClockChange {
  readonly at: Instant
  /** `2026-10-25 03:00: the clock is set back by 1 h` */
  readonly text: string
  /** What becomes of the local times that come twice or never; empty: the schedule has none there. */
  readonly effects: readonly string[]
}

const lookAheadMs = 366 * 86_400_000
/** So much of a schedule is looked at around one change, and so many of its effects are told. */
const mostPreviewed = 500
const mostEffects = 3

/** Those of the next year. Empty also where the schedule knows no local times. */
export function clockChangesOf(schedule: Schedule, now: Instant): ClockChange[] {
  const read = readSchedule(schedule)
  if (read.kind === 'interval' || read.kind === 'instant') return []
  const zone = zoneOf(read.timeZone)
  const changes: ClockChange[] = []
  let span = zone.spanAt(now)
  while (span.until < now + lookAheadMs) {
    const next = zone.spanAt(span.until)
    const byMs = next.offsetMs - span.offsetMs
    if (byMs !== 0) {
      const way = byMs > 0 ? 'forward' : 'back'
      const local = localText(next.from + span.offsetMs).replace('T', ' ')
      const text = `${local}: the clock is set ${way} by ${lengthText(byMs)}`
      changes.push({ at: next.from, text, effects: effectsOf(schedule, next.from, Math.abs(byMs)) })
    }
    span = next
  }
  return changes
}

/** `lengthMs` is that of the gap or of the fold, which lies on both sides of the change. */
function effectsOf(schedule: Schedule, at: Instant, lengthMs: number): string[] {
  const read = readSchedule(schedule)
  if ('times' in read && read.times.isIntervalLike) return ['It follows elapsed time: it runs in both passes, and nothing is made up for']
  const around = preview(schedule, { after: at - lengthMs - 1, count: mostPreviewed })
  const marked = around.filter(({ instant, note }) => note !== '' && instant <= at + lengthMs)
  const told = marked.slice(0, mostEffects).map(({ note, times }) => (times > 1 ? `${note} (${times} times)` : note))
  return marked.length > mostEffects ? [...told, `and so on, ${marked.length} in all`] : told
}
