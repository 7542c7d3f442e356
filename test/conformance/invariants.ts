// What the content of a store must show at every moment: a plain function over its rows and its ledger.
import { type JobRow, leaseTask } from '../../src/domain/job.ts'
import type { LedgerLine } from '../../src/domain/run.ts'
import type { Instant } from '../../src/domain/timetable.ts'
import type { RunView } from '../../src/store/readings.ts'

export interface Content {
  readonly rows: readonly JobRow[]
  /** Oldest first. */
  readonly runs: readonly RunView[]
  readonly now: Instant
}

const outcomes = ['succeeded', 'failed', 'timedOut', 'cancelled', 'stuck', 'leaseLost', 'handedBack']
const finals = ['succeeded', 'failed', 'timedOut', 'cancelled', 'skipped', 'missed', 'superseded', 'abandoned']

/** Sentences, one for each thing that must not be. Policies are judged as they stand: the caller must not have changed them. */
export function violations({ rows, runs, now }: Content): string[] {
  const byId = new Map(rows.map(row => [row.id, row]))
  return [
    ...rows.flatMap(row => inRow(row, byId, now).map(problem => `${row.name} (row ${row.id}): ${problem}`)),
    ...inOrder(runs, byId),
    ...[...grouped(runs, run => run.jobId)].flatMap(([id, lines]) => inJob(byId.get(id), lines, rows)),
  ]
}

function inRow(row: JobRow, byId: ReadonlyMap<number, JobRow>, now: Instant): string[] {
  const found: string[] = []
  const must = (holds: boolean, otherwise: string) => holds || found.push(otherwise)
  const { open, lease, pause, nextAt, afterAt, dueAt, fence } = row
  must(Number.isSafeInteger(fence) && fence >= 0, `the fence ${fence} is no safe integer`)
  must(afterAt === null || afterAt > nextAt || (afterAt === Infinity && nextAt === Infinity), `after ${nextAt} comes ${afterAt}`)
  must(
    row.oldSchedules.every((old, i) => i === 0 || old.until >= (row.oldSchedules[i - 1]?.until ?? 0)),
    'old schedules are out of order',
  )
  must(row.cancelFence === null || row.cancelFence <= fence, `a fence to come is cancelled: ${row.cancelFence}`)
  if (open !== null) {
    // I5
    must(open.failures >= 0 && open.attempt >= open.failures, `${open.failures} of ${open.attempt} attempts failed`)
    must(open.attempt <= row.definition.policy.maxAttempts, `S8: attempt ${open.attempt} of ${row.definition.policy.maxAttempts}`)
    must(
      open.cause !== '' || row.task === leaseTask || open.scheduledAt < nextAt,
      `I1: ${open.scheduledAt} is open, the cursor stands at ${nextAt}`,
    )
    must(open.openedAt <= now, 'opened in the future')
  }
  if (lease !== null) {
    must(Number.isFinite(dueAt), `I2: leased until ${dueAt}`)
    must(lease.owner !== '' && row.acquiredAt !== null, 'leased by nobody, or since never')
    must(!lease.mayStart || row.task === leaseTask || (open !== null && open.attempt > open.failures), 'I4: may start, but nothing is open')
  } else if (row.task !== leaseTask) {
    for (const problem of dueOf(row, now)) found.push(problem)
  }
  if (row.parent !== null) {
    must(byId.has(row.parent.id), `its job ${row.parent.id} is gone`)
    must(open !== null, 'an extra row without an occurrence')
    must(
      nextAt === Infinity && row.asked === 0 && pause === null && row.removedAt === null,
      'an extra row with a cursor, an ask, a pause or a removal of its own',
    )
  }
  return found
}

/** I2, of a row without a lease. */
function dueOf({ open, pause, dueAt, nextAt, asked, removedAt, definition }: JobRow, now: Instant): string[] {
  const pausedUntil = pause?.until ?? Number.NEGATIVE_INFINITY
  if (open !== null) return dueAt >= pausedUntil ? [] : [`I2: waits until ${dueAt}, paused until ${pausedUntil}`]
  if (removedAt !== null) return dueAt === Infinity && nextAt === Infinity ? [] : [`I2: removed, but due at ${dueAt}, next at ${nextAt}`]
  if (asked > 0) return dueAt <= now ? [] : [`I2: ${asked} asked for, but due at ${dueAt}`]
  const due = Math.max(nextAt + definition.policy.jitterMs, pausedUntil)
  // parked: looked at again when the pause ends, though the next instant may lie behind that
  return dueAt === due || dueAt === pausedUntil ? [] : [`I2: idle and due at ${dueAt} instead of ${due}`]
}

/** The ledger as it was written: ids, fences, ends. */
function inOrder(runs: readonly RunView[], byId: ReadonlyMap<number, JobRow>): string[] {
  const found: string[] = []
  const fences = new Map<number, number>()
  let lastId = 0
  for (const run of runs) {
    const where = nameOf(run)
    if (run.id <= lastId) found.push(`${where}: line ${run.id} comes after line ${lastId}`)
    lastId = run.id
    const before = fences.get(run.rowId) ?? 0
    if (run.fence < before) found.push(`S3: ${where}: fence ${run.fence} after ${before}`)
    fences.set(run.rowId, run.fence)
    const row = byId.get(run.rowId)
    if (row !== undefined && run.fence > row.fence) found.push(`S3: ${where}: fence ${run.fence}, but its row has ${row.fence}`)
    if (!(run.final ? finals : outcomes).includes(run.end)) found.push(`${where}: ${run.end} is no ${run.final ? 'verdict' : 'outcome'}`)
    if (run.count < 1 || run.untilAt < run.scheduledAt) found.push(`${where}: ${run.count} in ${run.scheduledAt}..${run.untilAt}`)
    // a plan may be granted after its lease has run out: what is lost then had ended before it started
    if (run.startedAt !== null && run.startedAt > run.endedAt && run.end !== 'leaseLost')
      found.push(`${where}: started ${run.startedAt}, ended ${run.endedAt}`)
  }
  return found
}

function inJob(job: JobRow | undefined, lines: readonly RunView[], rows: readonly JobRow[]): string[] {
  if (job === undefined) return [`${lines[0]?.job}: lines of a job that is gone`]
  const found: string[] = []
  const open = rows.filter(row => row.id === job.id || row.parent?.id === job.id).flatMap(row => (row.open === null ? [] : [row.open]))
  for (const [cause, ofCause] of grouped(lines, line => line.cause)) {
    const ranges = ofCause.filter(line => line.final).sort((a, b) => a.scheduledAt - b.scheduledAt)
    for (const [i, line] of ranges.entries()) {
      const before = ranges[i - 1]
      if (before !== undefined && before.untilAt >= line.scheduledAt)
        found.push(`S2: ${nameOf(line)} has two verdicts: ${before.end}, ${line.end}`)
      const isAhead = cause === '' && job.task !== leaseTask && job.removedAt === null && line.untilAt >= job.nextAt
      if (isAhead) found.push(`I1: ${nameOf(line)} is ${line.end}, but the cursor stands at ${job.nextAt}`)
      for (const { cause: openCause, scheduledAt } of open) {
        if (openCause === cause && covers(line, scheduledAt)) found.push(`S2: ${nameOf(line)} is ${line.end} and open`)
      }
    }
    for (const attempts of grouped(ofCause, line => line.scheduledAt).values()) found.push(...inOccurrence(job, attempts))
  }
  if (job.definition.policy.overlap !== 'allow') found.push(...overlaps(lines))
  return found
}

/** S2, S8: attempts one after the other, none after the verdict, no more than allowed. */
function inOccurrence(job: JobRow, lines: readonly RunView[]): string[] {
  const found: string[] = []
  const { policy } = job.definition
  let [attempt, started, isFinal, isLost, failures] = [0, 0, false, false, 0]
  for (const line of lines) {
    const isStart = isAttempt(line)
    if (isFinal) found.push(`S2: ${nameOf(line)} is ${line.end} after its verdict`)
    if (line.attempt < attempt || (isStart && line.attempt <= started))
      found.push(`S2: ${nameOf(line)}: attempt ${line.attempt} after ${attempt}`)
    if (isStart && isLost && !policy.takeOver) found.push(`S8: ${nameOf(line)} started again after a vanished attempt`)
    attempt = line.attempt
    if (isStart) started = line.attempt
    isFinal = line.final
    isLost ||= line.end === 'leaseLost'
    if (isStart && line.end === 'failed' && !line.final) failures++
  }
  if (started > policy.maxAttempts) found.push(`S8: ${nameOf(lines[0])} started ${started} times`)
  if (failures > policy.retries && job.task !== leaseTask) found.push(`S8: ${nameOf(lines[0])} was retried ${failures} times`)
  return [...found, ...overlaps(lines)]
}

/** S1: of two attempts one has ended before the other starts. */
function overlaps(lines: readonly RunView[]): string[] {
  const found: string[] = []
  const started = lines.filter(isAttempt).sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || a.fence - b.fence)
  for (const [i, line] of started.entries()) {
    const before = started[i - 1]
    if (before !== undefined && (line.startedAt ?? 0) < before.endedAt)
      found.push(`S1: ${nameOf(line)} started before ${nameOf(before)} ended`)
  }
  return found
}

/** Whether the line ends a run; one that gives a vanished run up says when that had started, too. */
function isAttempt(line: RunView): boolean {
  return line.startedAt !== null && line.reason !== 'takeover'
}

export function covers(line: Pick<LedgerLine, 'scheduledAt' | 'untilAt'>, at: Instant): boolean {
  return line.scheduledAt <= at && at <= line.untilAt
}

function nameOf(line: RunView | undefined): string {
  return line === undefined
    ? '?'
    : `${line.job}/${line.cause}/${line.scheduledAt} (row ${line.rowId}, attempt ${line.attempt}, fence ${line.fence})`
}

function grouped<K, T>(all: readonly T[], key: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const one of all) {
    const group = groups.get(key(one))
    if (group === undefined) groups.set(key(one), [one])
    else group.push(one)
  }
  return groups
}
