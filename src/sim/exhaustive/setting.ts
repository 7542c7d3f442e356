import type { Policy } from '../../domain/policy.ts'
import type { Instant } from '../../domain/timetable.ts'

/**
 * What one search is about: two replicas, one job, two occurrences. One millisecond stands for the longest that a call may take;
 * the rest keeps the shipped proportions: a lease of six calls, a heartbeat every two. Clocks do not drift here, so there is no margin.
 */
export interface Setting {
  readonly name: string
  /** The most faults in one path. */
  readonly faults: number
  readonly instants: readonly [Instant, Instant]
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly callTimeoutMs: number
  /** How long a call may take without a fault: up to its time-out, or no time at all. */
  readonly slackMs: number
  /** A handler may end at once, or at any time up to this. */
  readonly longestRunMs: number
  readonly outcomes: readonly ('returned' | 'threw')[]
  /** Runs of one replica at a time. */
  readonly capacity: number
  readonly policy: Policy
  readonly backoffMs: number
}

const policy: Policy = {
  overlap: 'skip',
  misfire: 'latest',
  windowMs: 1000,
  misfireLimit: 100,
  takeOver: true,
  maxAttempts: 2,
  retries: 0,
  strategy: 'race',
  jitterMs: 0,
}

const base: Omit<Setting, 'name'> = {
  faults: 2,
  instants: [2, 6],
  leaseMs: 6,
  heartbeatMs: 2,
  callTimeoutMs: 1,
  slackMs: 0,
  longestRunMs: 2,
  outcomes: ['returned'],
  capacity: 1,
  policy,
  backoffMs: 1,
}

const once: Policy = { ...policy, maxAttempts: 1 }
const slow = { slackMs: 1, longestRunMs: 1 } as const

/** Gone through whole by hand, in some minutes. */
export const settings: readonly Setting[] = [
  { ...base, name: 'one attempt', policy: once },
  { ...base, name: 'two attempts' },
  { ...base, name: 'one attempt, slow calls', policy: once, ...slow },
  { ...base, name: 'two attempts, slow calls', ...slow },
  { ...base, name: 'a retry after a throw', policy: { ...policy, retries: 1 }, outcomes: ['returned', 'threw'] },
  { ...base, name: 'runs longer than a lease', longestRunMs: 7 },
  { ...base, name: 'no takeover', policy: { ...policy, takeOver: false } },
  { ...base, name: 'what falls due during a run waits', policy: { ...policy, overlap: 'queue', misfire: 'all' } },
  { ...base, name: 'room for two runs', policy: { ...policy, overlap: 'queue' }, capacity: 2 },
  { ...base, name: 'runs beside each other', policy: { ...policy, overlap: 'allow' }, capacity: 2 },
]

const wholeEveryDay = ['one attempt', 'two attempts']

/** The same, each in a second or some: two faults where nothing else is out of the ordinary, and one where something is. */
export const everyday: readonly Setting[] = settings.map(setting =>
  wholeEveryDay.includes(setting.name) ? setting : { ...setting, faults: 1 },
)
