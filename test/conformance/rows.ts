// Rows, definitions and timetables to test with.
import type { Definition, JobRow, Lease, OpenOccurrence } from '../../src/domain/job.ts'
import type { Policy } from '../../src/domain/policy.ts'
import type { Compile, Instant, Schedule, Timetable } from '../../src/domain/timetable.ts'

export const never: Instant = Number.POSITIVE_INFINITY

export interface DefinitionParts extends Partial<Omit<Definition, 'policy'>> {
  readonly policy?: Partial<Policy>
}

export function aDefinition(parts: DefinitionParts = {}): Definition {
  return { schedule: every(1000), backoffMs: 1000, backoffMaxMs: 300_000, data: null, ...parts, policy: aPolicy(parts.policy) }
}

function aPolicy(parts: Partial<Policy> = {}): Policy {
  return {
    overlap: 'skip',
    misfire: 'latest',
    windowMs: 86_400_000,
    misfireLimit: 100,
    takeOver: true,
    maxAttempts: 3,
    retries: 0,
    strategy: 'race',
    jitterMs: 0,
    ...parts,
  }
}

export interface RowParts extends Partial<Omit<JobRow, 'definition' | 'open' | 'lease'>>, DefinitionParts {
  readonly open?: Partial<OpenOccurrence> | null
  readonly lease?: Partial<Lease> | null
}

/** An idle row whose cursor stands at 10,000, on a schedule of one instant a second. */
export function aRow(parts: RowParts = {}): JobRow {
  const { schedule, policy, backoffMs, backoffMaxMs, data, open, lease, ...row } = parts
  const given = { schedule, policy, backoffMs, backoffMaxMs, data }
  return {
    id: 1,
    name: 'job',
    task: 'task',
    definition: aDefinition(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))),
    hash: 'hash',
    rev: 1,
    nextAt: 10_000,
    afterAt: 11_000,
    oldSchedules: [],
    dueAt: 10_000,
    fence: 7,
    acquiredAt: null,
    busy: null,
    held: null,
    pause: null,
    removedAt: null,
    asked: 0,
    lastCause: '',
    lastAt: null,
    lastOwner: null,
    endedAt: null,
    cancelFence: null,
    parent: null,
    ...row,
    open: open == null ? null : { cause: '', scheduledAt: 9000, openedAt: 9000, attempt: 1, failures: 0, checkpoint: null, ...open },
    lease: lease == null ? null : { owner: 'a', claimId: 'c1', mayStart: true, ...lease },
  }
}

/** One instant every `ms`, from the epoch. */
export function every(ms: number): Schedule {
  return { schedule: `every ${ms}ms` }
}

/** So seldom that no test meets an instant of it: in 2033 and 2065. */
export const rareMs = 1_000_000_000_000
export const rarely: Schedule = every(rareMs)

/** Just these instants, ascending. */
export function listed(...instants: readonly Instant[]): Schedule {
  return { schedule: `at ${instants.join(',')}` }
}

/** Compiles what `every` and `listed` make. */
export const compile: Compile = ({ schedule }: Schedule): Timetable => {
  const period = /^every (\d+)ms$/.exec(schedule)?.[1]
  if (period !== undefined) {
    const ms = Number(period)
    return { next: after => (Math.floor(after / ms) + 1) * ms }
  }
  const instants = schedule.slice('at '.length).split(',').map(Number)
  return { next: after => instants.find(instant => instant > after) ?? never }
}

/** As `compile`, counting how often a timetable is asked. */
export function counting(): { readonly compile: Compile; calls(): number } {
  let calls = 0
  return {
    calls: () => calls,
    compile: schedule => {
      const { next } = compile(schedule)
      return {
        next: after => {
          calls++
          return next(after)
        },
      }
    },
  }
}
