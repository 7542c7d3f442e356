import type { Clock, Random } from '../domain/clock.ts'
import type { Emitter } from '../domain/events.ts'
import type { Compile } from '../domain/timetable.ts'
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
  /** Whether the schema is brought up to date before anything is declared. */
  readonly migrate: boolean
}
