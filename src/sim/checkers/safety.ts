import type { Checker, Violation } from '../history.ts'
import { byJob, endOf, type LeaseSpan, leasesOf, named } from './lease.ts'

/** S1: leases of one job with different fences never overlap in store time; with overlap `allow`, leases of one row. */
export const exclusion: Checker = history => {
  const violations: Violation[] = []
  for (const spans of byJob(leasesOf(history)).values()) {
    const running = new Set<LeaseSpan>()
    for (const span of spans) {
      for (const other of running) {
        if (endOf(other) <= span.from) running.delete(other)
        else if (other.rowId === span.rowId || !(isAllowed(other) || isAllowed(span))) {
          violations.push({ promise: 'S1', at: span.from, what: `${named(span)} beside ${named(other)}, held until ${endOf(other)}` })
        }
      }
      running.add(span)
    }
  }
  return violations
}

/** An extra row keeps the overlap that it was made under. */
function isAllowed({ granted }: LeaseSpan): boolean {
  return granted.overlap === 'allow'
}

/**
 * S3: each lease of a row carries a higher fence than the one before. A store that lost its last writes may bring an older lease back,
 * which its holder then plans under: that is no new one.
 */
export const fence: Checker = history => {
  const violations: Violation[] = []
  const highest = new Map<number, number>()
  for (const span of leasesOf(history)) {
    if (history.lostSuffix && span.granted.by === 'plan' && !span.granted.isExtra) continue
    const before = highest.get(span.rowId) ?? 0
    if (span.fence <= before) violations.push({ promise: 'S3', at: span.from, what: `${named(span)} after fence ${before}` })
    highest.set(span.rowId, span.fence)
  }
  return violations
}

/** S4: what is written was written by the holder, under its fence; a lease that ran out is not renewed, nor a checkpoint kept under it. */
export const conditionalWrites: Checker = history => {
  const violations: Violation[] = []
  const holder = new Map<number, { fence: number; owner: string; expiresAt: number }>()
  for (const event of history.events) {
    if (event.kind === 'leased') holder.set(event.rowId, event)
    const isWrite = event.kind === 'renewed' || event.kind === 'checkpointed' || (event.kind === 'settled' && event.result === 'settled')
    if (!isWrite) continue
    const held = holder.get(event.rowId)
    const who = `row ${event.rowId}, fence ${event.fence} of ${event.owner}`
    if (held === undefined || held.fence !== event.fence || held.owner !== event.owner) {
      violations.push({
        promise: 'S4',
        at: event.at,
        what: `${event.kind} of ${who}, while ${held === undefined ? 'nobody holds it' : `${held.fence} of ${held.owner} is current`}`,
      })
    } else if (event.kind !== 'settled' && held.expiresAt <= event.at) {
      violations.push({ promise: 'S4', at: event.at, what: `${event.kind} of ${who}, which ran out at ${held.expiresAt}` })
    }
    if (event.kind === 'renewed') holder.set(event.rowId, event)
    else if (event.kind === 'settled') holder.delete(event.rowId)
  }
  return violations
}

/** S5: no handler starts, or still finds its signal quiet, once the store would let another in. */
export const selfFencing: Checker = history => {
  const violations: Violation[] = []
  const spans = new Map(leasesOf(history).map(span => [keyOf({ ...span, ...span.open }), span]))
  for (const run of history.runs) {
    const span = spans.get(keyOf(run))
    const what = `${run.replica} runs ${run.job} ${run.cause}/${run.scheduledAt} under fence ${run.fence}`
    if (span === undefined || !span.mayStart)
      violations.push({ promise: 'S5', at: run.startedAt, what: `${what} without a lease to start under` })
    else if (run.startedAt >= span.expiresAt)
      violations.push({ promise: 'S5', at: run.startedAt, what: `${what}, started after ${span.expiresAt}` })
    else if (run.trustedAt >= span.expiresAt)
      violations.push({ promise: 'S5', at: run.trustedAt, what: `${what}, still trusted after ${span.expiresAt}` })
  }
  return violations
}

function keyOf(of: { job: string; fence: number; cause?: string; scheduledAt?: number }): string {
  return `${of.job}/${of.fence}/${of.cause}/${of.scheduledAt}`
}

/** L5: a replica is not given what its own handler still runs. */
export const noTakeoverFromOneself: Checker = history => {
  const violations: Violation[] = []
  const spans = leasesOf(history)
  const extra = new Set(spans.filter(({ granted }) => granted.isExtra).map(({ job, fence: own }) => `${job}/${own}`))
  for (const { granted, job, owner, fence: own, from } of spans) {
    if (granted.isExtra || granted.overlap === 'allow') continue
    for (const run of history.runs) {
      if (run.replica !== owner || run.job !== job || run.fence >= own || run.startedAt > from || extra.has(`${job}/${run.fence}`)) continue
      if (run.endedAt === null || run.endedAt > from) {
        violations.push({ promise: 'L5', at: from, what: `${owner} is given ${job} (fence ${own}) while it runs fence ${run.fence}` })
      }
    }
  }
  return violations
}
