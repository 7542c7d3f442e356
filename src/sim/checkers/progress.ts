import type { Instant } from '../../domain/timetable.ts'
import type { Checker, History, Violation } from '../history.ts'
import { type LeaseSpan, leasesOf, named } from './lease.ts'

/** Whether some replica other than this one was healthy all through: only then is a bound judged. */
function hadWitness({ healthy }: History, from: Instant, until: Instant, but: string): boolean {
  return healthy.some(span => span.replica !== but && span.from <= from && span.until >= until)
}

/** Whether the job was paused or removed before then, so that nobody is to take it. */
function isHalted({ events }: History, job: string, until: Instant): boolean {
  return events.some(
    event =>
      event.kind === 'commanded' &&
      event.at <= until &&
      'name' in event.command &&
      event.command.name === job &&
      (event.command.kind === 'pause' || event.command.kind === 'remove'),
  )
}

/** L1: what a holder let run out is taken within the lease, a poll and two calls of its last confirmation. */
export const takeover: Checker = history => {
  const violations: Violation[] = []
  const spans = leasesOf(history)
  for (const [index, span] of spans.entries()) {
    const bound = span.confirmedAt + history.leaseMs + history.pollMs + 2 * history.callTimeoutMs
    if (span.releasedAt !== null || bound > history.endedAt || isHalted(history, span.job, bound)) continue
    if (!hadWitness(history, span.expiresAt - history.callTimeoutMs, bound, span.owner) || wasSettled(history, span)) continue
    const next = spans.slice(index + 1).find(other => other.rowId === span.rowId)
    if (next === undefined || next.from > bound)
      violations.push({
        promise: 'L1',
        at: bound,
        what: `${named(span)} was not taken over; ${next === undefined ? 'never' : `at ${next.from}`}`,
      })
  }
  return violations
}

/** A settle whose answer nobody recorded shows in the ledger. */
function wasSettled({ ledger }: History, span: LeaseSpan): boolean {
  return ledger.some(line => line.rowId === span.rowId && line.fence === span.fence && line.end !== 'leaseLost')
}

/** L4: what a stopping replica hands back starts elsewhere within a poll and a call. */
export const handover: Checker = history => {
  const violations: Violation[] = []
  const spans = leasesOf(history)
  for (const event of history.events) {
    if (event.kind !== 'settled' || event.end !== 'handBack' || event.result !== 'settled' || !event.started) continue
    const index = spans.findIndex(span => span.rowId === event.rowId && span.fence === event.fence)
    const span = spans[index]
    const bound = event.at + history.pollMs + history.callTimeoutMs
    if (span === undefined || bound > history.endedAt || isHalted(history, span.job, bound)) continue
    if (history.ledger.some(line => line.rowId === event.rowId && line.fence === event.fence && line.final)) continue
    if (!hadWitness(history, event.at, bound, event.owner)) continue
    const next = spans.slice(index + 1).find(other => other.rowId === event.rowId)
    if (next === undefined || next.from > bound)
      violations.push({ promise: 'L4', at: bound, what: `${named(span)} was handed back and not taken up` })
  }
  return violations
}
