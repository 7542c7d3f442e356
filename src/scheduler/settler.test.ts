import { expect, test } from 'vitest'
import { evenRandom, HandClock } from '../../test/kit/hand-clock.ts'
import type { SettleItem, SettleRequest } from '../store/store.ts'
import { Settler } from './settler.ts'

const item = (rowId: number): SettleItem => ({
  kind: 'run',
  rowId,
  fence: 1,
  occurrence: { cause: '', scheduledAt: 1000 },
  end: { kind: 'final', verdict: 'succeeded', successor: null },
})

function settling(answer: (request: SettleRequest, call: number) => Promise<void>) {
  const clock = new HandClock()
  const requests: SettleRequest[] = []
  const settler = new Settler({
    clock,
    random: evenRandom(),
    owner: 'me',
    longestPauseMs: 500,
    send: async request => {
      requests.push(request)
      await answer(request, requests.length)
      return { now: clock.now(), results: request.items.map(() => ({ kind: 'settled' as const })) }
    },
  })
  return { clock, settler, requests }
}

test('what comes while a call is under way goes together with the next', async () => {
  const { clock, settler, requests } = settling(() => new Promise(resolve => clock.after(10, resolve)))
  const answers = Promise.all([1, 2, 3, 4].map(rowId => settler.settle(item(rowId))))
  await clock.pass(100)
  expect((await answers).every(answer => answer?.result.kind === 'settled')).toBe(true)
  expect(requests.map(({ items }) => items.length)).toEqual([1, 3])
})

test('a settle without an answer is repeated until it has one', async () => {
  const { clock, settler, requests } = settling(async (_request, call) => (call < 5 ? Promise.reject(new Error('cut')) : undefined))
  const answer = settler.settle(item(1))
  await clock.pass(10_000)
  expect((await answer)?.result.kind).toBe('settled')
  expect(requests).toHaveLength(5)
})

test('once the store answers again, what failed is tried at once, one after the other', async () => {
  let isUp = false
  const { clock, settler, requests } = settling(async () => (isUp ? undefined : Promise.reject(new Error('cut'))))
  const answers = Promise.all([1, 2, 3].map(rowId => settler.settle(item(rowId))))
  await clock.pass(20_000)
  const before = requests.length
  isUp = true
  settler.hasten()
  await clock.pass(0)
  expect((await answers).every(answer => answer?.result.kind === 'settled')).toBe(true)
  expect(requests.slice(before).map(({ items }) => items.length)).toEqual([1, 1, 1])
})

test('a settle that is no longer worth it is given up at its time', async () => {
  const { clock, settler } = settling(async () => Promise.reject(new Error('cut')))
  const answer = settler.settle(item(1), () => 2000)
  await clock.pass(10_000)
  expect(await answer).toBeNull()
})

test('an item that always fails does not hold up the others', async () => {
  const { clock, settler } = settling(async ({ items }) =>
    items.some(({ rowId }) => rowId === 13) ? Promise.reject(new Error('poison')) : undefined,
  )
  void settler.settle(item(13))
  const others = Promise.all([1, 2, 3].map(rowId => settler.settle(item(rowId))))
  await clock.pass(20_000)
  expect((await others).every(answer => answer?.result.kind === 'settled')).toBe(true)
  settler.stop()
})
