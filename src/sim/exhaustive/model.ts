import { type Declaration, declared } from '../../domain/declare.ts'
import type { JobRow } from '../../domain/job.ts'
import type { Compile, Instant } from '../../domain/timetable.ts'
import { shipped, type Verbs } from './keeping.ts'
import type { Mistake } from './mistakes.ts'
import type { Setting } from './setting.ts'
import type { Replica, Reply, Request, State } from './state.ts'

/** A setting, with the verbs that its store carries out and what happens on its replicas' side of the wire. */
export interface Model {
  readonly setting: Setting
  readonly compile: Compile
  readonly verbs: Verbs
  readonly sent: (request: Request, now: Instant) => Request
  readonly heard: (reply: Reply, sentAt: Instant, now: Instant) => Reply
}

export function modelOf(setting: Setting, mistake?: Mistake): Model {
  const { instants } = setting
  const next = (after: Instant): Instant => instants.find(instant => instant > after) ?? Number.POSITIVE_INFINITY
  return {
    setting,
    compile: () => ({ next }),
    verbs: mistake?.verbs?.(shipped) ?? shipped,
    sent: mistake?.sent ?? (request => request),
    heard: mistake?.heard ?? (reply => reply),
  }
}

/** The job is declared and nothing has happened yet. */
export function firstState({ setting: { instants, policy, backoffMs, faults } }: Model): State {
  const [first, second] = instants
  const as: Declaration = {
    name: 'job',
    task: 'job',
    definition: { schedule: { schedule: 'twice' }, policy, backoffMs, backoffMaxMs: backoffMs, data: null },
    hash: '',
    upcoming: [first, second, Number.POSITIVE_INFINITY],
  }
  const made = declared(null, as, 0)
  if (made.kind !== 'new') throw new TypeError(`a new job was ${made.kind}`)
  const row: JobRow = { ...made.row, id: 1 }
  return {
    now: 0,
    store: { rows: [row], lines: [] },
    replicas: [fresh('A', 0), fresh('B', 0)],
    strays: [],
    faultsLeft: faults,
    witness: { leases: [], starts: [], isFaulty: false, isPlain: true },
  }
}

/** A process that has just started. */
export function fresh(name: Replica['name'], life: number): Replica {
  return {
    name,
    life,
    condition: 'up',
    claims: { id: 0, unsureUntil: null, unsureBefore: null, told: [] },
    askedAt: -1,
    ask: null,
    beatAt: null,
    beat: null,
    holds: [],
  }
}
