import { quoted } from '../domain/errors.ts'
import { BitSet } from './bit-set.ts'
import { FIRST_YEAR, LAST_YEAR } from './calendar.ts'
import type { Refuse } from './refusal.ts'

/** One of the places of a cron expression: what it is called and which values it knows. */
export interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Where `*` and an open `a/n` end, if not at `max`: Sunday is both 0 and 7, and counts once. */
  readonly openEnd?: number
  /** Where the steps of a star begin, if not at `min`: a star with step 4 among the years means those that 4 divides. */
  readonly starStart?: number
  readonly names?: ReadonlyMap<string, number>
}

/** The values from `from` to `to`, each `step` apart. */
export interface ValueRange {
  readonly from: number
  readonly to: number
  readonly step: number
}

export const SECOND: Field = { name: 'second', min: 0, max: 59 }
export const MINUTE: Field = { name: 'minute', min: 0, max: 59 }
export const HOUR: Field = { name: 'hour', min: 0, max: 23 }
export const DAY_OF_MONTH: Field = { name: 'day of month', min: 1, max: 31 }
export const MONTH: Field = { name: 'month', min: 1, max: 12, names: named('JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC', 1) }
export const DAY_OF_WEEK: Field = { name: 'day of week', min: 0, max: 7, openEnd: 6, names: named('SUN MON TUE WED THU FRI SAT', 0) }
export const YEAR: Field = { name: 'year', min: FIRST_YEAR, max: LAST_YEAR, starStart: 0 }

const SUNDAY = 'SUN'

/** A field that holds values and nothing else. */
export function readBits(text: string, field: Field, refuse: Refuse): BitSet {
  const bits = new BitSet()
  for (const item of text.split(',')) addRange(bits, readRange(item, field, refuse))
  return bits
}

function addRange(bits: BitSet, { from, to, step }: ValueRange): void {
  for (let value = from; value <= to; value += step) bits.add(value)
}

/** One item of a list: `*`, `5`, `5-9`, each also with a step; `5/10` runs on to the end of the field. */
export function readRange(item: string, field: Field, refuse: Refuse): ValueRange {
  if (item === '')
    throw refuse(`the list in the ${field.name} field has an empty place`, 'Write values with one comma between them, as in 1,15.')
  const [span = '', stepText, ...rest] = item.split('/')
  if (rest.length > 0)
    throw refuse(`the ${field.name} field has ${quoted(item)}, with more than one /`, 'Write one step, as in */15 or 10-40/15.')
  const step = stepText === undefined ? 1 : readStep(stepText, field, refuse)
  const end = field.openEnd ?? field.max
  if (span === '*') return { from: field.starStart ?? field.min, to: end, step }
  if (span === '?')
    throw refuse(`'?' in the ${field.name} field`, 'A ? stands alone, and only for the day of month or the day of week; elsewhere write *.')
  if (span === '') throw refuse(`the ${field.name} field has ${quoted(item)}, a step from nowhere`, `Write */${stepText}.`)
  const [first = '', last, ...more] = span.split('-')
  if (more.length > 0 || first === '' || last === '') {
    throw refuse(
      `the ${field.name} field has ${quoted(span)}, which is not a range`,
      'Write a range as in 9-17; values are never negative.',
    )
  }
  const from = readValue(first, field, refuse)
  if (last !== undefined) return { from, to: readRangeEnd({ first, last, from }, field, refuse), step }
  if (stepText === undefined) return { from, to: from, step }
  return { from: from > end ? field.min : from, to: end, step }
}

export function readValue(text: string, field: Field, refuse: Refuse): number {
  if (/^\d+$/.test(text)) {
    const value = Number(text)
    if (value >= field.min && value <= field.max) return value
    throw refuse(
      `${field.name} ${quoted(text)} is outside ${field.min}-${field.max}`,
      `Name a ${field.name} from ${field.min} to ${field.max}.`,
    )
  }
  const value = field.names?.get(text)
  if (value !== undefined) return value
  throw refuse(`the ${field.name} field does not understand ${quoted(text)}`, vocabularyOf(field))
}

function readRangeEnd({ first, last, from }: { first: string; last: string; from: number }, field: Field, refuse: Refuse): number {
  const to = readValue(last, field, refuse)
  if (to >= from) return to
  // The one range that may end on a smaller number: a week that ends on Sunday, as in FRI-SUN.
  if (field === DAY_OF_WEEK && last === SUNDAY) return 7
  throw refuse(`the ${field.name} range ${quoted(`${first}-${last}`)} runs backwards`, `Write ${wrapped({ first, last, from }, field)}.`)
}

/** What someone who wrote `22-2` meant: `22-23,0-2`. */
function wrapped({ first, last, from }: { first: string; last: string; from: number }, { min, max, openEnd = max, names }: Field): string {
  const words = names?.has(first) ? [...names.keys()] : []
  const start = words[0] ?? min
  return from > openEnd ? `${start}-${last}` : `${first}-${words[words.length - 1] ?? openEnd},${start}-${last}`
}

function readStep(text: string, field: Field, refuse: Refuse): number {
  const size = (field.openEnd ?? field.max) - field.min + 1
  if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= size) return Number(text)
  throw refuse(
    `the ${field.name} step ${quoted(text)} is not a whole number from 1 to ${size}`,
    'For an interval that no field can hold, write for example: every 90m',
  )
}

function vocabularyOf({ name, min, max, names }: Field): string {
  const words = names === undefined ? '' : `, or ${[...names.keys()].join(', ')}`
  return `Name a ${name} by a number from ${min} to ${max}${words}.`
}

function named(words: string, first: number): ReadonlyMap<string, number> {
  return new Map(words.split(' ').map((word, index) => [word, index + first]))
}
