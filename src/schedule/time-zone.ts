import { type OnetickError, quoted } from '../domain/errors.ts'
import { refusal } from './refusal.ts'

const LONGEST_NAME = 64
const MAX_NAMES_KEPT = 1_024
/** Names that were found good, so that 100,000 jobs do not ask `Intl` 100,000 times. */
const known = new Map<string, string>()

/**
 * The name of a time zone as it is stored and compared: letter case put right, links left as they are, because hosts of two releases
 * resolve them differently. `UTC`, `GMT` and names with a slash that this host's `Intl` knows.
 *
 * Throws ONETICK_TIME_ZONE for anything else, abbreviations and offsets among them.
 */
export function canonicalTimeZone(name: string = 'UTC'): string {
  let canonical = known.get(name)
  if (canonical === undefined) {
    canonical = readName(name)
    if (known.size >= MAX_NAMES_KEPT) known.clear()
    known.set(name, canonical)
  }
  return canonical
}

function readName(name: string): string {
  const capitals = name.toUpperCase()
  if (capitals === 'UTC' || capitals === 'GMT') return capitals
  if (/^(?:UTC|GMT)?[+-]\d|^Z$/i.test(name))
    throw refused(name, 'is a distance from UTC, which no clock change follows', remedyForOffset(name))
  if (name.length > LONGEST_NAME || !/^[A-Za-z0-9_+\-/]+$/.test(name)) throw refused(name, 'is not a name that time zones have')
  const resolved = resolve(name)
  if (!name.includes('/')) throw refusedShort(name, resolved)
  if (resolved === undefined || /^systemv\//i.test(name)) throw refused(name, "is not known to this host's zone data", remedyForTypo(name))
  return resolved.toUpperCase() === capitals ? resolved : properCase(name)
}

/** What `Intl` makes of a name, or undefined where it knows none such. */
function resolve(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** Words of zone names that are not simply capitalised. */
const OWN_CASE: ReadonlyMap<string, string> = new Map(
  'of es au GMT UTC UCT US IN ACT LHI NSW McMurdo DumontDUrville ComodRivadavia DeNoronha EasterIsland BajaNorte BajaSur'
    .split(' ')
    .map(word => [word.toLowerCase(), word]),
)

function properCase(name: string): string {
  return name.toLowerCase().replace(/[a-z]+/g, word => OWN_CASE.get(word) ?? word.charAt(0).toUpperCase() + word.slice(1))
}

function refusedShort(name: string, resolved: string | undefined): OnetickError {
  if (resolved === undefined) return refused(name, "is not known to this host's zone data")
  return refused(
    name,
    `is not the full name of a place: here it would mean ${resolved}, elsewhere perhaps another`,
    "Name the place, as in 'Europe/London'.",
  )
}

/** POSIX counts the other way round: five hours ahead of UTC is `Etc/GMT-5`. */
function remedyForOffset(name: string): string {
  const [, sign, hours, minutes = '0'] = /([+-])(\d{1,2}):?(\d\d)?/.exec(name) ?? []
  if (sign === undefined || Number(hours) === 0) return "Write 'UTC'."
  if (Number(minutes) > 0 || Number(hours) > (sign === '+' ? 14 : 12)) return "Name a place that keeps this time, as in 'Asia/Kolkata'."
  return `Name a place, or for a clock that never changes write 'Etc/GMT${sign === '+' ? '-' : '+'}${Number(hours)}' (its sign is the other way round).`
}

/** `America/NewYork` is an easy slip; anything else gets the usual advice. */
function remedyForTypo(name: string): string | undefined {
  const letters = lettersOf(name)
  const meant = Intl.supportedValuesOf('timeZone').find(candidate => lettersOf(candidate) === letters)
  return meant === undefined ? undefined : `Did you mean '${meant}'?`
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9/]/g, '')
}

function refused(name: string, wrong: string, remedy?: string): OnetickError {
  return refusal('ONETICK_TIME_ZONE', `time zone ${quoted(name)} ${wrong}.`, remedy)
}
