import { expect, test } from 'vitest'
import { HandClock } from '../../test/kit/hand-clock.ts'
import { runningRow } from '../../test/kit/rows.ts'
import { Holding } from './holding.ts'

test('the signal is aborted at the local deadline, whatever the store would say', async () => {
  const clock = new HandClock()
  const { signal } = new Holding(runningRow(), 1000, clock)
  await clock.pass(999)
  expect(signal.aborted).toBe(false)
  await clock.pass(1)
  expect(signal.aborted).toBe(true)
  expect(signal.reason).toMatchObject({ code: 'ONETICK_LEASE_LOST' })
})

test('a renewal moves the deadline on; an older one that arrives late does not move it back', async () => {
  const clock = new HandClock()
  const holding = new Holding(runningRow(), 1000, clock)
  holding.trustUntil(3000)
  holding.trustUntil(2000)
  await clock.pass(2999)
  expect(holding.signal.aborted).toBe(false)
  await clock.pass(1)
  expect(holding.signal.aborted).toBe(true)
})

test('a holder whose loop was blocked meets the aborted signal at its first look', () => {
  const clock = new HandClock()
  const holding = new Holding(runningRow(), 1000, clock)
  clock.block(5000)
  expect(holding.signal.aborted).toBe(true)
})

test('the first reason to stop is the one that stands', async () => {
  const clock = new HandClock()
  const holding = new Holding(runningRow(), 1000, clock)
  holding.abort('cancelled')
  await clock.pass(2000)
  expect(holding.abortReason).toBe('cancelled')
})

test('a released holding leaves no timer behind', () => {
  const clock = new HandClock()
  new Holding(runningRow(), 1000, clock).release()
  expect(clock.waiting).toBe(0)
})
