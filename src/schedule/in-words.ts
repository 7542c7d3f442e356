import cronstrue from 'cronstrue'
import type { Schedule } from '../domain/timetable.ts'
import { localText } from './calendar.ts'
import { splitFields } from './cron.ts'
import { INTERVAL_UNITS } from './interval.ts'
import { type ReadSchedule, readSchedule } from './read-schedule.ts'
import { refuserFor } from './refusal.ts'

/**
 * A schedule as people say it, in English: `At 03:00, Europe/Berlin time`.
 *
 * Throws what `compileSchedule` throws.
 */
export function inWords(spec: Schedule): string {
  const read = readSchedule(spec)
  switch (read.kind) {
    case 'interval':
      return `Every ${lengthInWords(read.timetable.everyMs)}`
    case 'instant':
      return `Once, at ${localText(read.timetable.instant)}Z`
    case 'local time':
      return `Once, at ${localText(read.times.local)}, ${placeInWords(read)}`
    case 'cron':
      return `${cronInWords(read.expression)}, ${placeInWords(read)}`
  }
}

function lengthInWords(lengthMs: number): string {
  const words: string[] = []
  let rest = lengthMs
  for (const { ms, word } of INTERVAL_UNITS) {
    const amount = Math.floor(rest / ms)
    rest -= amount * ms
    if (amount === 1) words.push(words.length === 0 && rest === 0 ? word : `1 ${word}`)
    else if (amount > 1) words.push(`${amount} ${word}s`)
  }
  return words.join(' ')
}

function cronInWords(expression: string): string {
  const { second, minute, hour, dayOfMonth, month, dayOfWeek, year } = splitFields(expression, refuserFor(expression))
  const say = (dayOfMonth: string, dayOfWeek: string): string =>
    describe([second, minute, hour, dayOfMonth, month, dayOfWeek, year].join(' '))
  if (isStar(dayOfMonth) || isStar(dayOfWeek)) return say(dayOfMonth, dayOfWeek)
  // Either day is enough, which one sentence with "and" would not say.
  return `${say(dayOfMonth, '*')}; also ${say('*', dayOfWeek).replace(/^./, first => first.toLowerCase())}`
}

/** Its own text for an expression that cronstrue has no words for, such as `1W,15W` among the days. */
function describe(expression: string): string {
  try {
    return cronstrue.toString(expression, { use24HourTimeFormat: true })
  } catch {
    return `Cron ${expression}`
  }
}

function isStar(field: string): boolean {
  return field === '*' || field === '?'
}

function placeInWords({ timeZone }: ReadSchedule): string {
  return timeZone === 'UTC' ? 'UTC' : `${timeZone} time`
}
