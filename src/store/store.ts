import type { Declaration } from '../domain/declare.ts'
import type { Ask, JobRow } from '../domain/job.ts'
import type { Json } from '../domain/json.ts'
import type { Plan, Seen } from '../domain/plan.ts'
import type { LedgerLine } from '../domain/run.ts'
import type { RunEnd } from '../domain/settle.ts'
import type { Instant, Schedule } from '../domain/timetable.ts'
import type { StoreAddress } from './address.ts'
import type { Readings } from './readings.ts'
import type { Presence, Replica } from './replica.ts'

export type { LeaseView, Readings, RunsFilter, RunView } from './readings.ts'
export type { Presence, Replica, ReplicaView } from './replica.ts'

/**
 * What a database has to do for Onetick: twelve methods, none optional. The first four carry all the safety; each is atomic
 * and decides on the store's own clock. The transitions are the pure functions of `domain/`: a store carries them out, by
 * calling them inside a short transaction or by saying the same in its own language. One conformance suite keeps all equal.
 *
 * A call that rejects has an unknown outcome (S7): it may have been carried out. Every call may be repeated.
 * Instants in requests and replies are the store's time.
 */
export interface Store {
  /** `memory`, `sqlite`, `postgres`: for people. */
  readonly kind: string
  /** Where it is, without any secret: for messages. */
  readonly location: string

  /** Leases on everything due that this replica can run, in one step whatever the number of due jobs. */
  claim(request: ClaimRequest): Promise<ClaimReply>
  /** One lease by name, for those who bring their own scheduler. */
  acquire(request: AcquireRequest): Promise<AcquireReply>
  /** Moves the expiry of every lease held on to now + ttl, in one step; says which are lost. */
  renew(request: RenewRequest): Promise<RenewReply>
  /** Ends runs and writes plans down: row and ledger change together, or not at all. One result a request, in order. */
  settle(request: SettleRequest): Promise<SettleReply>

  /** Runs `body` on a connection whose writes commit only while the fence is current (S6). `ONETICK_STORE_UNSUPPORTED` where the store has no transactions. */
  transaction<T>(held: Held, body: (connection: unknown) => Promise<T>): Promise<T>
  /** Makes what a replica says of its jobs known. Changes nothing that was declared before (D1). */
  declare(request: DeclareRequest): Promise<DeclareReply>
  /** What people do: pause, trigger, cancel … Throws `ONETICK_NAME` for keys that no row can have. */
  control(command: Command): Promise<ControlReply>
  /** Keeps a value with the open occurrence, for whoever takes over. False: the lease is lost, nothing was written (S4). */
  checkpoint(held: Held, value: Json): Promise<boolean>
  read<K extends keyof Readings>(kind: K, filter: Readings[K]['filter']): Promise<Readings[K]['answer']>
  /** Brings the schema up to date; safe when ten replicas start at once. `plan` only tells, `apply` does. */
  migrate(mode: 'plan' | 'apply'): Promise<Migration>
  /** Calls `listener` soon after something became due ahead of time on any replica. An optimisation: polling alone is correct. */
  wake(listener: () => void): Promise<Wakeup>
  close(): Promise<void>
  /** How another thread opens the same store; `url` where the store itself was given no way to. Null: it cannot. Left out: the same. */
  elsewhere?(url: string | null): StoreAddress | null
}

/** Who holds what. */
export interface Held {
  readonly rowId: number
  readonly owner: string
  readonly fence: number
}

export interface ClaimRequest {
  readonly owner: string
  /** One an ask. The same again returns what that ask was given and claims nothing more. */
  readonly claimId: string
  readonly tasks: readonly string[]
  /** Free capacity; the store may give less (the fair share), never more. */
  readonly limit: number
  readonly ttlMs: number
  /** S7: a request that arrives later claims nothing, so an unanswered one can be given up. */
  readonly notAfter: Instant
  /** Rows whose handler still lives in this process (L5). */
  readonly except: readonly number[]
  /** How long a replica that was not heard of counts as live; also for the fair share. */
  readonly liveForMs: number
  readonly presence: Presence
}

export interface ClaimReply {
  readonly now: Instant
  readonly grants: readonly Grant[]
  /** The next instant at which something of my tasks becomes due: a cursor, an expiry, a retry; a leased job's next instant too. `Infinity`: nothing. */
  readonly nextDueAt: Instant
  /** Something is due that this call left to others. */
  readonly moreDue: boolean
  /** Some job of my tasks is leased by somebody, or was just now. */
  readonly anyLeased: boolean
}

/** A leased row, with what a plan needs. Remaining trust: `row.dueAt - reply.now`. */
export interface Grant {
  readonly row: JobRow
  /** The oldest manual ask that waits. */
  readonly manual: Ask | null
  /** The oldest backfill that waits. */
  readonly backfill: Ask | null
}

export interface AcquireRequest {
  readonly owner: string
  readonly claimId: string
  readonly name: string
  readonly ttlMs: number
  readonly notAfter: Instant
  /** The lease stands for this occurrence of the name: refused where it, or a later one, was settled, or it is over 2 s in the future. */
  readonly at?: Instant
}

export type AcquireReply =
  | { readonly now: Instant; readonly kind: 'granted'; readonly row: JobRow }
  | { readonly now: Instant; readonly kind: 'held'; readonly owner: string | null; readonly until: Instant }
  | { readonly now: Instant; readonly kind: 'done'; readonly lastAt: Instant }
  /** `notAfter` has passed, or `at` lies in the future. */
  | { readonly now: Instant; readonly kind: 'refused' }

export interface RenewRequest {
  readonly owner: string
  readonly ttlMs: number
  readonly leases: readonly { readonly rowId: number; readonly fence: number }[]
}

export interface RenewReply {
  readonly now: Instant
  readonly leases: readonly Renewed[]
}

export interface Renewed {
  readonly rowId: number
  readonly fence: number
  /** Busy: somebody locks the row just now; the lease is still mine, ask again until its deadline. */
  readonly state: 'held' | 'busy' | 'lost'
  /** The expiry; of a lost lease, meaningless. */
  readonly dueAt: Instant
  readonly rev: number
  readonly nextAt: Instant
  /** Somebody asked for this run to be cancelled. */
  readonly cancelled: boolean
}

export interface SettleRequest {
  readonly owner: string
  readonly items: readonly SettleItem[]
}

export type SettleItem = RunSettlement | PlanSettlement

export interface RunSettlement {
  readonly kind: 'run'
  readonly rowId: number
  readonly fence: number
  /** The occurrence, by which an earlier, unanswered settle is found again in the ledger. Null: a lease without one. */
  readonly occurrence: { readonly cause: string; readonly scheduledAt: Instant } | null
  readonly end: RunEnd
}

export interface PlanSettlement {
  readonly kind: 'plan'
  readonly rowId: number
  readonly fence: number
  readonly claimId: string
  readonly ttlMs: number
  readonly plan: Plan
}

export interface SettleReply {
  readonly now: Instant
  readonly results: readonly SettleResult[]
}

export type SettleResult =
  | { readonly kind: 'settled' }
  /** This very settle was carried out before. */
  | { readonly kind: 'already' }
  /** The fence is not current: nothing was changed (S4). */
  | { readonly kind: 'lost' }
  /** Plans only: the occurrence is open and may start. With overlap `allow` the row is the extra one. */
  | { readonly kind: 'granted'; readonly grant: Grant }
  /** Plans only: the row has changed since; plan again from this. */
  | { readonly kind: 'stale'; readonly grant: Grant }

export interface DeclareRequest {
  readonly replica: Replica
  readonly jobs: readonly Declaration[]
  /** Releases not heard of for this long no longer count. */
  readonly liveForMs: number
  /** Made at run time: the last edit wins, whatever was declared. */
  readonly atRunTime?: boolean
}

export interface DeclareReply {
  readonly now: Instant
  /** One a job, in order. Overruled: a newer release that lives declares it otherwise. */
  readonly results: readonly ('new' | 'edited' | 'unchanged' | 'late' | 'overruled')[]
}

export type Command =
  | { readonly kind: 'trigger'; readonly name: string; readonly id: string }
  | {
      readonly kind: 'backfill'
      readonly name: string
      readonly id: string
      readonly at: Instant
      readonly until: Instant
      readonly schedule: Schedule
    }
  | { readonly kind: 'pause'; readonly name: string; readonly until: Instant; readonly by: string | null; readonly why: string | null }
  | { readonly kind: 'resume'; readonly name: string }
  | { readonly kind: 'cancel'; readonly rowId: number }
  | {
      readonly kind: 'skipNext'
      readonly name: string
      readonly seen: Seen
      readonly cursor: { readonly nextAt: Instant; readonly afterAt: Instant }
    }
  /** `lines` holds the verdicts of what is due and of each ask that waits; `nextAt` is the first instant they do not cover. */
  | { readonly kind: 'remove'; readonly name: string; readonly seen: Seen; readonly lines: readonly LedgerLine[]; readonly nextAt: Instant }
  /** The replica is gone for good: it no longer counts as live. */
  | { readonly kind: 'leave'; readonly replicaId: string }
  /** Housekeeping: drops ledger lines older than `keepMs`, but the newest `keepLines` of each job and its last final one; replicas not seen for `keepMs`. */
  | { readonly kind: 'prune'; readonly keepMs: number; readonly keepLines: number }

export interface ControlReply {
  readonly now: Instant
  /** Stale: the job has changed since it was read, read it again. None: there was nothing to do it to. */
  readonly kind: 'done' | 'stale' | 'none' | 'unknown'
}

export interface Migration {
  /** 0: nothing is there yet. */
  readonly from: number
  readonly to: number
  /** What was, or would be, executed: whole statements. */
  readonly statements: readonly string[]
}

export interface Wakeup {
  /** Whether wake-ups arrive just now; where not, replicas poll. */
  live(): boolean
  close(): Promise<void>
}

/** What all stores are opened with. */
export interface StoreOptions {
  /** Part of every key; two apps with different namespaces do not see each other. Default `default`. */
  readonly namespace?: string
  /** Longest a call may take before its outcome counts as unknown, milliseconds. Default 5,000. */
  readonly callTimeoutMs?: number
}
