import { expect, test } from 'vitest'
import { evenRandom, HandClock } from '../../test/kit/hand-clock.ts'
import { runningRow } from '../../test/kit/rows.ts'
import type { ClaimReply, ClaimRequest } from '../store/store.ts'
import { Claims } from './claims.ts'
import { StoreClock } from './store-clock.ts'
import { timingOf } from './timing.ts'

const question = { limit: 5, except: [], presence: { running: 0, draining: false, clockOffsetMs: 0, loopLagMs: 0 } }

function asking(answer: (request: ClaimRequest, call: number) => Promise<Partial<ClaimReply>>) {
  const clock = new HandClock()
  const storeClock = new StoreClock(clock)
  const requests: ClaimRequest[] = []
  const claims = new Claims({
    clock,
    random: evenRandom(),
    storeClock,
    timing: timingOf({ lease: '3s' }),
    owner: 'me',
    tasks: () => ['job'],
    send: async request => {
      requests.push(request)
      const reply = await answer(request, requests.length)
      return { now: clock.now(), grants: [], nextDueAt: Number.POSITIVE_INFINITY, moreDue: false, anyLeased: false, ...reply }
    },
  })
  return { clock, claims, requests }
}

const grant = { row: runningRow(), manual: null, backfill: null }

test('an ask without an answer is repeated under the same id until the store would refuse it for its age', async () => {
  const { clock, claims, requests } = asking(async (_request, call) => (call === 1 ? Promise.reject(new Error('lost')) : {}))
  await expect(claims.ask(question)).rejects.toThrow('lost')
  expect(claims.isUnsure).toBe(true)
  await clock.pass(100)
  await claims.ask(question)
  expect(requests[1]?.claimId).toBe(requests[0]?.claimId)
  expect(claims.isUnsure).toBe(true)
  await clock.pass(500)
  await claims.ask(question)
  expect(claims.isUnsure).toBe(false)
  await claims.ask(question)
  expect(requests[3]?.claimId).not.toBe(requests[0]?.claimId)
})

test('a request carries the store time after which it may not be carried out', async () => {
  const { claims, requests, clock } = asking(async () => ({}))
  await claims.ask(question)
  expect(requests[0]?.notAfter).toBe(clock.now() + 500)
})

test('a lease that a repeated ask finds again is told of once', async () => {
  const { claims } = asking(async (_request, call) => (call === 1 ? Promise.reject(new Error('lost')) : { grants: [grant] }))
  await expect(claims.ask(question)).rejects.toThrow()
  expect((await claims.ask(question)).fresh).toHaveLength(1)
  expect((await claims.ask(question)).fresh).toHaveLength(0)
})
