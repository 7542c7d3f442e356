import type { Clock } from '../domain/clock.ts'
import { OnetickError } from '../domain/errors.ts'
import { heartbeatModule, type ThreadData } from '../execution/heartbeat-thread.ts'
import { systemClock, systemZero } from '../platform/system.ts'
import { startThread } from '../platform/threads.ts'
import type { StoreAddress } from '../store/address.ts'
import type { Store } from '../store/store.ts'
import type { SchedulerOptions } from './options.ts'
import { heartbeatOf, type Timing, type TimingOptions } from './timing.ts'

/**
 * What starts the heartbeat's thread. Null where it was not wanted, could not open the store, or could not tell this instance's time.
 * Throws `ONETICK_OPTION` for an address that cannot be.
 */
export function threadStarter(
  options: TimingOptions,
  { store, clock, owner, timing }: { readonly store: Store; readonly clock: Clock; readonly owner: string; readonly timing: Timing },
): SchedulerOptions['startThread'] {
  const { url = null, thread = true } = heartbeatOf(options)
  const ofItsOwn = store.elsewhere?.(null) ?? null
  if (url !== null && (ofItsOwn !== null || store.elsewhere === undefined)) {
    throw new OnetickError('ONETICK_OPTION', 'heartbeat.url stands beside a store that is not a Pool.', {
      remedy: 'Leave it out: this store gives the heartbeat a connection of its own.',
    })
  }
  const address = thread && clock === systemClock ? (ofItsOwn ?? beside(store, url)) : null
  if (address === null) return null
  const data = { address, zero: systemZero, owner, timing, stuckAfterMs: timing.stuckAfterMs }
  return (memory, listeners) => startThread(heartbeatModule(), { ...data, memory } satisfies ThreadData, listeners)
}

function beside(store: Store, url: string | null): StoreAddress | null {
  try {
    return store.elsewhere?.(url) ?? null
  } catch (error) {
    throw unreadable(error)
  }
}

function unreadable(cause: unknown): OnetickError {
  const remedy = 'Name the database of the Pool: postgres://USER@HOST/DATABASE.'
  return new OnetickError('ONETICK_OPTION', 'heartbeat.url cannot be read.', { cause, remedy })
}
