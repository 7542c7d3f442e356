import { type Events, eventNames } from '../domain/events.ts'
import type { RunError } from '../domain/run.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Onetick } from '../scheduler/onetick.ts'
import { withoutPasswords } from './text.ts'
import { iso } from './times.ts'

/** An event with the store's time at which it was told. */
export type Told = { [K in keyof Events]: { readonly name: K; readonly at: Instant; readonly event: Events[K] } }[keyof Events]

/** Everything that a replica tells. */
export function listen(onetick: Onetick, listener: (told: Told) => void): void {
  for (const name of eventNames) {
    onetick.on(name, event => listener({ name, at: onetick.storeNow(), event } as Told))
  }
}

const instants: ReadonlySet<string> = new Set(['scheduledAt', 'untilAt', 'dueAt'])

/** One line of `--json`: `{ event, at, … }`, instants as ISO text, errors as name and message. */
export function jsonOf({ name, at, event }: Told): Record<string, unknown> {
  const fields = Object.entries(event).map(([field, value]: [string, unknown]) => {
    if (instants.has(field)) return [field, iso(value as Instant)]
    if (field === 'error' && value !== null) return [field, nameAndMessage(value)]
    return [field, value]
  })
  return { event: name, at: iso(at), ...Object.fromEntries(fields) }
}

/** Whole, but for passwords: what a handler throws may hold the URL that it could not reach. */
export function nameAndMessage(error: unknown): { name: string; message: string } {
  const { name = 'Error', message = String(error) } = error as Partial<RunError>
  return { name, message: withoutPasswords(message) }
}
