import { expect, test } from 'vitest'
import { evenRandom, HandClock } from '../../../test/kit/hand-clock.ts'
import { Lane } from './lane.ts'

const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY', rawCode: 5 })

function laneOn(clock: HandClock, turnAfterMs = 0): Lane {
  return new Lane({ clock, random: evenRandom(), timeoutMs: 100, turnAfterMs, location: 'file' })
}

/** Counts its calls; busy until the clock stands at `fromMs`. */
function lockedUntil(clock: HandClock, fromMs: number): { (): number; calls: number[] } {
  const calls: number[] = []
  const attempt = (): number => {
    calls.push(clock.elapsedMs())
    if (clock.elapsedMs() < fromMs) throw busy
    return clock.elapsedMs()
  }
  return Object.assign(attempt, { calls })
}

test('a call is carried out at once, and the next one not before the loop has turned', async () => {
  const clock = new HandClock()
  const lane = laneOn(clock)
  const done: string[] = []
  const both = [lane.enter(() => done.push('first')), lane.enter(() => done.push('second'))]
  expect(done).toEqual(['first'])
  await clock.pass(0)
  expect(done).toEqual(['first', 'second'])
  await Promise.all(both)
})

test('a call that finds the lock taken is tried again every 1 to 3 ms until it gets through', async () => {
  const clock = new HandClock()
  const attempt = lockedUntil(clock, 9)
  const call = laneOn(clock).enter(attempt)
  await clock.pass(20)
  expect(await call).toBe(10)
  expect(attempt.calls).toEqual([0, 2, 4, 6, 8, 10])
})

test('after the time-out a call is turned away with its code and not tried again', async () => {
  const clock = new HandClock()
  const lane = laneOn(clock)
  const attempts = [lockedUntil(clock, 1000), lockedUntil(clock, 1000)]
  const calls = Promise.allSettled(attempts.map(attempt => lane.enter(attempt)))
  await clock.pass(2000)
  for (const outcome of await calls) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ONETICK_STORE_BUSY' } })
  expect(attempts[0]?.calls.at(-1)).toBeLessThanOrEqual(100)
  expect(clock.waiting).toBe(0)
  expect(await lane.enter(() => 'free again')).toBe('free again')
})

test('a call that fails does not hold up those behind it', async () => {
  const clock = new HandClock()
  const lane = laneOn(clock)
  const failure = new TypeError('no')
  const failed = lane.enter(() => {
    throw failure
  })
  const next = lane.enter(() => 'next')
  await expect(failed).rejects.toBe(failure)
  await clock.pass(0)
  expect(await next).toBe('next')
})

test('whoever held the lock long leaves it to others for a moment', async () => {
  const clock = new HandClock()
  const lane = laneOn(clock)
  const long = lane.enter(() => clock.block(5))
  const next = lane.enter(() => clock.elapsedMs())
  await clock.pass(10)
  await long
  expect(await next).toBe(6)
})

test('where nobody is in the way, the loop has its turn after so much work', async () => {
  const clock = new HandClock()
  const lane = laneOn(clock, 5)
  const done: number[] = []
  const calls = [1, 2, 3, 4].map(call =>
    lane.enter(() => {
      clock.block(2)
      done.push(call)
    }),
  )
  await Promise.resolve()
  expect(done).toEqual([1, 2, 3])
  await clock.pass(1)
  expect(done).toEqual([1, 2, 3, 4])
  await Promise.all(calls)
})

test('whoever waits can be sent away', async () => {
  const clock = new HandClock()
  const lane = laneOn(clock)
  const first = lane.enter(lockedUntil(clock, 1000))
  const second = lane.enter(() => 'never')
  const reason = new Error('closed')
  lane.clear(reason)
  await expect(first).rejects.toBe(reason)
  await expect(second).rejects.toBe(reason)
  await clock.pass(10)
  expect(clock.waiting).toBe(0)
})
