import type { Definition } from '../domain/job.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Command, ControlReply, DeclareReply, RunView } from '../store/store.ts'

/**
 * What happened, as the checkers read it: on the store's time, in the order in which the store did it. The simulator writes it
 * at the store; a chaos suite writes the same at its clients, from what the replies say.
 */
export interface History {
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly callTimeoutMs: number
  readonly pollMs: number
  readonly liveForMs: number
  readonly events: HistoryEvent[]
  /** Handlers that were called. */
  readonly runs: HandlerRun[]
  /** When a replica was up, in touch, not draining and had room. */
  readonly healthy: HealthySpan[]
  /** The ledger at the end, oldest first. */
  ledger: readonly RunView[]
  /** From here on no more faults. */
  healedAt: Instant
  endedAt: Instant
  /** The store was set back to an earlier state: what is promised no longer is suspended. */
  lostSuffix: boolean
  /** Claims that the network sent twice: within its time, the second may cost a row a lease, which is left to expire. */
  readonly repeated: Set<string>
}

export interface Occurrence {
  readonly cause: string
  readonly scheduledAt: Instant
}

interface OfLease {
  readonly at: Instant
  readonly rowId: number
  readonly fence: number
  readonly owner: string
}

/** A lease was granted (`claim`), or a plan opened an occurrence under it (`plan`). */
export interface Leased extends OfLease {
  readonly kind: 'leased'
  readonly by: 'claim' | 'plan'
  readonly job: string
  readonly claimId: string | null
  /** Until when the ask that brought it was to arrive; null: a plan did. */
  readonly notAfter: Instant | null
  /** An extra row of overlap `allow`. */
  readonly isExtra: boolean
  /** The overlap that the row was granted under. */
  readonly overlap: Definition['policy']['overlap']
  readonly mayStart: boolean
  readonly open: (Occurrence & { readonly attempt: number }) | null
  readonly expiresAt: Instant
}

export interface RenewalEvent extends OfLease {
  readonly kind: 'renewed'
  readonly expiresAt: Instant
}

export interface SettledEvent extends OfLease {
  readonly kind: 'settled'
  readonly what: 'run' | 'plan'
  readonly end: 'final' | 'retry' | 'handBack' | 'plan'
  readonly started: boolean
  readonly occurrence: Occurrence | null
  readonly result: 'settled' | 'already' | 'lost' | 'granted' | 'stale'
}

export interface CheckpointEvent extends OfLease {
  readonly kind: 'checkpointed'
}

export interface DeclaredEvent {
  readonly kind: 'declared'
  readonly at: Instant
  readonly job: string
  readonly replica: string
  readonly release: string
  readonly hash: string
  readonly definition: Definition
  readonly atRunTime: boolean
  readonly result: DeclareReply['results'][number]
}

export interface CommandedEvent {
  readonly kind: 'commanded'
  readonly at: Instant
  readonly command: Command
  readonly result: ControlReply['kind']
}

/** A claim's reply reached its replica. */
export interface AnsweredEvent {
  readonly kind: 'answered'
  readonly at: Instant
  readonly sentAt: Instant
  readonly replica: string
}

/** A replica was told of a lease under which it may start. */
export interface ToldEvent {
  readonly kind: 'told'
  readonly at: Instant
  readonly replica: string
  readonly rowId: number
  readonly fence: number
}

export interface ReplicaEvent {
  readonly kind: 'replica'
  readonly at: Instant
  readonly replica: string
  readonly change: 'started' | 'crashed' | 'draining' | 'stopped' | 'frozen' | 'thawed'
}

export type HistoryEvent =
  | Leased
  | RenewalEvent
  | SettledEvent
  | CheckpointEvent
  | DeclaredEvent
  | CommandedEvent
  | AnsweredEvent
  | ToldEvent
  | ReplicaEvent

export interface HandlerRun extends Occurrence {
  readonly job: string
  readonly replica: string
  readonly attempt: number
  readonly fence: number
  readonly startedAt: Instant
  /** The last time the handler looked and its signal was not aborted. */
  trustedAt: Instant
  abortedAt: Instant | null
  /** Null: it never came back. */
  endedAt: Instant | null
}

export interface HealthySpan {
  readonly replica: string
  readonly from: Instant
  until: Instant
}

/** Of the promises; `code`: the code under test threw what nobody planned. */
export type Promised = 'code' | 'S1' | 'S2' | 'S3' | 'S4' | 'S5' | 'S7' | 'S8' | 'L1' | 'L2' | 'L3' | 'L4' | 'L5' | 'D1'

export interface Violation {
  readonly promise: Promised
  readonly at: Instant
  readonly what: string
}

/** A promise, decided from what was recorded. */
export type Checker = (history: History) => Violation[]
