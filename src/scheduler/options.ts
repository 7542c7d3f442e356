import type { Clock, Random } from '../domain/clock.ts'
import type { Emitter } from '../domain/events.ts'
import type { Compile } from '../domain/timetable.ts'
import type { StartThread } from '../execution/heartbeat-thread.ts'
import type { Replica, Store } from '../store/store.ts'
import type { Jobs } from './jobs.ts'
import type { Timing } from './timing.ts'

/** What one replica's loop is made of. */
export interface SchedulerOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly events: Emitter
  readonly compile: Compile
  readonly jobs: Jobs
  readonly timing: Timing
  readonly replica: Replica
  /** Starts the heartbeat's thread. Null: the store cannot be opened there, and the loop alone renews. */
  readonly startThread: StartThread | null
  /** Whether the schema is brought up to date before anything is declared. */
  readonly migrate: boolean
}
