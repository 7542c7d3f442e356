import type { Clock } from '../domain/clock.ts'
import { heartbeatModule, type ThreadData } from '../execution/heartbeat-thread.ts'
import { systemClock, systemZero } from '../platform/system.ts'
import { startThread } from '../platform/threads.ts'
import type { Store } from '../store/store.ts'
import type { SchedulerOptions } from './options.ts'
import { heartbeatOf, type Timing, type TimingOptions } from './timing.ts'

/** What starts the heartbeat's thread. Null where it was not wanted, could not open the store, or could not tell this instance's time. */
export function threadStarter(
  options: TimingOptions,
  { store, clock, owner, timing }: { readonly store: Store; readonly clock: Clock; readonly owner: string; readonly timing: Timing },
): SchedulerOptions['startThread'] {
  const { url = null, thread = true } = heartbeatOf(options)
  const address = thread && clock === systemClock ? (store.elsewhere?.(url) ?? null) : null
  if (address === null) return null
  const data = { address, zero: systemZero, owner, timing, stuckAfterMs: timing.stuckAfterMs }
  return (memory, listeners) => startThread(heartbeatModule(), { ...data, memory } satisfies ThreadData, listeners)
}
