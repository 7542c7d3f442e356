import { setTimeout as sleep } from 'node:timers/promises'
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

test.each<(signal: AbortSignal) => unknown>([
  signal => signal.aborted,
  signal => signal.reason !== undefined,
  signal => threw(() => signal.throwIfAborted()),
])('a handler that kept the signal, and whose loop was blocked, meets it aborted at its first look', look => {
  const clock = new HandClock()
  const { signal } = new Holding(runningRow(), 1000, clock)
  const told: string[] = []
  signal.addEventListener('abort', () => told.push('abort'))
  clock.block(999)
  expect(look(signal)).toBe(false)
  clock.block(1)
  expect(look(signal)).toBe(true)
  expect(told).toEqual(['abort'])
  expect(signal).toBeInstanceOf(AbortSignal)
})

test('what the platform does with a signal, it does with this one', async () => {
  const clock = new HandClock()
  const { signal } = new Holding(runningRow(), 1000, clock)
  clock.block(1000)
  await expect(sleep(10_000, null, { signal })).rejects.toMatchObject({ name: 'AbortError' })
  await expect(fetch('http://localhost:1', { signal })).rejects.toMatchObject({ code: 'ONETICK_LEASE_LOST' })
  expect(AbortSignal.any([signal]).aborted).toBe(true)
})

test('the signal of a run that is over is left as it was', () => {
  const clock = new HandClock()
  const holding = new Holding(runningRow(), 1000, clock)
  holding.release()
  clock.block(5000)
  expect(holding.signal.aborted).toBe(false)
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

function threw(body: () => void): boolean {
  try {
    body()
    return false
  } catch {
    return true
  }
}
