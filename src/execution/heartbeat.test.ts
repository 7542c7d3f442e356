import { expect, test } from 'vitest'
import { HandClock } from '../../test/kit/hand-clock.ts'
import { runningRow } from '../../test/kit/rows.ts'
import type { Renewed, RenewRequest } from '../store/store.ts'
import { Heartbeat } from './heartbeat.ts'
import { Holding } from './holding.ts'

type Answer = (request: RenewRequest) => Promise<Partial<Renewed>>

function beating(answer: Answer, rows = [runningRow()]) {
  const clock = new HandClock()
  const holdings = rows.map(row => new Holding(row, 2700, clock))
  const requests: RenewRequest[] = []
  const heartbeat = new Heartbeat({
    clock,
    owner: 'me',
    leaseMs: 3000,
    heartbeatMs: 1000,
    marginMs: 300,
    holdings: () => holdings,
    renew: async request => {
      requests.push(request)
      const renewed = await answer(request)
      const now = 50_000 + clock.elapsedMs()
      const base = { state: 'held', dueAt: now + 3000, rev: 1, nextAt: 2000, cancelled: false } as const
      return { now, leases: request.leases.map(lease => ({ ...base, ...renewed, ...lease })) }
    },
  })
  heartbeat.keep()
  return { clock, holdings, requests, heartbeat, first: holdings[0] as Holding }
}

test('all leases held are renewed in one call a beat', async () => {
  const { clock, requests, first } = beating(async () => ({}), [runningRow(), runningRow({ id: 2 }), runningRow({ id: 3 })])
  await clock.pass(10_000)
  expect(requests).toHaveLength(10)
  expect(requests[0]?.leases).toHaveLength(3)
  expect(first.signal.aborted).toBe(false)
})

test('trust is counted from before the call was sent, so a slow reply cannot lengthen it', async () => {
  const { clock, first } = beating(() => new Promise(resolve => clock.after(400, () => resolve({}))))
  await clock.pass(1400)
  expect(first.deadlineMs).toBe(1000 + 3000 - 300)
})

test('a lost renewal is tried again soon, and without an answer the run is aborted by its deadline', async () => {
  const { clock, requests, first } = beating(async () => Promise.reject(new Error('cut')))
  await clock.pass(2699)
  expect(requests.length).toBeGreaterThan(4)
  expect(first.signal.aborted).toBe(false)
  await clock.pass(1)
  expect(first.abortReason).toBe('leaseLost')
})

test('a lease that the store calls lost is aborted at once and not asked for again', async () => {
  const { clock, requests, first } = beating(async () => ({ state: 'lost' }))
  await clock.pass(1000)
  expect(first.abortReason).toBe('leaseLost')
  await clock.pass(5000)
  expect(requests).toHaveLength(1)
})

test('a busy row keeps its lease and is asked for again before its deadline', async () => {
  const { clock, requests, first } = beating(async ({ leases }) => ({ state: leases.length > 0 && requests.length < 4 ? 'busy' : 'held' }))
  await clock.pass(2000)
  expect(requests.length).toBeGreaterThanOrEqual(4)
  expect(first.signal.aborted).toBe(false)
  expect(first.deadlineMs).toBeGreaterThan(2700)
})

test('somebody who cancels the run reaches it within a heartbeat', async () => {
  const { clock, first } = beating(async () => ({ cancelled: true }))
  await clock.pass(1000)
  expect(first.abortReason).toBe('cancelled')
})
