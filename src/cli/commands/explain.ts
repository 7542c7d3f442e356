import type { Command } from 'commander'
import { errorCodes } from '../../domain/errors.ts'
import type { Schedule } from '../../domain/timetable.ts'
import { systemClock } from '../../platform/system.ts'
import { inWords, preview } from '../../schedule/index.ts'
import { type AskedSchedule, askedSchedule, nothingAsked } from '../asked-schedule.ts'
import { codeExplained } from '../error-page.ts'
import { type ClockChange, clockChangesOf } from '../explain/clock-changes.ts'
import { cronExplained } from '../explain/fields.ts'
import { storyOf } from '../explain/story.ts'
import { trapsOf } from '../explain/traps.ts'
import { usage } from '../failure.ts'
import { appStore, namedStore } from '../named-store.ts'
import { findOccurrence, runForms } from '../occurrence.ts'
import { acting, type Session } from '../session.ts'
import { awayText, iso } from '../times.ts'
import { wholeNumber } from '../whole-number.ts'

export function explain(program: Command): void {
  program
    .command('explain')
    .description('What a schedule means, what an error code means, or why a run ran where it did and ended as it did.')
    .argument('<schedule|code|run>', `a schedule, a code such as ONETICK_LEASE_LOST, or a run: ${runForms}`)
    .option('-n, --lines <count>', 'of a schedule: how many of its next instants, 1 to 100', '5')
    .addHelpText('after', help)
    .action(acting(tell))
}

const help = `
A schedule and a code need neither store nor config; --tz says which zone a schedule is meant in (default UTC).

Examples:
  onetick explain '30 2 13 * FRI' --tz Europe/Berlin
  onetick explain ONETICK_LEASE_LOST
  onetick explain 4711
  onetick explain send-invoices@2026-10-25T02:00:00Z

JSON: { kind: 'schedule', schedule, timeZone, words, fields: [{ field, text, meaning, values }], notes,
    clockChanges: [{ at, text, effects }], now, next: [{ at, local, runs, note }] }
  or { kind: 'code', code, meaning, cause, remedy }
  or { kind: 'run', job, cause, scheduledAt, sentences }`

async function tell(session: Session, { lines }: { readonly lines: string }, [asked = '']: readonly string[]): Promise<number> {
  const count = wholeNumber('-n', lines, { min: 1, max: 100 })
  if (asked === '') throw nothingAsked('a code or a run')
  if (/^ONETICK_/i.test(asked)) return tellCode(session, asked.toUpperCase())
  const isRun = /^\d+$|^[^@].*@\d{4}-/.test(asked)
  const found = askedSchedule(asked, session.options.tz)
  if (!isRun && found.refusal === null) return tellSchedule(session, found.schedule, count)
  if (!isRun) await refuseNeither(session, found)
  return tellRun(session, asked)
}

/** What is no schedule is a job, where there is a store to look for it in. */
async function refuseNeither(session: Session, { schedule, refusal, isMeant }: AskedSchedule): Promise<void> {
  const code = `ONETICK_${schedule.schedule.toUpperCase()}`
  if (errorCodes.some(known => known === code)) throw usage(`'${schedule.schedule}' is no schedule.`, `Did you mean ${code}?`)
  const isStoreKnown = (await session.config()) !== null || namedStore(session.options) !== null || appStore() !== null
  if (isMeant || !isStoreKnown) throw refusal
}

function tellCode({ out }: Session, code: string): number {
  const explained = codeExplained(code)
  if (explained === null) throw usage(`There is no code ${JSON.stringify(code.slice(0, 80))}.`, 'All stand in docs/errors.md.')
  if (out.isJson) {
    out.json({ kind: 'code', ...explained })
    return 0
  }
  const { meaning, cause, remedy } = explained
  out.line(out.paint('strong', code))
  out.line(`\n${meaning}`)
  if (cause !== null) out.line(`\nUsual cause: ${cause}`)
  if (remedy !== null) out.line(`\nWhat to do: ${remedy}`)
  return 0
}

function tellSchedule({ out }: Session, schedule: Schedule, count: number): number {
  const now = systemClock.now()
  const words = inWords(schedule)
  const cron = cronExplained(schedule)
  const [notes, changes] = [trapsOf(schedule, cron, now), clockChangesOf(schedule, now)]
  const items = preview(schedule, { after: now, count })
  if (out.isJson) {
    out.json({
      ...{ kind: 'schedule', schedule: schedule.schedule, timeZone: schedule.timeZone ?? 'UTC', words },
      ...{ fields: cron?.fields ?? [], notes },
      clockChanges: changes.map(({ at, text, effects }) => ({ at: iso(at), text, effects })),
      now: iso(now),
      next: items.map(({ instant, local, runs, note }) => ({ at: iso(instant), local, runs, note })),
    })
    return 0
  }
  out.line(out.paint('strong', words))
  if (cron !== null) {
    if (cron.expression !== schedule.schedule) out.line(`\nShort for: ${cron.expression}`)
    out.line()
    out.table(
      [
        { title: 'field', text: ({ field }) => field },
        { title: 'says', text: ({ text }) => text, atMost: 40 },
        { title: 'means', text: ({ meaning }) => meaning, atMost: 160 },
      ],
      cron.fields,
    )
  }
  paragraph(
    out,
    'Next',
    items.length === 0
      ? ['nothing is left to come']
      : items.map(({ instant, local, runs, note }) => {
          const text = `${local}  ${awayText(instant, now)}${note === '' ? '' : `  ${note}`}`
          return runs ? text : `(${text})`
        }),
  )
  paragraph(out, 'Clock changes within a year', changes.map(changeText))
  paragraph(out, 'Mind', notes)
  return 0
}

function changeText({ text, effects }: ClockChange): string {
  return `${text}. ${effects.length === 0 ? 'No run of it is concerned.' : `${effects.join('; ')}.`}`
}

function paragraph(out: Session['out'], title: string, lines: readonly string[]): void {
  if (lines.length === 0) return
  out.line(`\n${out.paint('strong', title)}`)
  for (const line of lines) out.line(`  ${line}`)
}

async function tellRun(session: Session, asked: string): Promise<number> {
  const { out, times } = session
  const occurrence = await findOccurrence(session, asked)
  const sentences = storyOf(occurrence, times)
  const { job, cause, scheduledAt } = occurrence
  if (out.isJson) out.json({ kind: 'run', job, cause, scheduledAt: iso(scheduledAt), sentences })
  else {
    for (const sentence of sentences) out.line(sentence)
    out.hint(`\nTimes in ${times.zone}. All of its attempts: npx onetick show ${asked.includes(' ') ? `'${asked}'` : asked}`)
  }
  return 0
}
