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
function pausesOf({ events, endedAt }: History): Map<string, PausedSpan[]> {
  const spans = new Map<string, PausedSpan[]>()
  const open = new Map<string, PausedSpan>()
  const close = (name: string, at: Instant): void => {
    const active = open.get(name)
    open.delete(name)
    if (active !== undefined) spans.set(name, [...(spans.get(name) ?? []), { ...active, until: Math.min(at, active.until) }])
  }
  for (const event of events) {
    if (event.kind !== 'commanded' || event.result !== 'done' || !('name' in event.command)) continue
    const { name, kind } = event.command
    const active = open.get(name)
    // it has run out by itself
    if (active !== undefined && active.until <= event.at) close(name, event.at)
    if (event.command.kind === 'pause' && !open.has(name)) open.set(name, { from: event.at, until: event.command.until })
    else if (kind === 'resume') close(name, event.at)
    else if (kind === 'remove' || kind === 'pause') open.delete(name)
  }
  for (const [name, { until }] of open) if (until <= endedAt) close(name, until)
  return spans
}
