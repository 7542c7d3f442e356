import type { Command } from 'commander'
import type { Instant } from '../../domain/timetable.ts'
import type { RunView } from '../../store/store.ts'
import { unknownJob } from '../failure.ts'
import { acting, type Session } from '../session.ts'
import type { Column } from '../table.ts'
import { idText, oneLine, printable } from '../text.ts'
import { iso, lengthText, type Times } from '../times.ts'
import { nameAndMessage } from '../told.ts'
import { errorText, reasonText } from '../told-line.ts'
import { wholeNumber } from '../whole-number.ts'
import { emptyStore } from './empty.ts'

export function runs(program: Command): void {
  program
    .command('runs')
    .description('The ledger, newest first: what became of each occurrence.')
    .argument('[job]', 'only this job')
    .option('-n, --lines <count>', `how many, 1 to ${mostLines}`, '20')
    .option('--all', 'every attempt, not only how each occurrence ended')
    .addHelpText('after', help)
    .action(acting(show))
}

const help = `
Examples:
  onetick runs
  onetick runs send-invoices -n 50 --all

JSON: { now, runs: [{ id, job, cause, scheduledAt, untilAt, count, attempt, fence, replica, startedAt, endedAt, end, final,
  reason, takenOver, latenessMs, durationMs, error: { name, message } | null }] }
  end: a verdict where final is true, else the outcome of one attempt`

const mostLines = 1000

async function show(
  session: Session,
  { lines, all = false }: { readonly lines: string; readonly all?: boolean },
  [job]: readonly string[],
): Promise<number> {
  const limit = wholeNumber('-n', lines, { min: 1, max: mostLines })
  const { out, times } = session
  const filter = { limit, ...(job === undefined ? {} : { job }), ...(all ? {} : { final: true }) }
  const { now, runs: found } = await session.read('runs', filter)
  const lost = new Set((await session.read('runs', { ...filter, limit: mostLines, final: false })).runs.filter(isLost).map(keyOf))
  const rows = found.map(run => ({ run, isTakenOver: run.final && run.attempt > 1 && lost.has(keyOf(run)) }))
  if (out.isJson) out.json({ now: iso(now), runs: rows.map(jsonOf) })
  else if (rows.length === 0) await empty(session, job)
  else {
    out.table(columns(times, now), rows, ({ run }) => toneOf(run))
    out.hint(`\nTimes in ${times.zone}.${all ? '' : ' Each attempt: --all.'} One of them: npx onetick show RUN, or explain RUN.`)
  }
  return 0
}

interface Row {
  readonly run: RunView
  readonly isTakenOver: boolean
}

function columns(times: Times, now: Instant): Column<Row>[] {
  return [
    { title: 'run', text: ({ run }) => String(run.id), align: 'right' },
    { title: 'occurrence', text: ({ run }) => occurrenceText(run, times, now) },
    { title: 'job', text: ({ run }) => printable(run.job), atMost: 40 },
    { title: 'end', text: ({ run }) => `${run.final ? '' : '  '}${run.end}` },
    { title: 'attempt', text: ({ run }) => (run.attempt === 0 ? '–' : String(run.attempt)), align: 'right' },
    { title: 'replica', text: ({ run }) => (run.owner === null || run.startedAt === null ? '–' : idText(run.owner)) },
    { title: 'late', text: ({ run }) => (run.startedAt === null ? '–' : lengthText(run.startedAt - run.scheduledAt)), align: 'right' },
    { title: 'took', text: ({ run }) => (run.startedAt === null ? '–' : lengthText(run.endedAt - run.startedAt)), align: 'right' },
    { title: '', text: noteOf, atMost: 100 },
  ]
}

function occurrenceText({ scheduledAt, untilAt, count }: RunView, times: Times, now: Instant): string {
  const first = times.full(scheduledAt)
  return count === 1 ? first : `${first} … ${times.short(untilAt, now)}`
}

function noteOf({ run, isTakenOver }: Row): string {
  const { count, cause, reason, error } = run
  const parts = [
    count > 1 ? `${count} occurrences` : '',
    isTakenOver ? 'taken over' : '',
    cause === '' ? '' : `asked for as ${oneLine(cause)}`,
    reasonText(reason),
    error === null ? '' : errorText(error),
  ]
  return parts.filter(part => part !== '').join('; ')
}

function toneOf({ end }: RunView): 'plain' | 'bad' | 'notice' {
  if (end === 'succeeded') return 'plain'
  return end === 'failed' || end === 'timedOut' || end === 'abandoned' || end === 'missed' ? 'bad' : 'notice'
}

async function empty(session: Session, job: string | undefined): Promise<void> {
  const { jobs } = await session.read('jobs', job === undefined ? {} : { name: job, removed: true })
  if (job !== undefined && jobs.length === 0) throw unknownJob(job, await session.whereabouts())
  if (jobs.length === 0) return emptyStore(session)
  session.out.hint(`Nothing has ended yet in ${await session.whereabouts()}. What comes next: npx onetick list`)
}

function isLost({ end }: RunView): boolean {
  return end === 'leaseLost'
}

function keyOf({ job, cause, scheduledAt }: RunView): string {
  return JSON.stringify([job, cause, scheduledAt])
}

function jsonOf({ run, isTakenOver }: Row): object {
  const { id, job, cause, scheduledAt, untilAt, count, attempt, fence, owner, startedAt, endedAt, end, final, reason, error } = run
  return {
    ...{ id, job, cause, scheduledAt: iso(scheduledAt), untilAt: iso(untilAt), count, attempt, fence, replica: owner },
    ...{ startedAt: iso(startedAt), endedAt: iso(endedAt), end, final, reason, takenOver: isTakenOver },
    latenessMs: startedAt === null ? null : startedAt - scheduledAt,
    durationMs: startedAt === null ? null : endedAt - startedAt,
    error: error === null ? null : nameAndMessage(error),
  }
}
