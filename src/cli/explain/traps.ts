import type { Instant, Schedule } from '../../domain/timetable.ts'
import { readSchedule } from '../../schedule/read-schedule.ts'
import type { CronExplained, FieldExplained } from './fields.ts'

/** What readers of this schedule are likely to get wrong, a sentence or two each. */
export function trapsOf(schedule: Schedule, cron: CronExplained | null, now: Instant): string[] {
  const zone = schedule.timeZone === undefined ? [inUtc] : []
  if (cron !== null) return [...dayTraps(cron), ...timeTraps(cron), ...zone]
  const read = readSchedule(schedule)
  if (read.kind === 'interval') return intervalTraps(read.timetable.everyMs)
  if (read.kind === 'instant' && read.timetable.instant <= now) return ['The instant has passed: a new job with it is refused.']
  return []
}

const inUtc = "It is meant in UTC, not in a host's zone: give the job a timeZone (here: --tz) for the clock on the wall."

function dayTraps(cron: CronExplained): string[] {
  const [days, weekdays] = [fieldOf(cron, 'day of month'), fieldOf(cron, 'day of week')]
  const traps: string[] = []
  const areBoth = isRestricted(days) && isRestricted(weekdays)
  if (areBoth) {
    traps.push(
      `Day of month and day of week are both restricted: either is enough. It runs on ${dayText(days)}, and also on ${weekdays.meaning}.`,
    )
  }
  for (const { text, field } of areBoth ? [days, weekdays] : []) {
    if (text.startsWith('*/')) traps.push(`${text} in the ${field} is a restriction here; some crons then ask for both days.`)
  }
  const latest = Math.min(...(days.values ?? [0]))
  if (isRestricted(days) && latest > 28) {
    const other = latest === 29 ? 'February has no such day except in leap years' : 'Months without that day are passed by'
    traps.push(`${other}; L is the last day of every month.`)
  }
  if (/#5/.test(weekdays.text)) traps.push('Months that have only four of that weekday are passed by.')
  return traps
}

function dayText({ meaning, values }: FieldExplained): string {
  return values === null ? meaning : `day ${meaning} of the month`
}

function timeTraps(cron: CronExplained): string[] {
  const [seconds, minutes, hours] = ['second', 'minute', 'hour'].map(field => cron.fields.find(found => found.field === field))
  const traps: string[] = []
  if (cron.count === 5) traps.push('Five fields: minutes come first, and the second is 0.')
  else traps.push(`${cron.count === 6 ? 'Six' : 'Seven'} fields: seconds come first${cron.count === 6 ? '' : ', the year last'}.`)
  if (seconds?.text === '*') traps.push('The second is *: it runs 60 times in each minute that the rest allows. For once write 0 there.')
  if (minutes?.text === '*' && hours?.text !== '*') {
    traps.push('The minute is *: it runs in every minute of the hours named. For once an hour write 0 there.')
  }
  for (const [field, size] of [
    [seconds, 60],
    [minutes, 60],
    [hours, 24],
  ] as const) {
    const step = Number(/^\*\/(\d+)$/.exec(field?.text ?? '')?.[1] ?? 1)
    if (size % step === 0) continue
    const unit = field?.field ?? ''
    traps.push(
      `*/${step} starts again with each ${unit === 'hour' ? 'day' : unit === 'minute' ? 'hour' : 'minute'}, so the last step is shorter: for even steps write 'every ${step}${unit.charAt(0)}'.`,
    )
  }
  return traps
}

function intervalTraps(everyMs: number): string[] {
  const counted = 'It is counted from 1970-01-01T00:00:00Z, not from the start of a process, so that all replicas agree.'
  const day = 86_400_000
  if (everyMs % (7 * day) === 0) return [counted, 'Whole weeks begin on Thursdays, at midnight UTC. For another day write cron.']
  if (everyMs % day === 0) return [counted, 'Whole days begin at midnight UTC, whatever the time zone. For a clock on the wall write cron.']
  return [counted]
}

function isRestricted({ text }: FieldExplained): boolean {
  return text !== '*' && text !== '?'
}

function fieldOf(cron: CronExplained, name: string): FieldExplained {
  const found = cron.fields.find(({ field }) => field === name)
  if (found === undefined) throw new TypeError(`cron has no ${name}`)
  return found
}
