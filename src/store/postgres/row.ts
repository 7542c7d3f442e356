import type { Ask, JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'

/** A row of a result: its columns' values by position. */
export type Values = readonly unknown[]

/**
 * A job's columns in the order in which every statement that returns rows lists them. Written out there, not `*`:
 * a later release may add columns while this one runs.
 */
const jobColumns: readonly string[] = [
  ...['id', 'name', 'task', 'definition', 'hash', 'rev', 'next_at', 'after_at', 'old_schedules'],
  ...['scheduled_at', 'opened_at', 'cause', 'attempt', 'failures', 'checkpoint'],
  ...['due_at', 'fence', 'owner', 'claim_id', 'may_start', 'acquired_at'],
  ...['busy_from', 'busy_until', 'held_from', 'held_until', 'paused_at', 'paused_until', 'paused_by', 'paused_why'],
  ...['removed_at', 'asked', 'last_cause', 'last_at', 'last_owner', 'ended_at', 'cancel_fence', 'parent', 'parent_fence'],
]

/** An ask's columns, in the order of the statements. */
const askColumns: readonly string[] = ['id', 'kind', 'next_at', 'until_at', 'schedule']

/** Reads a job's columns from position `at` on. */
export function jobRowFrom(values: Values, at: number): JobRow {
  const value = <T>(column: string): T => values[at + (positions[column] ?? Number.NaN)] as T
  const range = (from: Instant | null, until: Instant | null) => (from === null || until === null ? null : { from, until })
  const [scheduledAt, owner, parent] = [
    value<Instant | null>('scheduled_at'),
    value<string | null>('owner'),
    value<number | null>('parent'),
  ]
  const [pausedAt, pausedUntil] = [value<Instant | null>('paused_at'), value<Instant | null>('paused_until')]
  return {
    id: value('id'),
    name: value('name'),
    task: value('task'),
    definition: value('definition'),
    hash: value('hash'),
    rev: value('rev'),
    nextAt: value('next_at'),
    afterAt: value('after_at'),
    oldSchedules: value('old_schedules'),
    open:
      scheduledAt === null
        ? null
        : {
            cause: value('cause'),
            scheduledAt,
            openedAt: value('opened_at'),
            attempt: value('attempt'),
            failures: value('failures'),
            checkpoint: value('checkpoint'),
          },
    dueAt: value('due_at'),
    fence: value('fence'),
    lease: owner === null ? null : { owner, claimId: value('claim_id'), mayStart: value('may_start') },
    acquiredAt: value('acquired_at'),
    busy: range(value('busy_from'), value('busy_until')),
    held: range(value('held_from'), value('held_until')),
    pause:
      pausedAt === null || pausedUntil === null
        ? null
        : { at: pausedAt, until: pausedUntil, by: value('paused_by'), why: value('paused_why') },
    removedAt: value('removed_at'),
    asked: value('asked'),
    lastCause: value('last_cause'),
    lastAt: value('last_at'),
    lastOwner: value('last_owner'),
    endedAt: value('ended_at'),
    cancelFence: value('cancel_fence'),
    parent: parent === null ? null : { id: parent, fence: value('parent_fence') },
  }
}

/** Reads an ask's columns from position `at` on; null where the statement found none. */
export function askFrom(values: Values, at: number): Ask | null {
  const [id, kind, nextAt, untilAt, schedule] = values.slice(at, at + askColumns.length)
  return id === null ? null : ({ id, kind, at: nextAt, until: untilAt, schedule } as Ask)
}

const positions: Readonly<Record<string, number>> = Object.fromEntries(jobColumns.map((column, index) => [column, index]))

/** The types that the tables use, by their numbers in PostgreSQL's catalogue. */
export function typeParserOf(oid: number): (text: string) => unknown {
  return parsers.get(oid) ?? asText
}

const asText = (text: string): string => text

const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, text => text === 't'],
  [20, Number],
  [21, Number],
  [23, Number],
  [701, Number],
  [114, text => JSON.parse(text)],
  [1184, instantOf],
])

/** `2026-11-30 22:45:34.343+00`, or `infinity`. The session's time zone does not matter, its date style does: fitness looks at it. */
function instantOf(text: string): Instant {
  if (text === 'infinity') return Number.POSITIVE_INFINITY
  if (text === '-infinity') return Number.NEGATIVE_INFINITY
  return text[4] === '-' && text.endsWith('+00') ? plainInstant(text) : anyInstant(text)
}

/** The usual case, digit by digit: a claim of 500 rows holds 3,000 of them. */
function plainInstant(text: string): Instant {
  const two = (at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528
  const end = text.length - 3
  let ms = 0
  for (let at = 20, unit = 100; at < end; at++, unit /= 10) ms += (text.charCodeAt(at) - 48) * unit
  return Date.UTC(two(0) * 100 + two(2), two(5) - 1, two(8), two(11), two(14), two(17), ms)
}

function anyInstant(text: string): Instant {
  const parts = /^(\d{4,6})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,3}))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/.exec(text)
  if (parts === null) throw new TypeError(`cannot read the instant '${text}'`)
  const [, year, month, day, hours, minutes, seconds, fraction = '', sign, offsetHours, offsetMinutes = 0, offsetSeconds = 0] = parts
  const offsetMs = ((Number(offsetHours) * 60 + Number(offsetMinutes)) * 60 + Number(offsetSeconds)) * 1000
  const dayMs = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const localMs = dayMs + ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, '0'))
  return sign === '+' ? localMs - offsetMs : localMs + offsetMs
}
