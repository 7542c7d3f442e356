import type { Instant } from '../../domain/timetable.ts'
import type { Checker, History, Violation } from '../history.ts'
import { leasesOf, named } from './lease.ts'

interface PausedSpan {
  readonly from: Instant
  readonly until: Instant
}

/** D1: what came due while its job was paused is skipped; resuming does not fire it. */
export const quietPauses: Checker = history => {
  const violations: Violation[] = []
  const paused = pausesOf(history)
  for (const span of leasesOf(history)) {
    const { open, openedAt, job } = span
    if (open === null || open.cause !== '' || open.attempt > 1) continue
    const quiet = (paused.get(job) ?? []).find(
      ({ from, until }) => open.scheduledAt > from && open.scheduledAt <= until && openedAt > until,
    )
    if (quiet !== undefined)
      violations.push({ promise: 'D1', at: openedAt, what: `${named(span)} came due while paused, until ${quiet.until}` })
  }
  return violations
}

/** By job; a pause that was moved by a second one, or ended by a removal, is not judged. */
function pausesOf({ events }: History): Map<string, PausedSpan[]> {
  const spans = new Map<string, PausedSpan[]>()
  const open = new Map<string, PausedSpan>()
  for (const event of events) {
    if (event.kind !== 'commanded' || event.result !== 'done' || !('name' in event.command)) continue
    const { name, kind } = event.command
    const active = open.get(name)
    if (event.command.kind === 'pause' && active === undefined) open.set(name, { from: event.at, until: event.command.until })
    else if (kind === 'resume' && active !== undefined) {
      spans.set(name, [...(spans.get(name) ?? []), { from: active.from, until: Math.min(event.at, active.until) }])
      open.delete(name)
    } else if (kind === 'remove' || kind === 'pause') open.delete(name)
  }
  return spans
}
