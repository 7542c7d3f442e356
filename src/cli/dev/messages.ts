import type { Instant } from '../../domain/timetable.ts'
import type { Failure } from '../failure.ts'
import type { Told } from '../told.ts'

/** What a replica process is to be. */
export interface Orders {
  readonly config: string
  /** Null: the config's own. */
  readonly store: string | null
  readonly namespace: string
  /** Its name, and the first part of its id. */
  readonly label: string
  /** Null: as the config says. */
  readonly schedule: string | null
  readonly lease: string
  readonly heartbeat: string
}

export type ToReplica = { readonly kind: 'run'; readonly orders: Orders } | { readonly kind: 'stop' }

export type FromReplica =
  /** First of all. */
  | { readonly kind: 'named'; readonly replicaId: string }
  /** Its jobs are declared. */
  | { readonly kind: 'up' }
  | { readonly kind: 'cannotStart'; readonly failure: Failure }
  | { readonly kind: 'told'; readonly told: Told }
  /** A handler came to its end, whatever the store will say to that. */
  | ({ readonly kind: 'returned'; readonly threw: boolean } & HandlerRun)

/** One start of a handler, by what tells it from all others. */
export interface HandlerRun {
  readonly job: string
  readonly cause: string
  readonly scheduledAt: Instant
  readonly attempt: number
  readonly fence: number
}
