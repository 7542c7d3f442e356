import type { RunView } from '../../store/store.ts'
import type { Checker, History, Violation } from '../history.ts'
import { Expected } from './expected.ts'
import { byJob, leasesOf, named } from './lease.ts'
import { finalsOf } from './ledger.ts'

/** S2: attempts of an occurrence rise one by one, and none is granted or started after its final verdict. */
export const occurrence: Checker = history => {
  const violations: Violation[] = []
  const finals = finalsOf(history)
  const lastAttempt = new Map<string, number>()
  for (const span of leasesOf(history)) {
    if (span.open === null || !span.mayStart) continue
    const key = `${span.job}/${span.open.cause}/${span.open.scheduledAt}`
    const before = lastAttempt.get(key) ?? 0
    // an attempt that was handed back before it started is granted again
    if (span.open.attempt < before) violations.push({ promise: 'S2', at: span.from, what: `${named(span)} after attempt ${before}` })
    lastAttempt.set(key, span.open.attempt)
    const final = (finals.get(span.job) ?? []).find(line => covers(line, span.open) && line.endedAt < span.from)
    if (final !== undefined) violations.push({ promise: 'S2', at: span.from, what: `${named(span)} after its verdict ${final.end}` })
  }
  const started = new Set<string>()
  for (const { job, cause, scheduledAt, attempt, startedAt, fence } of history.runs) {
    const key = `${job}/${cause}/${scheduledAt} attempt ${attempt} fence ${fence}`
    if (started.has(key)) violations.push({ promise: 'S2', at: startedAt, what: `${key} started twice` })
    started.add(key)
  }
  return violations
}

/** S2, L3: no occurrence has two final verdicts, one of a range included. */
export const oneVerdict: Checker = history => {
  const violations: Violation[] = []
  for (const [job, lines] of finalsOf(history)) {
    const sorted = [...lines].sort((a, b) => (a.cause < b.cause ? -1 : a.cause > b.cause ? 1 : a.scheduledAt - b.scheduledAt))
    for (const [index, line] of sorted.entries()) {
      const before = sorted[index - 1]
      if (before?.cause === line.cause && before.untilAt >= line.scheduledAt) {
        const what = `${job} ${line.cause}/${line.scheduledAt} has two verdicts: ${before.end}, ${line.end}`
        violations.push({ promise: 'S2', at: line.endedAt, what })
      }
    }
  }
  return violations
}

/** D1: what is opened or judged is what a schedule in force asked for, and not before its time. */
export const onlyAskedFor: Checker = history => {
  const violations: Violation[] = []
  const expected = Expected.of(history)
  for (const [job, spans] of byJob(leasesOf(history))) {
    for (const { open, openedAt: from } of spans) {
      if (open === null || open.cause !== '') continue
      if (open.scheduledAt > from) violations.push({ promise: 'S2', at: from, what: `${job} ${open.scheduledAt} opened before its time` })
      if (!expected.get(job)?.has(open.scheduledAt))
        violations.push({ promise: 'D1', at: from, what: `${job} ${open.scheduledAt} was never asked for` })
    }
  }
  for (const [job, lines] of finalsOf(history)) {
    for (const { cause, scheduledAt, endedAt, end, reason } of lines) {
      // what was skipped ahead of its time was asked for when it was skipped, whatever was declared since
      if (cause === '' && reason !== 'byHand' && !expected.get(job)?.has(scheduledAt)) {
        violations.push({ promise: 'D1', at: endedAt, what: `${job} ${scheduledAt}, ${end}, was never asked for` })
      }
    }
  }
  return violations
}

/** How long before the end what is due must have its verdict, all being well by then. */
const settledWithinMs = 20_000

/** L3: each instant that the schedule asked for has one verdict, or is open; after the healing, all have theirs. */
export const nothingLost: Checker = history => {
  const violations: Violation[] = []
  const finals = finalsOf(history)
  const alive = declaredLast(history)
  const opened = new Set<string>()
  for (const { job, open } of leasesOf(history)) if (open !== null) opened.add(`${job}/${open.cause}/${open.scheduledAt}`)
  for (const [job, expected] of Expected.of(history)) {
    const lines = (finals.get(job) ?? []).filter(({ cause }) => cause === '')
    const lastJudged = Math.max(0, ...lines.map(({ untilAt }) => untilAt))
    const horizon = alive.has(job) ? Math.max(lastJudged, history.endedAt - settledWithinMs) : lastJudged
    const skipped = skippedAhead(history, job)
    let line = 0
    const sorted = [...lines].sort((a, b) => a.scheduledAt - b.scheduledAt)
    for (const instant of expected.upTo(horizon)) {
      while ((sorted[line]?.untilAt ?? Number.POSITIVE_INFINITY) < instant) line++
      const judged = sorted[line]
      const isJudged = judged !== undefined && judged.scheduledAt <= instant
      if (skipped.some(({ from, until }) => instant > from && instant <= until)) continue
      const isOpen = opened.has(`${job}//${instant}`) && (!alive.has(job) || instant > history.endedAt - settledWithinMs)
      if (!isJudged && !isOpen) violations.push({ promise: 'L3', at: instant, what: `${job} ${instant} has no verdict` })
    }
    for (const { scheduledAt, untilAt, count, endedAt, reason } of lines) {
      if (reason === 'byHand') continue
      const within = expected.upTo(untilAt).filter(instant => instant >= scheduledAt).length
      if (within !== count && count < 100_000) {
        violations.push({ promise: 'L3', at: endedAt, what: `${job} ${scheduledAt} to ${untilAt} counts ${count}, asked for ${within}` })
      }
    }
  }
  return violations
}

/** Whoever skips ahead and then declares another schedule begins it after what was skipped. */
function skippedAhead({ events }: History, job: string): { from: number; until: number }[] {
  return events.flatMap(event =>
    event.kind === 'commanded' && event.command.kind === 'skipNext' && event.command.name === job && event.result === 'done'
      ? [{ from: event.at, until: event.command.seen.nextAt }]
      : [],
  )
}

function covers(line: RunView, open: { cause: string; scheduledAt: number } | null): boolean {
  return open !== null && line.cause === open.cause && line.scheduledAt <= open.scheduledAt && open.scheduledAt <= line.untilAt
}

/** The jobs that the release declared last knows, and nobody has removed since: some replica runs them to the end. */
function declaredLast(history: History): Set<string> {
  const release = history.events.findLast(event => event.kind === 'declared' && !event.atRunTime)
  const jobs = new Set<string>()
  if (release?.kind !== 'declared') return jobs
  for (const event of history.events) {
    if (event.kind === 'declared' && event.release === release.release) jobs.add(event.job)
    if (event.kind === 'commanded' && event.command.kind === 'remove' && event.result === 'done') jobs.delete(event.command.name)
  }
  return jobs
}
