import { OnetickError, quoted } from './errors.ts'

const maxBytes = 255

/** Names of jobs, tasks and leases are kept byte for byte: `Job`, `job` and `job ` are three. Throws `ONETICK_NAME`. */
export function checkName(what: string, name: unknown): string {
  const checked = checkKey(what, name)
  if (checked.startsWith('@')) {
    throw new OnetickError('ONETICK_NAME', `${what} ${quoted(checked)} starts with @.`, {
      remedy: 'Names that start with @ are for Onetick itself.',
    })
  }
  return checked
}

/** What every text by which rows are told apart has to be, ids of asks too: the empty one is the schedule's own cause. */
export function checkKey(what: string, name: unknown): string {
  if (typeof name !== 'string') throw new OnetickError('ONETICK_NAME', `${what} is ${name === null ? 'null' : typeof name}, not text.`)
  if (name === '') throw new OnetickError('ONETICK_NAME', `${what} is empty.`)
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/u.test(name)) {
    throw new OnetickError('ONETICK_NAME', `${what} ${quoted(name)} has a control, invisible or direction-changing character.`)
  }
  const bytes = new TextEncoder().encode(name).length
  if (bytes > maxBytes) throw new OnetickError('ONETICK_NAME', `${what} ${quoted(name)} is ${bytes} bytes long.`)
  return name
}
