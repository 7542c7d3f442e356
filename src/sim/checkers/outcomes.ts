import type { Checker, Violation } from '../history.ts'
import { leasesOf, named } from './lease.ts'

/** S7: a lease whose holder lived and was in touch is known to it; a settle that is in the ledger is never called lost. */
export const unknownOutcomes: Checker = history => {
  const violations: Violation[] = []
  const told = new Set<string>()
  for (const event of history.events) if (event.kind === 'told') told.add(`${event.rowId}/${event.fence}`)
  for (const span of leasesOf(history)) {
    const isKnown = !span.mayStart || span.releasedAt !== null || told.has(`${span.rowId}/${span.fence}`)
    const until = span.from + history.leaseMs
    if (isKnown || until > history.endedAt || history.repeated.has(span.granted.claimId ?? '')) continue
    // the reply may have been lost in a storm; what counts is that the holder was in touch again in time to find its lease
    const again = span.from + 2 * history.callTimeoutMs
    if (history.healthy.some(({ replica, from, until: end }) => replica === span.owner && from <= again && end >= until)) {
      violations.push({ promise: 'S7', at: until, what: `${named(span)} ran out unknown to its holder` })
    }
  }
  for (const event of history.events) {
    if (event.kind !== 'settled' || event.what !== 'run' || event.result !== 'lost' || event.occurrence === null || !event.started) continue
    const { cause, scheduledAt } = event.occurrence
    const line = history.ledger.find(
      ({ rowId, fence, cause: c, scheduledAt: s, end }) =>
        rowId === event.rowId && fence === event.fence && c === cause && s === scheduledAt && end !== 'leaseLost',
    )
    if (line !== undefined && line.endedAt <= event.at && line.owner === event.owner) {
      violations.push({
        promise: 'S7',
        at: event.at,
        what: `row ${event.rowId} fence ${event.fence} was settled as ${line.end}, and then called lost`,
      })
    }
  }
  return violations
}

/** S7: no handler starts but on the store's word: silence is not taken for a yes. */
export const startsOnWord: Checker = history => {
  const jobs = new Map<number, string>()
  const told = new Map<string, number>()
  for (const event of history.events) {
    if (event.kind === 'leased') jobs.set(event.rowId, event.job)
    if (event.kind !== 'told') continue
    const key = `${event.replica}/${jobs.get(event.rowId)}/${event.fence}`
    if (!told.has(key)) told.set(key, event.at)
  }
  return history.runs.flatMap(({ replica, job, fence, startedAt }): Violation[] => {
    const toldAt = told.get(`${replica}/${job}/${fence}`)
    if (toldAt !== undefined && toldAt <= startedAt) return []
    return [{ promise: 'S7', at: startedAt, what: `${replica} starts ${job} under fence ${fence}, of which no reply told it` }]
  })
}

/** S7: an ask that arrives after it was given up takes nothing. */
export const nothingToLateAsks: Checker = history =>
  history.events.flatMap((event): Violation[] => {
    if (event.kind !== 'leased' || event.notAfter === null || event.at <= event.notAfter) return []
    return [{ promise: 'S7', at: event.at, what: `${named(event)} went to an ask that was given up at ${event.notAfter}` }]
  })
