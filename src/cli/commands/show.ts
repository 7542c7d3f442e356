import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import type { RunView } from '../../store/store.ts'
import { type Attempt, attemptsOf } from '../attempts.ts'
import { endInWords, reasonInWords } from '../explain/verdict-in-words.ts'
import { stateOf } from '../job-state.ts'
import { findOccurrence, type Occurrence, runForms } from '../occurrence.ts'
import { acting, type Session } from '../session.ts'
import { cut, idText, oneLine, printable, withoutPasswords } from '../text.ts'
import { awayText, iso, lengthText, type Times } from '../times.ts'
import { errorText, reasonText } from '../told-line.ts'

export function show(program: Command): void {
  program
    .command('show')
    .description('One run: its attempts, errors with their stacks, checkpoint and verdict.')
    .argument('<run>', runForms)
    .option('--log', 'also the log tail that is kept of each attempt')
    .addHelpText('after', help)
    .action(acting(print))
}

const help = `
Passwords in errors and logs become stars. Why it ran here and ended so: onetick explain RUN

Examples:
  onetick show 4711
  onetick show send-invoices@2026-10-25T02:00:00Z --log
  onetick show send-invoices

JSON: { now, job, cause, scheduledAt, state, verdict: { id, end, reason, endedAt, count, untilAt } | null, checkpoint,
  attempts: [{ attempt, replica, fence, startedAt, endedAt, latenessMs, durationMs, end, reason, takenOverFrom, handedBackBy,
  leaseUntil, error: { name, message, stack } | null, result, logTail }] }
  state: ended, running, expired, waiting …; logTail: only with --log, null where none is kept`

async function print(session: Session, { log = false }: { readonly log?: boolean }, [asked = '']: readonly string[]): Promise<number> {
  const { out, times } = session
  const occurrence = await findOccurrence(session, asked)
  const attempts = attemptsOf(occurrence)
  if (out.isJson) {
    out.json(jsonOf(occurrence, attempts, log))
    return 0
  }
  const { job, cause, scheduledAt, row, now } = occurrence
  const verdict = verdictOf(occurrence)
  const asks = cause === '' ? '' : `, asked for as ${oneLine(cause)}`
  const range = verdict === undefined || verdict.count === 1 ? '' : ` … ${times.full(verdict.untilAt)}, ${verdict.count} occurrences`
  out.line(out.paint('strong', `${printable(job)}  ${times.full(verdict?.scheduledAt ?? scheduledAt)}${range}${asks}`))
  if (verdict === undefined) out.line(row === null ? 'no verdict yet' : stateOf(row, now).text(times))
  else out.line(out.paint(verdict.end === 'succeeded' ? 'good' : 'bad', verdictText(verdict)))
  if (attempts.length === 0) out.line('\nNo handler was started for it.')
  for (const attempt of attempts) for (const line of attemptLines(attempt, { occurrence, times, log })) out.line(line)
  if (row?.open?.checkpoint != null) out.line(`\ncheckpoint  ${safeJson(row.open.checkpoint)}`)
  out.hint(`\nTimes in ${times.zone}. Why: npx onetick explain ${asked.includes(' ') ? `'${printable(asked)}'` : printable(asked)}`)
  return 0
}

function verdictOf({ lines }: Occurrence): RunView | undefined {
  return lines.find(({ final }) => final)
}

function verdictText({ end, reason }: RunView): string {
  return `${end}: ${reason === null ? endInWords(end, true) : reasonInWords(reason)}`
}

interface Around {
  readonly occurrence: Occurrence
  readonly times: Times
  readonly log: boolean
}

function attemptLines(attempt: Attempt, { occurrence, times, log }: Around): string[] {
  const { startedAt, endedAt, end, reason, error, result, logTail, leaseUntil, after } = attempt
  const field = (name: string, text: string): string => `  ${name.padEnd(8)}  ${text}`
  const late = `${lengthText(Math.max(0, startedAt - occurrence.scheduledAt))} after it was due`
  const from =
    after === null
      ? ''
      : after.how === 'takenOver'
        ? `, taken over from ${idText(after.replica)}`
        : `, handed back by ${idText(after.replica)}`
  const lines = [
    `\nattempt ${attempt.attempt} on ${attempt.replica === null ? '–' : idText(attempt.replica)}, fence ${attempt.fence}${from}`,
    field('started', `${times.full(startedAt)}  ${late}`),
  ]
  if (endedAt === null) lines.push(field('runs', `for ${lengthText(occurrence.now - startedAt)} so far`))
  else lines.push(field('ended', `${times.full(endedAt)}  took ${lengthText(endedAt - startedAt)}`))
  if (leaseUntil !== null) lines.push(field('lease', `until ${times.full(leaseUntil)} (${awayText(leaseUntil, occurrence.now)})`))
  if (end !== null) lines.push(field('end', `${end}${reason === null ? '' : `: ${reasonText(reason)}`}`))
  if (error !== null) lines.push(field('error', errorText(error)), ...textLines(stackOf(error.stack)))
  if (result !== null) lines.push(field('result', safeJson(result)))
  if (!log) return lines
  return logTail === null ? [...lines, field('log', 'none is kept of it')] : [...lines, field('log', 'its tail:'), ...textLines(logTail)]
}

/** The frames alone: the message stands above them. */
function stackOf(stack: string | null): string {
  const lines = (stack ?? '').split('\n')
  const first = lines.findIndex(line => /^\s+at /.test(line))
  return first < 0 ? '' : lines.slice(first).join('\n')
}

function textLines(text: string): string[] {
  const lines = withoutPasswords(text)
    .split(/\r?\n/)
    .filter(line => line.trim() !== '')
  return lines.map(line => `    ${printable(line.replaceAll('\t', '  '))}`)
}

/** Longer values are cut; `--json` has them whole. */
const longestValue = 400

function safeJson(value: Json): string {
  return cut(oneLine(JSON.stringify(secretlessJson(value))), longestValue)
}

function jsonOf(occurrence: Occurrence, attempts: readonly Attempt[], log: boolean): object {
  const { now, job, cause, scheduledAt, row } = occurrence
  const verdict = verdictOf(occurrence)
  return {
    ...{ now: iso(now), job, cause, scheduledAt: iso(verdict?.scheduledAt ?? scheduledAt) },
    state: verdict !== undefined ? 'ended' : row === null ? 'unknown' : stateOf(row, now).kind,
    verdict: verdict === undefined ? null : verdictJson(verdict),
    checkpoint: secretlessJson(row?.open?.checkpoint ?? null),
    attempts: attempts.map(({ attempt, replica, fence, startedAt, endedAt, end, reason, after, leaseUntil, error, result, logTail }) => ({
      ...{ attempt, replica, fence, startedAt: iso(startedAt), endedAt: iso(endedAt), latenessMs: startedAt - scheduledAt },
      ...{ durationMs: endedAt === null ? null : endedAt - startedAt, end, reason },
      takenOverFrom: after?.how === 'takenOver' ? after.replica : null,
      handedBackBy: after?.how === 'handedBack' ? after.replica : null,
      leaseUntil: iso(leaseUntil),
      error: error === null ? null : { name: error.name, message: secretless(error.message), stack: secretless(error.stack) },
      result: secretlessJson(result),
      ...(log ? { logTail: secretless(logTail) } : {}),
    })),
  }
}

function verdictJson({ id, end, reason, endedAt, count, untilAt }: RunView): object {
  return { id, end, reason, endedAt: iso(endedAt), count, untilAt: iso(untilAt) }
}

function secretless(text: string | null): string | null {
  return text === null ? null : withoutPasswords(text)
}

/** What a handler keeps may hold the URL that it worked with. */
function secretlessJson(value: Json): Json {
  if (typeof value === 'string') return withoutPasswords(value)
  if (Array.isArray(value)) return value.map(secretlessJson)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [key, secretlessJson(of)]))
}
