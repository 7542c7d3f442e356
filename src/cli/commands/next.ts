import type { Command } from 'commander'
import { OnetickError, quoted } from '../../domain/errors.ts'
import type { Instant, Schedule } from '../../domain/timetable.ts'
import { systemClock } from '../../platform/system.ts'
import { inWords, MOST_PREVIEWED, type PreviewItem, preview } from '../../schedule/index.ts'
import { askedSchedule, nothingAsked } from '../asked-schedule.ts'
import { unknownJob } from '../failure.ts'
import { appStore, namedStore } from '../named-store.ts'
import { acting, type Session } from '../session.ts'
import type { Column } from '../table.ts'
import { printable } from '../text.ts'
import { awayText, iso } from '../times.ts'
import { wholeNumber } from '../whole-number.ts'

export function next(program: Command): void {
  program
    .command('next')
    .description('The next instants of a job or of any schedule, with marks where clocks change.')
    .argument('<job|schedule>', "a job's name, or a cron expression, 'every 30s' or an instant")
    .option('-n, --lines <count>', `how many, 1 to ${MOST_PREVIEWED}`, '10')
    .addHelpText('after', help)
    .action(acting(show))
}

const help = `
A schedule needs neither store nor config; --tz says which zone it is meant in (default UTC). A job is looked for in
the config, then in the store; --tz then only says how its instants are printed.

Examples:
  onetick next '0 3 * * *' --tz Europe/Berlin
  onetick next 2030-01-01T09:00:00Z
  onetick next send-invoices -n 30

JSON: { job, schedule, timeZone, words, now, next: [{ at, local, runs, clock, times, note }] }
  runs: false where a clock change makes the schedule pass this one by; clock: plain, first pass, second pass or missing`

interface Found {
  /** Null: a bare schedule. */
  readonly job: string | null
  readonly schedule: Schedule | null
  readonly now: Instant
}

async function show(session: Session, { lines }: { readonly lines: string }, [asked = '']: readonly string[]): Promise<number> {
  const count = wholeNumber('-n', lines, { min: 1, max: MOST_PREVIEWED })
  const { out, options } = session
  const { job, schedule, now } = await find(session, asked)
  const timeZone = schedule?.timeZone ?? 'UTC'
  const words = schedule === null ? 'Only when asked for' : inWords(schedule)
  const items = schedule === null ? [] : preview(schedule, { after: now, count })
  if (out.isJson) {
    const next = items.map(({ instant, local, runs, clock, times, note }) => ({ at: iso(instant), local, runs, clock, times, note }))
    out.json({ job, schedule: schedule?.schedule ?? null, timeZone, words, now: iso(now), next })
    return 0
  }
  out.hint(`${job === null ? '' : `${printable(job)}: `}${words}\n`)
  if (items.length === 0) out.hint(schedule === null ? 'It has no schedule: it runs when triggered.' : 'Nothing is left to come.')
  else out.table(columns(session, now, options.tz !== undefined && job !== null), items, ({ runs }) => (runs ? 'plain' : 'quiet'))
  return 0
}

function columns({ times }: Session, now: Instant, isZoneAsked: boolean): Column<PreviewItem>[] {
  return [
    { title: 'local time', text: ({ local, runs }) => (runs ? local : `(${local})`) },
    { title: 'UTC', text: ({ instant }) => (iso(instant) ?? '–').replace('.000Z', 'Z') },
    ...(isZoneAsked ? [{ title: times.zone, text: ({ instant }: PreviewItem) => times.withOffset(instant) }] : []),
    { title: 'away', text: ({ instant }) => awayText(instant, now) },
    { title: '', text: ({ note, times: many }) => (many > 1 ? `${note} (${many} times)` : note), atMost: 160 },
  ]
}

/** A schedule where it reads as one; else a job of the config, else of the store. */
async function find(session: Session, asked: string): Promise<Found> {
  if (asked === '') throw nothingAsked('a job')
  const { schedule: bare, refusal, isMeant } = askedSchedule(asked, session.options.tz)
  if (refusal === null) return { job: null, schedule: bare, now: systemClock.now() }
  const config = await session.config()
  if (config?.kind === 'instance') {
    const declared = config.onetick.declared.find(({ name }) => name === asked)
    if (declared !== undefined) return { job: asked, schedule: declared.definition.schedule, now: systemClock.now() }
  } else if (config === null && namedStore(session.options) === null && appStore() === null) {
    if (isMeant) throw refusal
    throw new OnetickError(
      'ONETICK_CONFIG_MISSING',
      `${quoted(asked)} is no schedule, and there is no config in which to look for a job.`,
      {
        remedy: "Write a schedule such as '0 3 * * *', or say where the job is: --config FILE or --store URL.",
      },
    )
  }
  const { now, jobs } = await session.read('jobs', { name: asked })
  const [row] = jobs
  if (row !== undefined) return { job: asked, schedule: row.definition.schedule, now }
  throw isMeant ? refusal : unknownJob(asked, await session.whereabouts())
}
