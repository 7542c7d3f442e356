import type { RunView } from '../../store/store.ts'
import type { Checker, Violation } from '../history.ts'
import { Expected } from './expected.ts'
import { named } from './lease.ts'
import { linesOf } from './ledger.ts'

/** S8: no more granted starts than attempts, no more failures than retries allow, none after a vanished one where takeover is off. */
export const attempts: Checker = history => {
  const violations: Violation[] = []
  const expected = Expected.of(history)
  for (const [job, lines] of linesOf(history)) {
    const policies = (expected.get(job)?.definitions ?? []).map(({ policy }) => policy)
    const retries = Math.max(0, ...policies.map(policy => policy.retries))
    const most = Math.max(1, ...policies.map(({ maxAttempts }) => maxAttempts))
    const failures = new Map<string, number>()
    for (const { cause, scheduledAt, end, attempt, endedAt, reason } of lines) {
      const key = `${cause}/${scheduledAt}`
      if (attempt > most) violations.push({ promise: 'S8', at: endedAt, what: `${job} ${key} had attempt ${attempt} of ${most}` })
      if (end !== 'failed' || reason !== null) continue
      failures.set(key, (failures.get(key) ?? 0) + 1)
      if ((failures.get(key) ?? 0) > retries + 1)
        violations.push({ promise: 'S8', at: endedAt, what: `${job} ${key} failed more often than ${retries} retries allow` })
    }
    if (policies.some(({ takeOver }) => takeOver)) continue
    for (const { cause, scheduledAt, endedAt, end, attempt } of lines) {
      if (end !== 'leaseLost') continue
      const again = lines.find(
        line => line.cause === cause && line.scheduledAt === scheduledAt && line.attempt > attempt && line.startedAt !== null,
      )
      if (again !== undefined)
        violations.push({ promise: 'S8', at: endedAt, what: `${job} ${cause}/${scheduledAt} started again after one vanished` })
    }
  }
  return violations
}

/** S8: nothing is opened under a lease that has run out, where it would count as an attempt that nobody could make. */
export const openedInTime: Checker = history => {
  const violations: Violation[] = []
  for (const event of history.events) {
    if (event.kind !== 'leased' || event.by !== 'plan' || event.expiresAt > event.at) continue
    violations.push({ promise: 'S8', at: event.at, what: `${named(event)} opened under a lease that ran out at ${event.expiresAt}` })
  }
  return violations
}

/** S2: an attempt that was granted ends once. */
export const oneEnd: Checker = history => {
  const violations: Violation[] = []
  for (const [job, lines] of linesOf(history)) {
    const ends = new Map<string, RunView>()
    for (const line of lines) {
      if (line.startedAt === null) continue
      const key = `${job} ${line.cause}/${line.scheduledAt} attempt ${line.attempt}`
      const before = ends.get(key)
      if (before !== undefined) violations.push({ promise: 'S2', at: line.endedAt, what: `${key} ended twice: ${before.end}, ${line.end}` })
      ends.set(key, line)
    }
  }
  return violations
}
