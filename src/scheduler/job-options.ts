import { type Duration, parseDuration } from '../domain/duration.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import type { Definition } from '../domain/job.ts'
import type { Json } from '../domain/json.ts'
import type { Misfire, Overlap, Policy } from '../domain/policy.ts'
import type { Compile, DstPolicy, Schedule } from '../domain/timetable.ts'
import { refuseUnknown } from './known-options.ts'
import { skipWindowMs, type Timing } from './timing.ts'

export interface JobOptions {
  /** Cron of 5, 6 or 7 fields, `@daily` and the like, `every 30s`, or one instant. Left out: the job runs only when triggered. */
  readonly schedule?: string
  /** IANA name. Default `UTC`, never the host's. */
  readonly timeZone?: string
  /** What becomes of local times that a clock change skips or repeats. */
  readonly dst?: DstPolicy
  /** The handler's name, where many jobs share one. Default: the job's own. */
  readonly task?: string
  /** Handed to the handler; at most 64 KiB as JSON. */
  readonly data?: Json
  /** When an occurrence comes due while the job still runs. Default `skip`. */
  readonly overlap?: Overlap
  /** When occurrences came due while nobody could run them: the `latest` only (default), none (`skip`), or `all`. */
  readonly misfire?: Misfire
  /** An occurrence later than this is missed. Default 24 h. With misfire `skip` it follows from the lease. */
  readonly misfireWindow?: Duration
  /** With misfire `all`: how many are run at most. Default 100. */
  readonly misfireLimit?: number
  /** Starts an occurrence may have, takeovers included. Default 3. */
  readonly maxAttempts?: number
  /** Further starts after a throw; less than `maxAttempts`. Default 0. */
  readonly retries?: number
  /** Pause before the first retry; doubles with each. Default 1 s. */
  readonly backoff?: Duration
  /** Longest pause between retries. Default 5 min. */
  readonly backoffMax?: Duration
  /** When the replica that ran it vanished: start it again (`retry`, default) or give it up (`skip`). */
  readonly onTakeover?: 'retry' | 'skip'
}

const maxDataBytes = 65_536

/** What is stored of a job. Throws on the first option that cannot be. */
export function definitionOf(name: string, options: JobOptions, timing: Timing, compile: Compile): Definition {
  refuseUnknown(`The job ${quoted(name)}`, options, known)
  const misfire = oneOf(name, 'misfire', options.misfire, ['latest', 'skip', 'all'])
  const schedule = scheduleOf(name, options)
  if (schedule !== null) compile(schedule)
  return {
    schedule,
    data: dataOf(name, options.data),
    backoffMs: parseDuration(`backoff of ${theJob(name)}`, options.backoff ?? '1s'),
    backoffMaxMs: parseDuration(`backoffMax of ${theJob(name)}`, options.backoffMax ?? '5m'),
    policy: {
      overlap: oneOf(name, 'overlap', options.overlap, ['skip', 'queue', 'replace', 'allow']),
      misfire,
      windowMs:
        misfire === 'skip' ? skipWindowMs(timing) : parseDuration(`misfireWindow of ${theJob(name)}`, options.misfireWindow ?? '24h'),
      misfireLimit: whole(name, 'misfireLimit', options.misfireLimit ?? 100, { min: 1, max: 10_000 }),
      takeOver: oneOf(name, 'onTakeover', options.onTakeover, ['retry', 'skip']) === 'retry',
      maxAttempts: whole(name, 'maxAttempts', options.maxAttempts ?? 3, { min: 1, max: 1000 }),
      retries: whole(name, 'retries', options.retries ?? 0, { min: 0, max: 999 }),
      strategy: 'race',
      jitterMs: 0,
    },
  }
}

/** For whoever writes the options: of retries that `maxAttempts` leaves no room for, nobody would ever hear. */
export function refuseVainRetries(name: string, { retries, maxAttempts }: Policy): void {
  if (retries < maxAttempts) return
  const remedy = `Set maxAttempts to ${retries + 1} or more; starts after a takeover count too.`
  const detail = `retries of ${theJob(name)} is ${retries}, but maxAttempts is ${maxAttempts}, the first start included.`
  throw new OnetickError('ONETICK_OPTION', detail, { remedy })
}

const known: readonly (keyof JobOptions)[] = [
  'schedule',
  'timeZone',
  'dst',
  'task',
  'data',
  'overlap',
  'misfire',
  'misfireWindow',
  'misfireLimit',
  'maxAttempts',
  'retries',
  'backoff',
  'backoffMax',
  'onTakeover',
]

function theJob(name: string): string {
  return `the job ${quoted(name)}`
}

function scheduleOf(name: string, { schedule, timeZone, dst }: JobOptions): Schedule | null {
  if (schedule === undefined) {
    if (timeZone === undefined && dst === undefined) return null
    throw new OnetickError('ONETICK_OPTION', `timeZone or dst is given for ${theJob(name)}, but no schedule.`)
  }
  return { schedule, ...(timeZone === undefined ? {} : { timeZone }), ...(dst === undefined ? {} : { dst }) }
}

function dataOf(name: string, data: Json | undefined): Json {
  if (data === undefined) return null
  const text = jsonOf(data)
  if (text === null) throw new OnetickError('ONETICK_OPTION', `The data of ${theJob(name)} cannot be written as JSON.`)
  if (text.includes('\\u0000')) throw new OnetickError('ONETICK_OPTION', `The data of ${theJob(name)} holds a NUL character.`)
  if (text.length > maxDataBytes)
    throw new OnetickError(
      'ONETICK_OPTION',
      `The data of ${theJob(name)} is ${text.length} characters long as JSON; ${maxDataBytes} are allowed.`,
    )
  return JSON.parse(text) as Json
}

function jsonOf(data: Json): string | null {
  try {
    return JSON.stringify(data) ?? null
  } catch {
    // a circle, or a BigInt
    return null
  }
}

/** The first choice is the default. */
function oneOf<T extends string>(name: string, option: string, value: T | undefined, choices: readonly [T, ...T[]]): T {
  if (value === undefined) return choices[0]
  if (choices.includes(value)) return value
  throw new OnetickError('ONETICK_OPTION', `${option} of ${theJob(name)} is ${quoted(value)}; it may be ${choices.join(', ')}.`)
}

function whole(name: string, option: string, value: number, { min, max }: { min: number; max: number }): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new OnetickError(
    'ONETICK_OPTION',
    `${option} of ${theJob(name)} is ${quoted(value)}; it must be a whole number from ${min} to ${max}.`,
  )
}
