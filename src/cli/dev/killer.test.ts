import { expect, test } from 'vitest'
import { evenRandom, HandClock } from '../../../test/kit/hand-clock.ts'
import { Killer } from './killer.ts'

function killerOf(everyMs: number) {
  const clock = new HandClock()
  const killed: string[] = []
  const busy = new Set<string>()
  const killer = new Killer({
    clock,
    random: { ...evenRandom(), next: () => 0 },
    everyMs,
    up: () => ['8081', '8082', '8083'],
    kill: label => killed.push(label),
    isBusy: label => busy.has(label),
  })
  killer.start()
  return { clock, killed, busy, killer }
}

test('it waits for a run that has begun, and kills the replica in the middle of it', async () => {
  const { clock, killed, busy, killer } = killerOf(30_000)
  busy.add('8082')
  killer.onStarted('8082', 50)
  await clock.pass(31_000)
  expect(killed).toEqual([])
  killer.onStarted('8082', 50)
  await clock.pass(49)
  expect(killed).toEqual([])
  await clock.pass(1)
  expect(killed).toEqual(['8082'])
  killer.onStarted('8082', 50)
  await clock.pass(1000)
  expect(killed).toHaveLength(1)
})

test('a run that has ended by then does not count: it waits for the next', async () => {
  const { clock, killed, busy, killer } = killerOf(30_000)
  await clock.pass(30_000)
  killer.onStarted('8082', 50)
  await clock.pass(50)
  expect(killed).toEqual([])
  busy.add('8083')
  killer.onStarted('8083', 50)
  await clock.pass(50)
  expect(killed).toEqual(['8083'])
})

test('where nothing runs until the next time, it kills an idle one', async () => {
  const { clock, killed } = killerOf(30_000)
  await clock.pass(60_000)
  expect(killed).toEqual(['8081'])
})

test('with 0 it kills nobody', async () => {
  const { clock, killed, killer } = killerOf(0)
  await clock.pass(600_000)
  killer.onStarted('8081', 0)
  expect(killed).toEqual([])
  expect(clock.waiting).toBe(0)
})

test('once stopped it kills nobody any more, a bite under way included', async () => {
  const { clock, killed, busy, killer } = killerOf(30_000)
  busy.add('8081')
  await clock.pass(30_000)
  killer.onStarted('8081', 50)
  killer.stop()
  await clock.pass(120_000)
  expect(killed).toEqual([])
})
