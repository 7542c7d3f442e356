import type { Schedule } from '../../domain/timetable.ts'
import { type CronFields, splitFields } from '../../schedule/cron.ts'
import { DAY_OF_MONTH, DAY_OF_WEEK, type Field, HOUR, MINUTE, MONTH, readRange, SECOND, YEAR } from '../../schedule/field.ts'
import { readSchedule } from '../../schedule/read-schedule.ts'
import { refuserFor } from '../../schedule/refusal.ts'

/** One place of a cron expression: what stands there, and what it means. */
export interface FieldExplained {
  readonly field: string
  readonly text: string
  readonly meaning: string
  /** The values that it stands for; null: they differ from month to month. */
  readonly values: readonly number[] | null
}

/** What a cron expression is made of; null: the schedule is none. */
export interface CronExplained {
  /** As it reads in capitals, nicknames spelled out. */
  readonly expression: string
  /** How many were written. */
  readonly count: number
  readonly fields: readonly FieldExplained[]
}

export function cronExplained(schedule: Schedule): CronExplained | null {
  const read = readSchedule(schedule)
  if (read.kind !== 'cron') return null
  const { expression } = read
  const fields = splitFields(expression, refuserFor(expression))
  const count = expression.split(/[ \t]+/).length
  const written = places.filter(({ key }) => (key === 'second' ? count > 5 : key !== 'year' || count > 6))
  return { expression, count, fields: written.map(place => explained(place, fields[place.key])) }
}

interface Place {
  readonly key: keyof CronFields
  readonly of: Field
  readonly name?: (value: number) => string
}

const months = 'January February March April May June July August September October November December'.split(' ')
const weekdays = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const monthName = (value: number): string => months[value - 1] ?? String(value)
const weekdayName = (value: number): string => weekdays[value % 7] ?? String(value)

const places: readonly Place[] = [
  { key: 'second', of: SECOND },
  { key: 'minute', of: MINUTE },
  { key: 'hour', of: HOUR },
  { key: 'dayOfMonth', of: DAY_OF_MONTH },
  { key: 'month', of: MONTH, name: monthName },
  { key: 'dayOfWeek', of: DAY_OF_WEEK, name: weekdayName },
  { key: 'year', of: YEAR },
]

function explained(place: Place, text: string): FieldExplained {
  const { of } = place
  const words = text.split(',').map(item => itemInWords(place, item))
  return { field: of.name, text, meaning: joined([...new Set(words)]), values: valuesOf(place, text) }
}

/** Signs that name other days each month. */
const movable = /^(L|LW|\d+W|.+#\d|.+L)$/

function valuesOf({ key, of }: Place, text: string): number[] | null {
  const items = text === '?' ? ['*'] : text.split(',')
  if (key === 'year' || items.some(item => movable.test(item))) return null
  return [...new Set(items.flatMap(item => rangeOf(of, item)).map(value => (key === 'dayOfWeek' ? value % 7 : value)))].sort(
    (a, b) => a - b,
  )
}

function rangeOf(of: Field, item: string): number[] {
  const { from, to, step } = readRange(item, of, refuserFor(item))
  const values: number[] = []
  for (let value = from; value <= to; value += step) values.push(value)
  return values
}

/** More than so many values are told as a range. */
const mostListed = 12

function itemInWords({ key, of, name = String }: Place, item: string): string {
  if (item === '*' || item === '?') return key === 'dayOfMonth' || key === 'dayOfWeek' ? 'any day' : `every ${of.name}`
  if (item === 'L') return 'the last day of the month'
  if (item === 'LW') return 'the last working day of the month'
  if (/^\d+W$/.test(item)) return `the working day nearest to day ${item.slice(0, -1)}, within the month`
  const [day = '', number] = item.split('#')
  if (number !== undefined) return `the ${ordinal(Number(number))} ${name(first(of, day))} of the month`
  if (key === 'dayOfWeek' && /^(\d+|[A-Z]{3})L$/.test(item)) return `the last ${name(first(of, item.slice(0, -1)))} of the month`
  const { from, to, step } = readRange(item, of, refuserFor(item))
  if (from === to) return name(from)
  if (key === 'year' && item.startsWith('*')) return `years that ${step} divides`
  const values = rangeOf(of, item)
  if (step === 1) return `${name(from)} to ${name(to)}`
  return values.length <= mostListed
    ? joined(values.map(name))
    : `every ${ordinal(step)} from ${name(from)} to ${name(values.at(-1) ?? to)}`
}

function first(of: Field, text: string): number {
  return readRange(text, of, refuserFor(text)).from
}

function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

function ordinal(number: number): string {
  const last = number % 100 >= 11 && number % 100 <= 13 ? 0 : number % 10
  return `${number}${['th', 'st', 'nd', 'rd'][last] ?? 'th'}`
}
