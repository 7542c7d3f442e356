import type { Json } from './json.ts'
import type { Policy } from './policy.ts'
import type { Instant, Schedule } from './timetable.ts'

/** What a release says a job is. Stored with the row; `rev` rises whenever another definition comes into force. */
export interface Definition {
  /** Null: the job runs only when asked for. */
  readonly schedule: Schedule | null
  readonly policy: Policy
  /** Pause before the first retry; doubles up to `backoffMaxMs`. */
  readonly backoffMs: number
  readonly backoffMaxMs: number
  /** Handed to the handler as it is. */
  readonly data: Json
}

/** The task of rows that `acquire` makes for leases by name. No replica claims it. */
export const leaseTask = '@lease'

/** An earlier schedule that the cursor has not passed: its instants up to `until`, inclusive, still count. */
export interface OldSchedule {
  readonly schedule: Schedule | null
  readonly until: Instant
}

/** Instants in (from, until]. */
export interface Range {
  readonly from: Instant
  readonly until: Instant
}

/** The occurrence (job, cause, scheduledAt) that was opened and has no final verdict yet. */
export interface OpenOccurrence {
  /** Empty: the schedule's. Else the id of the ask. */
  readonly cause: string
  readonly scheduledAt: Instant
  /** When an attempt at it was first granted. */
  readonly openedAt: Instant
  /** Granted starts so far. */
  readonly attempt: number
  /** Those that threw. `attempt > failures` without a live run: one vanished. */
  readonly failures: number
  readonly checkpoint: Json
}

export interface Lease {
  readonly owner: string
  readonly claimId: string | null
  /** False: nothing starts under it; the holder plans first. */
  readonly mayStart: boolean
}

export interface Pause {
  readonly at: Instant
  /** `Infinity`: until resumed. */
  readonly until: Instant
  readonly by: string | null
  readonly why: string | null
}

/** One row a job: the schedule's cursor, at most one open occurrence, its lease. Every store keeps just this. */
export interface JobRow {
  readonly id: number
  readonly name: string
  readonly task: string
  readonly definition: Definition
  /** Of task and definition; tells an edit from a repetition. */
  readonly hash: string
  readonly rev: number

  /** The cursor: the first instant that is neither open nor settled. `Infinity`: none. */
  readonly nextAt: Instant
  /** Its successor. Null: unknown. */
  readonly afterAt: Instant | null
  readonly oldSchedules: readonly OldSchedule[]

  readonly open: OpenOccurrence | null
  /** When the row may next be claimed: the next occurrence while idle, the lease's expiry while leased. */
  readonly dueAt: Instant
  /** S3: rises with every lease, and survives everything. */
  readonly fence: number
  readonly lease: Lease | null
  /** When the lease, or the last one, was acquired. */
  readonly acquiredAt: Instant | null

  /** What came due while the last run held the job. */
  readonly busy: Range | null
  /** What came due while the job was paused. */
  readonly held: Range | null
  readonly pause: Pause | null
  readonly removedAt: Instant | null
  /** How many asks wait. */
  readonly asked: number

  readonly lastCause: string
  /** The instant of the last settled occurrence. */
  readonly lastAt: Instant | null
  readonly lastOwner: string | null
  readonly endedAt: Instant | null
  /** The fence whose run is to be cancelled. */
  readonly cancelFence: number | null
  /** Set on the extra rows of overlap `allow`: the job's row, and the fence that planned this one. */
  readonly parent: { readonly id: number; readonly fence: number } | null
}

/** A manual run or a backfill that waits its turn. */
export interface Ask {
  /** The idempotency key; becomes the occurrence's cause. */
  readonly id: string
  readonly kind: 'manual' | 'backfill'
  /** The (next) instant it asks for. */
  readonly at: Instant
  /** The last instant, inclusive. */
  readonly until: Instant
  /** Pinned when asked: a later edit does not change what was asked for. */
  readonly schedule: Schedule | null
}
