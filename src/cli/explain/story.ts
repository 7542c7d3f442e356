import type { JobRow } from '../../domain/job.ts'
import type { RunView } from '../../store/store.ts'
import { type Attempt, attemptsOf } from '../attempts.ts'
import { stateOf } from '../job-state.ts'
import type { Occurrence } from '../occurrence.ts'
import { scheduleInWords } from '../schedule-in-words.ts'
import { idText, oneLine, printable } from '../text.ts'
import { awayText, lengthText, type Times } from '../times.ts'
import { errorText } from '../told-line.ts'
import { endInWords, reasonInWords } from './verdict-in-words.ts'

/** Why an occurrence ran where it did and ended as it did, in sentences. */
export function storyOf(occurrence: Occurrence, times: Times): string[] {
  const attempts = attemptsOf(occurrence)
  const verdict = occurrence.lines.find(({ final }) => final)
  return [
    due(occurrence, verdict, times),
    ...attempts.flatMap((attempt, at) => told(attempt, attempts[at - 1], { occurrence, times })),
    ...(verdict === undefined ? stillOpen(occurrence, attempts, times) : judged(verdict, attempts, times)),
    ...whatNext(occurrence, times),
  ]
}

function due({ job, cause, scheduledAt, jobRow }: Occurrence, verdict: RunView | undefined, times: Times): string {
  const name = printable(job)
  if (verdict !== undefined && verdict.count > 1) {
    const { count, scheduledAt: from, untilAt } = verdict
    return `${count} occurrences of ${name} were due, from ${times.full(from)} to ${times.full(untilAt)}; one line of the ledger stands for them.`
  }
  const schedule = jobRow?.definition.schedule ?? null
  const beside = schedule === null ? '' : ', beside its schedule'
  if (cause !== '') return `${name} was asked for at ${times.full(scheduledAt)}, as ${oneLine(cause)}${beside}.`
  const words = schedule === null ? '' : `, by its schedule (${scheduleInWords(schedule)})`
  const jitterMs = jobRow?.definition.policy.jitterMs ?? 0
  return `${name} was due at ${times.full(scheduledAt)}${words}${jitterMs > 0 ? `, delayed by its jitter of ${lengthText(jitterMs)}` : ''}.`
}

interface Around {
  readonly occurrence: Occurrence
  readonly times: Times
}

function told(attempt: Attempt, before: Attempt | undefined, { occurrence, times }: Around): string[] {
  const { startedAt, endedAt, end, error, fence } = attempt
  const replica = idText(attempt.replica ?? 'a replica that is not known')
  const at = times.full(startedAt)
  const late = lengthText(Math.max(0, startedAt - occurrence.scheduledAt))
  const how = beginning(attempt, before, times)
  const start = `${replica} ${how} at ${at}, ${late} after it was due, as attempt ${attempt.attempt} with fence ${fence}.`
  if (endedAt === null || end === null) return [start]
  const why = error === null ? '' : ` (${errorText(error)})`
  const ended = `It ended at ${times.short(endedAt, startedAt)}, after ${lengthText(endedAt - startedAt)}: ${end}${why}.`
  return [start, ended]
}

function beginning({ after }: Attempt, before: Attempt | undefined, times: Times): string {
  if (before === undefined) return 'claimed it, as the first that the store served of those that asked,'
  if (after?.how === 'takenOver')
    return `took it over from ${idText(after.replica)}, whose lease had run out at ${times.full(before.endedAt)},`
  return after?.how === 'handedBack' ? `went on with what ${idText(after.replica)} had handed back,` : 'tried it again'
}

function judged(verdict: RunView, attempts: readonly Attempt[], times: Times): string[] {
  const { end, reason, endedAt, owner, count, startedAt } = verdict
  const why = reason === null ? '' : `. Why: ${reasonInWords(reason)}`
  const whose = count > 1 ? 'Their' : 'Its'
  const meaning = `${whose} verdict is ${end}: ${endInWords(end, true)}${why}.`
  if (startedAt !== null) return [meaning]
  const judge = owner === null ? '' : ` by ${idText(owner)}`
  const never = attempts.length === 0 ? ['No handler was started for it.'] : []
  return [...never, `${meaning} That was written down at ${times.full(endedAt)}${judge}.`]
}

function stillOpen({ row, now }: Occurrence, attempts: readonly Attempt[], times: Times): string[] {
  if (row === null) return ['It has no verdict, and is not open any more: it was read while it ended. Ask again.']
  const last = attempts.at(-1)
  const state = `Just now: ${stateOf(row, now).text(times)}.`
  const { leaseUntil } = last ?? { leaseUntil: null }
  if (leaseUntil === null) return row.open === null ? [state] : [state, retry(row, times)]
  if (leaseUntil > now) {
    return [state, `Its lease runs until ${times.full(leaseUntil)} and is renewed while it runs; without that, another replica takes over.`]
  }
  return [state, `The lease was not renewed and ran out ${awayText(leaseUntil, now)}: the next replica that asks takes over.`]
}

function retry({ open, dueAt, definition }: JobRow, times: Times): string {
  const { maxAttempts } = definition.policy
  return `Attempt ${(open?.attempt ?? 0) + 1} of at most ${maxAttempts} may start from ${times.full(dueAt)} on, on whichever replica asks first.`
}

/** A replica may sleep for so long while something is due. */
const patienceMs = 2000

function whatNext({ jobRow, now }: Occurrence, times: Times): string[] {
  if (jobRow === null) return []
  if (jobRow.removedAt !== null) return ['The job has been removed since: nothing comes next.']
  if (!Number.isFinite(jobRow.nextAt)) {
    return [jobRow.definition.schedule === null ? 'The job has no schedule: it runs when asked for.' : 'Its schedule has no instant left.']
  }
  const { kind } = stateOf(jobRow, now)
  if (kind === 'due' && jobRow.nextAt < now - patienceMs) {
    return [`It has been due again since ${times.full(jobRow.nextAt)}, and nobody has claimed it. Why: npx onetick doctor`]
  }
  const paused = kind === 'paused' ? ' The job is paused; what falls due until it is resumed is skipped.' : ''
  return [`Next it is due at ${times.full(jobRow.nextAt)} (${awayText(jobRow.nextAt, now)}).${paused}`]
}
