import type { Command } from 'commander'
import type { JobRow } from '../../domain/job.ts'
import type { RunView } from '../../store/store.ts'
import { type JobState, stateOf } from '../job-state.ts'
import { scheduleInWords } from '../schedule-in-words.ts'
import { acting, type Session } from '../session.ts'
import type { Column } from '../table.ts'
import { printable } from '../text.ts'
import { awayText, iso, type Times } from '../times.ts'
import { emptyStore } from './empty.ts'

export function list(program: Command): void {
  program
    .command('list')
    .description('The jobs in the store: schedule, state, last end, next instant.')
    .option('--all', 'removed jobs too')
    .addHelpText('after', help)
    .action(acting(show))
}

const help = `
Examples:
  onetick list
  onetick list --store postgres://app@db/app --tz Europe/Berlin

JSON: { now, jobs: [{ name, task, schedule, timeZone, words, state, runningOn, orphaned, nextAt, lastEndedAt, lastVerdict,
  lastOwner, asked, pause: { since, until, by, why } | null, removedAt }] }
  state: idle, due, running, expired, waiting, paused or removed`

/** A replica that was not heard of for this long no longer counts. */
const liveForMs = 30_000
/** How far back the last verdicts are looked for. */
const newestLines = 1000

interface Line {
  readonly row: JobRow
  readonly state: JobState
  readonly last: RunView | undefined
  /** No live replica knows the task. */
  readonly isOrphaned: boolean
}

async function show(session: Session, { all = false }: { readonly all?: boolean }): Promise<number> {
  const { out, times } = session
  const [{ now, jobs }, { replicas }, { runs }] = await Promise.all([
    session.read('jobs', { removed: all }),
    session.read('replicas', {}),
    session.read('runs', { limit: newestLines, final: true }),
  ])
  const live = replicas.filter(({ role, seenAt }) => role === 'all' && seenAt >= now - liveForMs)
  const known = new Set(live.flatMap(({ tasks }) => tasks))
  const lines = jobs.map(row => ({
    row,
    state: stateOf(row, now),
    last: runs.find(run => run.job === row.name),
    isOrphaned: row.removedAt === null && !known.has(row.task),
  }))
  if (out.isJson) out.json({ now: iso(now), jobs: lines.map(jsonOf) })
  else if (lines.length === 0) await emptyStore(session)
  else {
    out.table(columns(lines, times, now), lines, ({ state, isOrphaned }) =>
      isOrphaned || state.kind === 'expired' ? 'notice' : state.kind === 'removed' || state.kind === 'paused' ? 'quiet' : 'plain',
    )
    out.hint(`\n${closing(lines, live.length)} Times in ${times.zone}.`)
  }
  return 0
}

function columns(lines: readonly Line[], times: Times, now: number): Column<Line>[] {
  const hasTasks = lines.some(({ row }) => row.task !== row.name)
  const next = (line: Line): string => ((line.row.removedAt === null ? line.row.nextAt : null) === null ? '–' : nextText(line, times, now))
  return [
    { title: 'job', text: ({ row }) => printable(row.name), atMost: 40 },
    ...(hasTasks ? [{ title: 'task', text: ({ row }: Line) => printable(row.task), atMost: 30 }] : []),
    { title: 'schedule', text: ({ row }) => printable(row.definition.schedule?.schedule ?? '–'), atMost: 30 },
    { title: 'in words', text: ({ row }) => scheduleInWords(row.definition.schedule), atMost: 60 },
    { title: 'state', text: ({ state, isOrphaned }) => `${state.text(times)}${isOrphaned ? ' (orphaned)' : ''}` },
    { title: 'last end', text: line => lastText(line, now) },
    { title: 'next', text: next },
  ]
}

function nextText({ row, state }: Line, times: Times, now: number): string {
  if (!Number.isFinite(row.nextAt)) return '–'
  const isHeld = state.kind === 'paused' && (row.pause?.until ?? 0) > row.nextAt
  return isHeld ? 'when resumed' : `${times.full(row.nextAt)} (${awayText(row.nextAt, now)})`
}

function lastText({ row, last }: Line, now: number): string {
  if (last !== undefined) return `${last.end} ${awayText(last.endedAt, now)}`
  return row.endedAt === null ? 'never' : awayText(row.endedAt, now)
}

function closing(lines: readonly Line[], liveCount: number): string {
  const orphaned = lines.filter(({ isOrphaned }) => isOrphaned).length
  if (liveCount === 0) return 'No replica is live, so nothing runs. Start one: npx onetick start.'
  const replicas = liveCount === 1 ? 'One replica is live.' : `${liveCount} replicas are live.`
  return orphaned === 0 ? replicas : `${replicas} None of them knows the task of the orphaned ${orphaned === 1 ? 'job' : 'jobs'}.`
}

function jsonOf({ row, state, last, isOrphaned }: Line): object {
  const { schedule } = row.definition
  return {
    name: row.name,
    task: row.task,
    schedule: schedule?.schedule ?? null,
    timeZone: schedule === null ? null : (schedule.timeZone ?? 'UTC'),
    words: scheduleInWords(schedule),
    state: state.kind,
    runningOn: state.kind === 'running' ? (row.lease?.owner ?? null) : null,
    orphaned: isOrphaned,
    nextAt: iso(row.nextAt),
    lastEndedAt: iso(last?.endedAt ?? row.endedAt),
    lastVerdict: last?.end ?? null,
    lastOwner: row.lastOwner,
    asked: row.asked,
    pause: row.pause === null ? null : { since: iso(row.pause.at), until: iso(row.pause.until), by: row.pause.by, why: row.pause.why },
    removedAt: iso(row.removedAt),
  }
}
