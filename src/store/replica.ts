import type { Instant } from '../domain/timetable.ts'

/** A process that declares, claims and runs. */
export interface Replica {
  readonly id: string
  readonly host: string
  readonly version: string
  /** Hash of all that the process declares. */
  readonly release: string
  readonly role: 'all' | 'client'
  readonly tasks: readonly string[]
  readonly capacity: number
}

/** What a replica tells of itself with each claim. */
export interface Presence {
  readonly running: number
  readonly draining: boolean
  readonly clockOffsetMs: number
  readonly loopLagMs: number
}

export interface ReplicaView extends Replica, Presence {
  readonly startedAt: Instant
  readonly seenAt: Instant
}
