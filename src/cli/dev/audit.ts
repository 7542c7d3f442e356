import type { Compile, Instant, Schedule } from '../../domain/timetable.ts'
import type { RunView } from '../../store/store.ts'
import type { SeenRun } from './history.ts'

export interface AuditInput {
  readonly jobs: readonly { readonly name: string; readonly schedule: Schedule | null }[]
  /** What came due in (from, until] is counted, of all jobs alike; of what came later, only what went wrong. */
  readonly from: Instant
  readonly until: Instant
  /** What the store still has to do, once the replicas have stopped. */
  readonly unsettled: readonly Unsettled[]
  /** The ledger, in any order. */
  readonly lines: readonly RunView[]
  /** What the handlers' own processes told. */
  readonly runs: readonly SeenRun[]
  readonly compile: Compile
}

/** Of one job: what has no verdict yet. */
export interface Unsettled {
  readonly job: string
  /** The first instant that is neither open nor settled. */
  readonly nextAt: Instant
  /** Instants that are open. */
  readonly open: readonly Instant[]
}

/** Counts of occurrences. Each that was due is one of ran, missed, failed, skipped, superseded, unfinished and waiting; the rest are remarks. */
export interface Tally {
  readonly due: number
  /** Succeeded, by the ledger and by the handler that did it. */
  readonly ran: number
  /** Completed more than once. */
  readonly twice: number
  /** Due, and nothing became of it; or the ledger says that it ran, but no handler did it. */
  readonly missed: number
  /** A replica vanished while it ran this, and another started it again. */
  readonly takenOver: number
  readonly failed: number
  readonly skipped: number
  readonly superseded: number
  /** Started, and stopped with its replica before its end. */
  readonly unfinished: number
  /** Never started: its turn comes after a run that was still going on at the end of the time that is counted. */
  readonly waiting: number
  /** The handler had done its work, and was killed before the store could hear of it: done again elsewhere. */
  readonly repeated: number
}

export interface Audit {
  readonly jobs: readonly (Tally & { readonly name: string })[]
  readonly all: Tally
  /** Whether what the schedules asked for is what happened. */
  readonly isClean: boolean
}

/** Holds what the schedules asked for against what the ledger says, and both against what the handlers did. */
export function auditOf(input: AuditInput): Audit {
  const jobs = input.jobs.map(job => ({ name: job.name, ...tallyOf(job, input) }))
  const all = jobs.reduce((sum, job) => added(sum, job), nothing)
  return { jobs, all, isClean: all.twice === 0 && all.missed === 0 }
}

type What = keyof Tally

const nothing: Tally = {
  due: 0,
  ran: 0,
  twice: 0,
  missed: 0,
  takenOver: 0,
  failed: 0,
  skipped: 0,
  superseded: 0,
  unfinished: 0,
  waiting: 0,
  repeated: 0,
}

/** Instants of one job looked at, at most. */
const mostInstants = 1_000_000

function tallyOf({ name, schedule }: AuditInput['jobs'][number], input: AuditInput): Tally {
  const { from, until, compile } = input
  const mine = input.lines.filter(line => line.job === name && line.cause === '')
  const runs = input.runs.filter(run => run.job === name && run.cause === '')
  const seen = byInstant(runs)
  const finals = mine.filter(line => line.final)
  const ranges = finals.filter(line => line.count > 1)
  const single = byInstant(finals.filter(line => line.count === 1))
  const lost = byInstant(mine.filter(line => line.end === 'leaseLost'))
  const due = [{ from, until }, ...ranges.map(line => ({ from: line.scheduledAt - 1, until: Math.min(line.untilAt, until) }))]
  const worked = runs.filter(run => run.returned === 'done').map(run => run.scheduledAt)
  const instants = new Set([...due.flatMap(range => instantsIn(range, schedule, compile)), ...single.keys(), ...worked])
  // a job that was at work to the end may be behind; one that stood still has missed what it did not do
  const isBusy = mine.some(line => line.endedAt > until)
  const unsettled = input.unsettled.find(({ job }) => job === name)
  const tally = { ...nothing }
  for (const at of [...instants].sort((a, b) => a - b)) {
    const ends = [...(single.get(at) ?? []), ...ranges.filter(line => line.scheduledAt <= at && at <= line.untilAt)]
    // what waits behind a run that was stopped is as little missed as that run
    const isWaiting = (isBusy || tally.unfinished > 0) && isLeft(at, unsettled)
    const found = whatOf(ends, seen.get(at) ?? [], { isLost: lost.has(at), isWaiting })
    if (at <= until || isWrong(found)) for (const what of found) tally[what]++
  }
  return tally
}

function isLeft(at: Instant, unsettled: Unsettled | undefined): boolean {
  return unsettled !== undefined && (at >= unsettled.nextAt || unsettled.open.includes(at))
}

function isWrong(found: readonly What[]): boolean {
  return found.includes('twice') || found.includes('missed')
}

function instantsIn(range: { readonly from: Instant; readonly until: Instant }, schedule: Schedule | null, compile: Compile): Instant[] {
  const instants: Instant[] = []
  if (schedule === null) return instants
  const timetable = compile(schedule)
  for (let at = timetable.next(range.from); at <= range.until && instants.length < mostInstants; at = timetable.next(at)) instants.push(at)
  return instants
}

function byInstant<T extends { readonly scheduledAt: Instant }>(items: readonly T[]): Map<Instant, T[]> {
  const groups = new Map<Instant, T[]>()
  for (const item of items) {
    const group = groups.get(item.scheduledAt)
    if (group === undefined) groups.set(item.scheduledAt, [item])
    else group.push(item)
  }
  return groups
}

function whatOf(
  ends: readonly RunView[],
  runs: readonly SeenRun[],
  { isLost, isWaiting }: { isLost: boolean; isWaiting: boolean },
): What[] {
  const found: What[] = ['due']
  const [end] = ends
  const completions = runs.filter(run => isCompleted(run, ends)).length
  found.push(end === undefined ? endless(runs, isWaiting) : ended(end, completions))
  if (completions > 1 || ends.length > 1) found.push('twice')
  if (isLost && (runs.length > 1 || ends.some(({ attempt }) => attempt > 1))) found.push('takenOver')
  if (runs.some(run => run.returned === 'done' && !isCompleted(run, ends))) found.push('repeated')
  return found
}

/**
 * The handler did its work. One that was killed between its work and the store's answer counts only where the store had
 * taken it: else its occurrence was started again, as any attempt that vanishes is.
 */
function isCompleted(run: SeenRun, ends: readonly RunView[]): boolean {
  if (run.returned !== 'done') return false
  return !run.isKilled || ends.some(line => line.fence === run.fence)
}

function ended({ end }: RunView, completions: number): What {
  switch (end) {
    case 'succeeded':
      return completions === 0 ? 'missed' : 'ran'
    case 'skipped':
      return 'skipped'
    case 'superseded':
      return 'superseded'
    case 'missed':
      return 'missed'
    default:
      return 'failed'
  }
}

/** No verdict: it was stopped with its replica, or its turn had not come; else nobody did it, or the ledger has lost it. */
function endless(runs: readonly SeenRun[], isWaiting: boolean): What {
  const last = runs.at(-1)
  if (last === undefined) return isWaiting ? 'waiting' : 'missed'
  const isForgotten = last.returned === 'done' && last.isHeard
  return last.isKilled || isForgotten ? 'missed' : 'unfinished'
}

function added(sum: Tally, job: Tally): Tally {
  return Object.fromEntries((Object.keys(nothing) as What[]).map(what => [what, sum[what] + job[what]])) as unknown as Tally
}
