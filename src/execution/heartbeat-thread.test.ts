import { expect, test } from 'vitest'
import { evenRandom, HandClock } from '../../test/kit/hand-clock.ts'
import { runningRow } from '../../test/kit/rows.ts'
import { Emitter } from '../domain/events.ts'
import type { ThreadListeners } from '../platform/threads.ts'
import { HeartbeatThread, type ToThread } from './heartbeat-thread.ts'
import { Holding } from './holding.ts'
import { Trust } from './trust.ts'

const timing = { leaseMs: 3000, heartbeatMs: 1000, callTimeoutMs: 500, marginMs: 300 }

/** The loop's side, with a thread that is played by hand. */
function beside({ slots = 4, canStart = () => true }: { slots?: number; canStart?: () => boolean } = {}) {
  const clock = new HandClock()
  const events = new Emitter()
  const degraded: string[] = []
  events.on('heartbeatDegraded', ({ error }) => degraded.push(error.message))
  const posted: ToThread[] = []
  const threads: { trust: Trust; listeners: ThreadListeners; isKilled: boolean }[] = []
  const held: Holding[] = []
  let gone = 0
  const thread = new HeartbeatThread({
    ...{ clock, events, timing, slots, random: evenRandom() },
    holdings: () => held,
    onGone: () => gone++,
    start: (memory, listeners) => {
      if (!canStart()) throw new Error('no such module')
      const made = { trust: new Trust({ memory }), listeners, isKilled: false }
      threads.push(made)
      return {
        post: message => posted.push(message as ToThread),
        kill: () => {
          made.isKilled = true
        },
      }
    },
  })
  const hold = (id: number): Holding => {
    const holding = new Holding(runningRow({ id }), clock.elapsedMs() + 2700, clock)
    held.push(holding)
    thread.hold(holding)
    return holding
  }
  const drop = (holding: Holding): void => {
    held.splice(held.indexOf(holding), 1)
    thread.drop(holding)
  }
  void thread.start()
  return { clock, thread, threads, posted, held, hold, drop, degraded, gone: () => gone, last: () => threads.at(-1)! }
}

test('what the thread renewed while the loop stood still is trusted at the first look', () => {
  const { clock, hold, last } = beside()
  const holding = hold(1)
  last().trust.trustUntil(0, 9000)
  clock.block(8999)
  expect(holding.signal.aborted).toBe(false)
  clock.block(1)
  expect(holding.signal.aborted).toBe(true)
})

test('a lease that the thread lost is lost at the first look', () => {
  const { hold, last } = beside()
  const holding = hold(1)
  last().trust.lose(0)
  expect(holding.isTrusted()).toBe(false)
  expect(holding.signal.reason).toMatchObject({ code: 'ONETICK_LEASE_LOST' })
})

test('a place is another lease’s only once the thread writes no more into it', () => {
  const { hold, drop, posted, last } = beside({ slots: 1 })
  const first = hold(1)
  drop(first)
  const second = hold(2)
  expect(posted.map(({ kind }) => kind)).toEqual(['hold', 'drop'])
  // an answer that was under way when the first was dropped
  last().trust.trustUntil(0, 60_000)
  expect(second.deadlineMs).toBe(2700)
  last().listeners.onMessage({ kind: 'dropped', slot: 0 })
  const third = hold(3)
  expect(posted.at(-1)).toMatchObject({ kind: 'hold', rowId: 3 })
  expect(third.deadlineMs).toBe(2700)
})

test('a cancel that the thread was told of reaches the run', () => {
  const { hold, last } = beside()
  const [first, second] = [hold(1), hold(2)]
  last().listeners.onMessage({ kind: 'cancelled', slot: 1 })
  expect([first.abortReason, second.abortReason]).toEqual([null, 'cancelled'])
})

test('the loop renews only what the thread has left for a heartbeat and a half, and tells of it once it lasts', async () => {
  const { clock, thread, hold, degraded, last } = beside()
  last().listeners.onMessage({ kind: 'ready' })
  const [first, second] = [hold(1), hold(2)]
  last().trust.trustUntil(1, 60_000)
  last().listeners.onMessage({ kind: 'failed', error: 'the password is wrong' })
  const due: string[] = []
  for (let look = 0; look < 20; look++) {
    await clock.pass(250)
    due.push(
      thread
        .due([first, second])
        .map(({ rowId }) => rowId)
        .join(),
    )
    // the loop keeps it alive meanwhile
    if (due.at(-1) === '1') first.trustUntil(clock.elapsedMs() + 2700)
  }
  expect(due.slice(0, 6)).toEqual(['', '', '', '', '', ''])
  expect(due.filter(rows => rows !== '').length).toBeGreaterThan(1)
  expect(new Set(due)).toEqual(new Set(['', '1']))
  expect(degraded).toEqual([expect.stringContaining('has not renewed 1 of 2 leases (the password is wrong)')])
})

test('a loop that stood still renews what it finds and says nothing of the thread, which stood still as well', async () => {
  const { clock, thread, hold, degraded, last } = beside()
  last().listeners.onMessage({ kind: 'ready' })
  const holding = hold(1)
  await clock.pass(250)
  thread.due([holding])
  clock.block(6000)
  expect(thread.due([holding])).toEqual([holding])
  last().trust.trustUntil(0, 60_000)
  await clock.pass(250)
  thread.due([holding])
  expect(degraded).toEqual([])
})

test('the start waits until the thread is ready, or has failed, and not for long', async () => {
  for (const settle of ['ready', 'gone', 'silent'] as const) {
    const { clock, thread, last } = beside()
    let hasStarted = false
    const starting = thread.start().then(() => {
      hasStarted = true
    })
    await clock.pass(1000)
    expect(hasStarted).toBe(false)
    if (settle === 'ready') last().listeners.onMessage({ kind: 'ready' })
    else if (settle === 'gone') last().listeners.onEnd(new Error('no such database'))
    else await clock.pass(2000)
    await starting
    expect(hasStarted).toBe(true)
  }
})

test('where the thread is gone the loop renews all at once; it comes back after a pause and is told of all that is held', async () => {
  const { clock, thread, threads, hold, posted, degraded, gone, last } = beside()
  const holding = hold(1)
  last().trust.trustUntil(0, 5000)
  last().listeners.onEnd(new Error('out of memory'))
  expect(gone()).toBe(1)
  expect(thread.due([holding])).toEqual([holding])
  // what it had written still counts
  expect(holding.deadlineMs).toBe(5000)
  expect(degraded).toEqual([expect.stringContaining('could not start: out of memory')])
  await clock.pass(1000)
  expect(threads).toHaveLength(2)
  expect(posted.at(-1)).toMatchObject({ kind: 'hold', rowId: 1 })
})

test('a thread that cannot start is tried again, less and less often, and told of once', async () => {
  let tries = 0
  const { clock, thread, hold, degraded } = beside({
    canStart: () => {
      tries++
      return false
    },
  })
  expect(thread.due([hold(1)])).toHaveLength(1)
  await clock.pass(600_000)
  expect(tries).toBeGreaterThan(8)
  expect(tries).toBeLessThan(25)
  expect(degraded).toHaveLength(1)
  await thread.stop()
  expect(clock.waiting).toBe(0)
})

test('the loop shows its pulse while something is held, and no longer', async () => {
  const { clock, hold, drop, last } = beside()
  const holding = hold(1)
  await clock.pass(5000)
  expect(last().trust.pulsedAtMs).toBeGreaterThanOrEqual(4900)
  clock.block(7000)
  expect(last().trust.pulsedAtMs).toBeLessThanOrEqual(5000)
  drop(holding)
  await clock.pass(5000)
  expect(last().trust.pulsedAtMs).toBeLessThanOrEqual(12_100)
})

test('the stop waits for the thread to end', async () => {
  const { clock, thread, posted, last } = beside()
  let isStopped = false
  const stopping = thread.stop().then(() => {
    isStopped = true
  })
  expect(posted).toEqual([{ kind: 'stop' }])
  await clock.pass(900)
  expect(isStopped).toBe(false)
  last().listeners.onEnd(null)
  await stopping
  await clock.pass(5000)
  expect(last().isKilled).toBe(false)
})

test('a stopped thread that does not end is killed', async () => {
  const { clock, thread, last } = beside()
  const stopping = thread.stop()
  await clock.pass(1000)
  await stopping
  expect(last().isKilled).toBe(true)
})
