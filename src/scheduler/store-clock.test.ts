import { expect, test } from 'vitest'
import { HandClock } from '../../test/kit/hand-clock.ts'
import { StoreClock } from './store-clock.ts'

test('a replica aims by the store, however wrong its own clock is', async () => {
  const clock = new HandClock(0)
  const storeClock = new StoreClock(clock)
  storeClock.observe(1_800_000_000_000)
  await clock.pass(250)
  expect(storeClock.now()).toBe(1_800_000_000_250)
  expect(storeClock.delayUntil(1_800_000_001_000)).toBe(750)
})

test('of several replies the one that was least delayed counts, so an ask is never early', async () => {
  const clock = new HandClock(0)
  const storeClock = new StoreClock(clock)
  const store = () => 5_000_000 + clock.elapsedMs()
  for (const delayMs of [40, 3, 90]) {
    const now = store()
    await clock.pass(delayMs)
    storeClock.observe(now)
    expect(storeClock.now()).toBeLessThanOrEqual(store())
  }
  expect(store() - storeClock.now()).toBe(3)
})

test('old replies are forgotten, as clocks drift', async () => {
  const clock = new HandClock(0)
  const storeClock = new StoreClock(clock)
  storeClock.observe(10_000)
  await clock.pass(60_000)
  storeClock.observe(60_000)
  expect(storeClock.now()).toBe(60_000)
})
