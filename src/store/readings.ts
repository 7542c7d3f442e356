import type { Ask, JobRow } from '../domain/job.ts'
import type { LedgerLine } from '../domain/run.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Fitness } from './fitness.ts'
import type { ReplicaView } from './replica.ts'

/** What can be read of a store, by kind. */
export interface Readings {
  /** All jobs that are not removed (`removed: true`: those too), or the one of that name; extra rows of overlap `allow` and leases by name only with `all`. */
  jobs: {
    filter: { readonly name?: string; readonly removed?: boolean; readonly all?: boolean }
    answer: { readonly now: Instant; readonly jobs: readonly JobRow[] }
  }
  /** What waits on a job. */
  asks: { filter: { readonly name: string }; answer: { readonly now: Instant; readonly asks: readonly Ask[] } }
  /** The lease state in the terms of `cron_with_leases`. */
  leases: { filter: Record<string, never>; answer: { readonly now: Instant; readonly leases: readonly LeaseView[] } }
  /** The ledger, newest first. */
  runs: { filter: RunsFilter; answer: { readonly now: Instant; readonly runs: readonly RunView[] } }
  replicas: { filter: Record<string, never>; answer: { readonly now: Instant; readonly replicas: readonly ReplicaView[] } }
  status: { filter: Record<string, never>; answer: { readonly now: Instant; readonly schemaVersion: number } }
  /** Whether promises can be kept here. Needs no schema. */
  fitness: { filter: Record<string, never>; answer: Fitness }
}

export interface RunsFilter {
  readonly job?: string
  /** Lines that ended at or after. */
  readonly since?: Instant
  /** Continue below this line. */
  readonly before?: number
  readonly limit: number
  readonly final?: boolean
  /** Lines of the occurrences of this instant, and of ranges that hold it. */
  readonly at?: Instant
}

export interface RunView extends LedgerLine {
  /** Rises with each line. */
  readonly id: number
  readonly job: string
}

export interface LeaseView {
  readonly jobId: string
  /** The holder, or the last one. */
  readonly owner: string | null
  readonly acquiredAt: Instant | null
  /** The lease's expiry; when it was let go, where nobody holds it. */
  readonly expiredAt: Instant | null
  readonly held: boolean
  readonly fence: number
}
