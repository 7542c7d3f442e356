import type { JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { AbortReason } from '../../execution/holding.ts'
import type {
  ClaimReply,
  ClaimRequest,
  Grant,
  RenewReply,
  RenewRequest,
  RunView,
  SettleItem,
  SettleReply,
  SettleRequest,
} from '../../store/store.ts'

/** All that there is at one moment. Never changed in place: each move makes another. */
export interface State {
  /** The store's clock; the replicas' run at the same rate. */
  readonly now: Instant
  readonly store: Kept
  readonly replicas: readonly [Replica, Replica]
  /** Requests that nobody waits for: each may reach the store at any time, or never. */
  readonly strays: readonly Request[]
  readonly faultsLeft: number
  readonly witness: Witness
}

/** What the store keeps. */
export interface Kept {
  readonly rows: readonly JobRow[]
  readonly lines: readonly RunView[]
}

export type Request =
  | { readonly verb: 'claim'; readonly body: ClaimRequest }
  | { readonly verb: 'renew'; readonly body: RenewRequest }
  | { readonly verb: 'settle'; readonly body: SettleRequest }

export type Reply =
  | { readonly verb: 'claim'; readonly body: ClaimReply }
  | { readonly verb: 'renew'; readonly body: RenewReply }
  | { readonly verb: 'settle'; readonly body: SettleReply }

/** A call that its replica waits for: the request is on its way, or the reply is, or one of them is lost. */
export interface Call {
  readonly request: Request
  readonly sentAt: Instant
  readonly at: 'request' | 'reply' | 'lost'
  readonly reply: Reply | null
  readonly servedAt: Instant | null
}

export interface Replica {
  readonly name: 'A' | 'B'
  /** Each start of the process is another owner. */
  readonly life: number
  readonly condition: 'up' | 'paused' | 'down'
  readonly claims: Claiming
  readonly askedAt: Instant
  readonly ask: Call | null
  readonly beatAt: Instant | null
  readonly beat: Call | null
  readonly holds: readonly Hold[]
}

/** As `Claims` of the scheduler keeps it. */
export interface Claiming {
  readonly id: number
  readonly unsureUntil: Instant | null
  /** What it was before the ask that is under way. */
  readonly unsureBefore: Instant | null
  readonly told: readonly { readonly rowId: number; readonly fence: number }[]
}

/** A lease as its holder sees it: what `Holding` and `Runner` keep. */
export interface Hold {
  readonly row: JobRow
  readonly deadlineMs: number
  readonly isLost: boolean
  readonly abortReason: AbortReason | null
  readonly stage: 'planning' | 'running' | 'settling'
  /** What is planned from, and the store's time of it. */
  readonly seen: Grant
  readonly seenAt: Instant
  readonly startedAt: Instant
  /** Waits to be sent: the settler sends one at a time, what has failed before after the rest. */
  readonly waiting: SettleItem | null
  readonly hasFailed: boolean
  readonly settle: Call | null
}

/** What is remembered of a path only to judge it: from what was asked and answered, not from what the store keeps. */
export interface Witness {
  /** The last lease of each row. */
  readonly leases: readonly Leased[]
  readonly starts: readonly Started[]
  readonly isFaulty: boolean
  /** No fault so far, or one lost message. */
  readonly isPlain: boolean
}

export interface Leased {
  readonly rowId: number
  readonly fence: number
  readonly owner: string
  readonly until: Instant
  readonly isOver: boolean
}

export interface Started {
  readonly scheduledAt: Instant
  readonly count: number
  readonly fence: number
}

export function ownerOf({ name, life }: Replica): string {
  return `${name}${life}`
}

export function claimIdOf(replica: Replica): string {
  return `${ownerOf(replica)}.${replica.claims.id}`
}

export function withReplica(state: State, index: 0 | 1, replica: Replica): State {
  const [a, b] = state.replicas
  return { ...state, replicas: index === 0 ? [replica, b] : [a, replica] }
}
