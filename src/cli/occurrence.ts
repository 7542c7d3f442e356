import { quoted } from '../domain/errors.ts'
import type { JobRow } from '../domain/job.ts'
import type { Instant } from '../domain/timetable.ts'
import { compileSchedule } from '../schedule/index.ts'
import type { RunView } from '../store/store.ts'
import { unknownJob, usage } from './failure.ts'
import type { Session } from './session.ts'
import { oneLine } from './text.ts'

/** One occurrence with all that the store knows of it. */
export interface Occurrence {
  readonly now: Instant
  readonly job: string
  readonly cause: string
  readonly scheduledAt: Instant
  /** Oldest first: its attempts, and its verdict once it has one. May be a line of several occurrences. */
  readonly lines: readonly RunView[]
  /** Where it is open: its row. */
  readonly row: JobRow | null
  /** The job's own, as it stands now. Null: it is gone. */
  readonly jobRow: JobRow | null
}

/** How a run is named on the command line. */
export const runForms = 'a number of `onetick runs`, JOB@INSTANT, or a job (what it runs now, else its last)'

/** Most attempts that are told. */
const mostLines = 1000

/** Throws `ONETICK_USAGE` and `ONETICK_JOB_UNKNOWN` where there is no such run. */
export async function findOccurrence(session: Session, asked: string): Promise<Occurrence> {
  if (/^\d{1,15}$/.test(asked)) return byNumber(session, Number(asked))
  const [, named = '', instant = ''] = /^(.+)@(\d{4}-\d\d-\d\d[T ].+)$/i.exec(asked) ?? []
  return instant === '' ? latest(session, asked) : byInstant(session, named, instantOf(session, instant))
}

async function byNumber(session: Session, id: number): Promise<Occurrence> {
  const [line] = (await session.read('runs', { before: id + 1, limit: 1 })).runs
  if (line?.id !== id) throw usage(`There is no run ${id} in ${await session.whereabouts()}.`, 'Run: npx onetick runs')
  return gathered(session, line)
}

async function byInstant(session: Session, job: string, at: Instant): Promise<Occurrence> {
  const [{ runs }, rows] = await Promise.all([session.read('runs', { job, at, limit: mostLines }), rowsOf(session, job)])
  const open = rows.filter(row => row.open?.scheduledAt === at).map(({ open }) => open?.cause ?? '')
  const causes = [...new Set([...open, ...runs.map(({ cause }) => cause)])]
  const [cause] = causes
  if (cause === undefined) {
    const remedy = `Those that have begun: npx onetick runs ${quoted(job)}. Those to come: npx onetick next ${quoted(job)}`
    throw usage(`The job ${quoted(job)} has no run of ${new Date(at).toISOString()}.`, remedy)
  }
  if (causes.length > 1) {
    const numbers = causes.map(of => runs.find(run => run.cause === of)?.id).filter(id => id !== undefined)
    throw usage(`The job ${quoted(job)} has ${causes.length} runs of that instant.`, `Name one by its number: ${numbers.join(', ')}.`)
  }
  return gathered(session, { job, cause, scheduledAt: at })
}

async function latest(session: Session, job: string): Promise<Occurrence> {
  const open = (await rowsOf(session, job)).flatMap(row => (row.open === null ? [] : [row.open])).sort((a, b) => b.openedAt - a.openedAt)[0]
  if (open !== undefined) return gathered(session, { job, cause: open.cause, scheduledAt: open.scheduledAt })
  const [last] = (await session.read('runs', { job, limit: 1 })).runs
  if (last !== undefined) return gathered(session, last)
  throw usage(`The job ${quoted(job)} has not run yet.`, `What comes next: npx onetick next ${quoted(job)}`)
}

async function gathered(
  session: Session,
  { job, cause, scheduledAt }: Pick<RunView, 'job' | 'cause' | 'scheduledAt'>,
): Promise<Occurrence> {
  const [{ now, runs }, rows] = await Promise.all([
    session.read('runs', { job, at: scheduledAt, limit: mostLines }),
    session.read('jobs', { name: job, removed: true, all: true }),
  ])
  const lines = runs.filter(run => run.cause === cause).sort((a, b) => a.id - b.id)
  const row = rows.jobs.find(({ open }) => open?.cause === cause && open.scheduledAt === scheduledAt)
  const jobRow = rows.jobs.find(({ parent }) => parent === null) ?? null
  return { now, job, cause, scheduledAt, lines, row: lines.some(({ final }) => final) ? null : (row ?? null), jobRow }
}

async function rowsOf(session: Session, name: string): Promise<readonly JobRow[]> {
  const { jobs } = await session.read('jobs', { name, removed: true, all: true })
  if (jobs.length === 0) throw unknownJob(name, await session.whereabouts())
  return jobs
}

/** As programs write it, or as `onetick runs` prints it, on the clock of --tz. */
function instantOf(session: Session, text: string): Instant {
  return compileSchedule({ schedule: oneLine(text).replace(' ', 'T'), timeZone: session.times.zone }).next(0)
}
