import { isCancelled } from './claim.ts'
import type { Ask, JobRow, OldSchedule, Range } from './job.ts'
import { jobIdOf, type LedgerLine, type Reason, type Verdict } from './run.ts'
import { DueInstants, type Judgement, type Stretch } from './stretches.ts'
import type { Compile, Instant } from './timetable.ts'

/** What a lease with `mayStart` false means: which verdicts are due, and what, if anything, is opened. */
export interface Plan {
  /** As claimed; a row that differs answers `stale`. */
  readonly seen: Seen
  readonly lines: readonly LedgerLine[]
  /** The occurrence that was open has its verdict among the lines. */
  readonly closes: boolean
  readonly cursor: { readonly nextAt: Instant; readonly afterAt: Instant; readonly oldSchedules: readonly OldSchedule[] } | null
  /** A pause that has run out becomes a range whose instants are skipped. */
  readonly pauseEnds: Range | null
  readonly then:
    | { readonly kind: 'idle' }
    /** Another attempt at the open occurrence. */
    | { readonly kind: 'again' }
    | { readonly kind: 'open'; readonly cause: string; readonly scheduledAt: Instant; readonly ask: AskStep | null }
}

export interface Seen {
  readonly rev: number
  readonly asked: number
  readonly nextAt: Instant
  readonly open: { readonly cause: string; readonly scheduledAt: Instant } | null
}

/** The ask that was opened moves on to its next instant, or (null) is used up. */
export interface AskStep {
  readonly id: string
  readonly nextAt: Instant | null
}

export interface Asks {
  readonly manual: Ask | null
  readonly backfill: Ask | null
}

/**
 * The only place where overlap, misfire, pause and removal are judged. `now` is the claim's, never a local clock:
 * replicas that plan the same row come to the same end.
 */
export function plan(row: JobRow, asks: Asks, now: Instant, compile: Compile): Plan {
  const seen: Seen = {
    rev: row.rev,
    asked: row.asked,
    nextAt: row.nextAt,
    open: row.open === null ? null : { cause: row.open.cause, scheduledAt: row.open.scheduledAt },
  }
  const nothing: Plan = { seen, lines: [], closes: false, cursor: null, pauseEnds: null, then: { kind: 'idle' } }
  const lines: LedgerLine[] = []
  if (row.open !== null) {
    const end = endOfOpen(row, now)
    if (end === null) return { ...nothing, then: { kind: 'again' } }
    lines.push(verdictLine(row, { ...end, scheduledAt: row.open.scheduledAt, cause: row.open.cause, attempt: row.open.attempt }, now))
    if (row.parent !== null) return { ...nothing, lines, closes: true }
  }
  const closes = row.open !== null
  if (row.removedAt !== null) return { ...nothing, lines, closes }

  if (asks.manual !== null) return { ...nothing, lines, closes, then: opened(asks.manual, compile) }
  const lastCause = row.open?.cause ?? row.lastCause
  // a waiting backfill takes one turn after each scheduled run, so that neither starves the other
  if (asks.backfill !== null && lastCause === '') return { ...nothing, lines, closes, then: opened(asks.backfill, compile) }
  if (row.pause === null || row.pause.until <= now) {
    const judged = judgeDue(row, now, compile)
    lines.push(...judged.lines)
    const moved = { seen, lines, closes, cursor: judged.cursor, pauseEnds: lapsed(row) }
    if (judged.open !== null) return { ...moved, then: { kind: 'open', cause: '', scheduledAt: judged.open, ask: null } }
    return { ...moved, then: asks.backfill === null ? { kind: 'idle' } : opened(asks.backfill, compile) }
  }
  if (asks.backfill !== null) return { ...nothing, lines, closes, then: opened(asks.backfill, compile) }
  return { ...nothing, lines, closes }
}

/** The verdict of an open occurrence that does not start again; null where it does. */
function endOfOpen(row: JobRow, now: Instant): { end: Verdict; reason: Reason | null } | null {
  const { policy } = row.definition
  if (row.open === null) return null
  const { attempt, failures, cause, scheduledAt } = row.open
  const vanished = attempt > failures
  const scheduled = cause === ''
  if (isCancelled(row)) return { end: 'cancelled', reason: 'byHand' }
  if (row.removedAt !== null && row.parent === null) return { end: 'abandoned', reason: 'removed' }
  if (vanished && !policy.takeOver) return { end: 'abandoned', reason: 'takeover' }
  if (attempt >= policy.maxAttempts) return { end: vanished ? 'abandoned' : 'failed', reason: 'attempts' }
  if (scheduled && attempt === 0 && scheduledAt < now - policy.windowMs) return { end: 'missed', reason: 'window' }
  if (scheduled && policy.overlap === 'replace' && row.nextAt <= now) return { end: 'superseded', reason: 'replaced' }
  if (scheduled && failures > 0 && policy.misfire !== 'all' && row.nextAt <= now) return { end: 'failed', reason: 'nextDue' }
  return null
}

function opened(ask: Ask, compile: Compile): Plan['then'] {
  const following = ask.kind === 'backfill' && ask.schedule !== null ? compile(ask.schedule).next(ask.at) : Number.POSITIVE_INFINITY
  return { kind: 'open', cause: ask.id, scheduledAt: ask.at, ask: { id: ask.id, nextAt: following <= ask.until ? following : null } }
}

interface Judged {
  readonly lines: readonly LedgerLine[]
  readonly cursor: NonNullable<Plan['cursor']>
  readonly open: Instant | null
}

function judgeDue(row: JobRow, now: Instant, compile: Compile): Judged {
  const { policy } = row.definition
  const due = new DueInstants(row, compile)
  const horizon = now - policy.jitterMs
  const stretches = due.until(horizon, judgements(row, now))
  const running = stretches.filter(stretch => stretch.judgement === 'run')
  const open = policy.misfire === 'all' ? firstToRun(running, policy.misfireLimit, due) : (running.at(-1)?.last ?? null)

  const lines: LedgerLine[] = []
  for (const stretch of stretches) {
    for (const part of due.without(stretch, open)) {
      if (policy.misfire === 'all' && open !== null && part.first > open) continue
      lines.push(verdictLine(row, { ...verdictOf(part.judgement), scheduledAt: part.first, untilAt: part.last, count: part.count }, now))
    }
  }
  const passed = policy.misfire === 'all' && open !== null ? open : stretches.at(-1)?.last
  const nextAt = passed === undefined ? row.nextAt : due.next(passed)
  return { lines: coalesced(lines, open), open, cursor: { nextAt, afterAt: due.next(nextAt), oldSchedules: due.notPassed(nextAt) } }
}

/** With misfire `all` the first instant that waits, or, where more wait than the limit allows, the first of the last ones. */
function firstToRun(running: readonly Stretch[], limit: number, due: DueInstants): Instant | null {
  let excess = running.reduce((sum, stretch) => sum + stretch.count, 0) - limit
  for (const stretch of running) {
    if (excess < stretch.count) return due.nth(stretch, Math.max(0, excess))
    excess -= stretch.count
  }
  return null
}

/** Which judgement holds from an instant on, and until when: piecewise, so that a thousand instants cost no more than one. */
function judgements(row: JobRow, now: Instant): (at: Instant) => { judgement: Judgement; until: Instant } {
  const quiet: { range: Range; judgement: Judgement }[] = []
  if (row.busy !== null) quiet.push({ range: row.busy, judgement: 'overlap' })
  for (const range of [row.held, lapsed(row)]) if (range !== null) quiet.push({ range, judgement: 'paused' })
  const windowFrom = now - row.definition.policy.windowMs
  const bounds = [windowFrom - 1, now, ...quiet.flatMap(({ range }) => [range.from, range.until])].sort((a, b) => a - b)
  return at => {
    const until = bounds.find(bound => bound >= at) ?? now
    const inside = quiet.find(({ range }) => at > range.from && at <= range.until)
    return { until, judgement: inside?.judgement ?? (at < windowFrom ? 'missed' : 'run') }
  }
}

/** The range of a pause that ended by itself. */
function lapsed(row: JobRow): Range | null {
  return row.pause === null ? null : { from: row.pause.at, until: row.pause.until }
}

function verdictOf(judgement: Judgement): { end: Verdict; reason: Reason } {
  switch (judgement) {
    case 'run':
      return { end: 'superseded', reason: 'misfire' }
    case 'overlap':
      return { end: 'skipped', reason: 'overlap' }
    case 'paused':
      return { end: 'skipped', reason: 'paused' }
    case 'missed':
      return { end: 'missed', reason: 'window' }
  }
}

export interface JudgedInstants {
  readonly end: Verdict
  readonly reason: Reason | null
  readonly scheduledAt: Instant
  readonly untilAt?: Instant
  readonly count?: number
  readonly cause?: string
  readonly attempt?: number
}

/** A final line of something that did not run to its end under this lease. */
export function verdictLine(row: JobRow, of: JudgedInstants, now: Instant): LedgerLine {
  return {
    rowId: row.id,
    jobId: jobIdOf(row),
    cause: of.cause ?? '',
    scheduledAt: of.scheduledAt,
    untilAt: of.untilAt ?? of.scheduledAt,
    count: of.count ?? 1,
    attempt: of.attempt ?? 0,
    fence: row.fence,
    owner: row.lease?.owner ?? null,
    startedAt: null,
    endedAt: now,
    end: of.end,
    final: true,
    reason: of.reason,
    error: null,
    result: null,
    logTail: null,
  }
}

/** Neighbours of one verdict become one line, unless the instant that is opened stands between them. */
function coalesced(lines: readonly LedgerLine[], open: Instant | null): readonly LedgerLine[] {
  const joined: LedgerLine[] = []
  for (const line of lines) {
    const last = joined.at(-1)
    const isNext = last !== undefined && !(open !== null && last.untilAt < open && open < line.scheduledAt)
    if (isNext && last.end === line.end && last.reason === line.reason) {
      joined[joined.length - 1] = { ...last, untilAt: line.untilAt, count: last.count + line.count }
    } else joined.push(line)
  }
  return joined
}
