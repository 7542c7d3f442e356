import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRow, listed, never, type RowParts } from '../../test/conformance/rows.ts'
import { acquired, claimed, fairShare, isParked, needsPlan, nextFence } from './claim.ts'
import { type JobRow, leaseTask } from './job.ts'
import type { Instant } from './timetable.ts'

const by = { owner: 'b', claimId: 'c2', ttlMs: 3000 }
const pause = (until: Instant) => ({ at: 8000, until, by: null, why: null })

const planCases: readonly { readonly title: string; readonly row: RowParts; readonly now?: Instant; readonly plan: boolean }[] = [
  { title: 'idle, on time: starts at once', row: {}, plan: false },
  { title: 'idle, by the last instant of its schedule: starts at once', row: { afterAt: never }, plan: false },
  { title: 'idle, something is asked for: planned', row: { asked: 1 }, plan: true },
  { title: 'idle, the next but one unknown: planned', row: { afterAt: null }, plan: true },
  { title: 'idle, the next but one due as well: planned', row: { afterAt: 10_100 }, plan: true },
  { title: 'idle, outside the window: planned', row: { policy: { windowMs: 99 } }, plan: true },
  { title: 'idle, on the edge of the window: starts at once', row: { policy: { windowMs: 100 } }, plan: false },
  { title: 'idle, in the busy range: planned', row: { busy: { from: 9000, until: 10_000 } }, plan: true },
  { title: 'idle, past the busy range: starts at once', row: { busy: { from: 9000, until: 9999 } }, plan: false },
  { title: 'idle, in the held range: planned', row: { held: { from: 9000, until: 10_000 } }, plan: true },
  { title: 'idle, after a pause: planned', row: { pause: pause(9000) }, plan: true },
  { title: 'idle, overlap allow: planned', row: { policy: { overlap: 'allow' } }, plan: true },
  { title: 'idle, still to come, its planner vanished: planned', row: { lease: { mayStart: false }, dueAt: 9000 }, now: 9999, plan: true },
  {
    title: 'idle, its jitter still to come, its planner vanished: planned',
    row: { lease: { mayStart: false }, dueAt: 9000, policy: { jitterMs: 200 } },
    plan: true,
  },
  { title: 'removed: planned', row: { removedAt: 9000 }, plan: true },
  { title: 'cancelled: planned', row: { open: {}, cancelFence: 7 }, plan: true },
  { title: 'an earlier fence cancelled: starts at once', row: { open: {}, cancelFence: 6, nextAt: 20_000 }, plan: false },
  { title: 'open: its next attempt starts at once', row: { open: {}, nextAt: 20_000 }, plan: false },
  { title: 'open, no attempts left: planned', row: { open: { attempt: 3, failures: 3 }, nextAt: 20_000 }, plan: true },
  { title: 'open, vanished, no takeover: planned', row: { open: {}, policy: { takeOver: false }, nextAt: 20_000 }, plan: true },
  {
    title: 'open, threw, no takeover: starts at once',
    row: { open: { failures: 1 }, policy: { takeOver: false }, nextAt: 20_000 },
    plan: false,
  },
  {
    title: 'open, never started, outside the window: planned',
    row: { open: { attempt: 0 }, policy: { windowMs: 1000 }, nextAt: 20_000 },
    plan: true,
  },
  {
    title: 'open, started, outside the window: starts at once',
    row: { open: {}, policy: { windowMs: 1000 }, nextAt: 20_000 },
    plan: false,
  },
  {
    title: 'open by hand, never started, outside the window: starts at once',
    row: { open: { cause: 'm', attempt: 0 }, policy: { windowMs: 1000 } },
    plan: false,
  },
  { title: 'open, the next is due, overlap skip: starts at once', row: { open: {} }, plan: false },
  { title: 'open, the next is due, overlap replace: planned', row: { open: {}, policy: { overlap: 'replace' } }, plan: true },
  {
    title: 'open by hand, the next is due, overlap replace: starts at once',
    row: { open: { cause: 'm' }, policy: { overlap: 'replace' } },
    plan: false,
  },
  { title: 'waiting for a retry, the next is due: planned', row: { open: { failures: 1 } }, plan: true },
  { title: 'waiting for a retry, the next is not due: starts at once', row: { open: { failures: 1 } }, now: 9999, plan: false },
  { title: 'waiting for a retry, misfire all: starts at once', row: { open: { failures: 1 }, policy: { misfire: 'all' } }, plan: false },
]

describe('a claimed row', () => {
  for (const { title, row: parts, now = 10_100, plan } of planCases) {
    test(title, () => {
      const row = aRow(parts)
      expect(needsPlan(row, now)).toBe(plan)
      const { granted, row: after } = claimed(row, by, now)
      expect(granted).toBe(true)
      expect(after).toMatchObject({ lease: { owner: 'b', claimId: 'c2', mayStart: !plan }, acquiredAt: now, dueAt: now + 3000 })
      expect(after.fence).toBeGreaterThan(row.fence)
      // S8: a start is counted when it is granted; a plan opens nothing yet
      expect(after.open?.attempt ?? 0).toBe((row.open?.attempt ?? 0) + (plan ? 0 : 1))
      if (plan)
        expect({ ...after, fence: 0, lease: null, acquiredAt: 0, dueAt: 0, cancelFence: 0, lastOwner: null }).toEqual({
          ...row,
          fence: 0,
          lease: null,
          acquiredAt: 0,
          dueAt: 0,
          cancelFence: 0,
          lastOwner: null,
        })
    })
  }

  test('on time opens the instant the schedule asked for, never now', () => {
    const { row } = claimed(aRow(), by, 10_137)
    expect(row.open).toEqual({ cause: '', scheduledAt: 10_000, openedAt: 10_137, attempt: 1, failures: 0, checkpoint: null })
    expect(row).toMatchObject({ nextAt: 11_000, afterAt: null })
  })

  test('of a vanished holder leaves a line of its attempt, ended when its lease did', () => {
    const row = aRow({ open: { attempt: 2, checkpoint: [1] }, lease: { owner: 'a' }, acquiredAt: 9100, dueAt: 9900, nextAt: 20_000 })
    const { lines, row: after } = claimed(row, by, 10_000)
    expect(lines).toEqual([
      expect.objectContaining({
        end: 'leaseLost',
        final: false,
        owner: 'a',
        fence: 7,
        attempt: 2,
        scheduledAt: 9000,
        startedAt: 9100,
        endedAt: 9900,
      }),
    ])
    expect(after).toMatchObject({ lastOwner: 'a', open: { attempt: 3, checkpoint: [1] } })
  })

  test('of a holder that vanished while planning leaves no line', () => {
    expect(claimed(aRow({ lease: { mayStart: false } }), by, 10_000).lines).toEqual([])
  })

  test('while paused is parked, not granted, and its old holder fenced off', () => {
    const row = aRow({ open: {}, lease: {}, pause: pause(12_000), cancelFence: 7 })
    const { granted, row: after, lines } = claimed(row, by, 10_000)
    expect(granted).toBe(false)
    expect(after).toMatchObject({ lease: null, dueAt: 12_000, open: row.open, lastOwner: 'a' })
    expect(after.fence).toBeGreaterThan(row.fence)
    expect(after.cancelFence).toBe(after.fence)
    expect(lines.map(line => line.end)).toEqual(['leaseLost'])
  })

  test('is parked only while the pause lasts, and never where a run was asked for', () => {
    expect(isParked(aRow({ pause: pause(12_000) }), 11_999)).toBe(true)
    expect(isParked(aRow({ pause: pause(12_000) }), 12_000)).toBe(false)
    expect(isParked(aRow({ pause: pause(never), asked: 1 }), 10_000)).toBe(false)
    expect(isParked(aRow({ pause: pause(never), asked: 1, open: {} }), 10_000)).toBe(true)
  })
})

describe('a fence', () => {
  test('always rises, and is a safe integer for two centuries', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 52), fc.integer({ min: 0, max: Date.UTC(2255, 0) }), (fence, now) => {
        expect(nextFence(fence, now)).toBeGreaterThan(fence)
        expect(nextFence(fence, now)).toBeGreaterThanOrEqual(now * 1000)
        expect(Number.isSafeInteger(nextFence(fence, now))).toBe(true)
      }),
    )
  })
})

describe('a fair share', () => {
  const cases: readonly { title: string; of: Parameters<typeof fairShare>[0]; share: number }[] = [
    { title: 'alone: all there is room for', of: { free: 10, due: 100, leftOver: 0, live: 1 }, share: 10 },
    { title: 'of two: half, rounded up', of: { free: 10, due: 5, leftOver: 0, live: 2 }, share: 3 },
    { title: 'nobody known to be alive: all', of: { free: 10, due: 5, leftOver: 0, live: 0 }, share: 5 },
    { title: 'of one due among many: one', of: { free: 10, due: 1, leftOver: 0, live: 20 }, share: 1 },
    { title: 'what others have left: all of it', of: { free: 10, due: 8, leftOver: 7, live: 4 }, share: 7 },
    { title: 'no room: nothing', of: { free: 0, due: 8, leftOver: 8, live: 1 }, share: 0 },
  ]
  for (const { title, of, share } of cases) test(title, () => expect(fairShare(of)).toBe(share))

  test('never exceeds the room, and together the shares take everything', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(500), fc.nat(50), fc.integer({ min: 1, max: 20 }), (free, due, leftOver, live) => {
        const share = fairShare({ free, due, leftOver, live })
        expect(share).toBeLessThanOrEqual(free)
        if (free * live >= due) expect(share * live).toBeGreaterThanOrEqual(Math.min(due, free * live))
      }),
    )
  })
})

describe('a lease by name', () => {
  const row = (parts: RowParts = {}): JobRow =>
    aRow({ task: leaseTask, schedule: null, nextAt: never, afterAt: never, dueAt: 9000, ...parts })
  const held: RowParts = { lease: { owner: 'a', claimId: 'c1' }, dueAt: 12_000 }
  const stands = (at: Instant, parts: RowParts = {}): RowParts => ({ open: { scheduledAt: at }, ...parts })

  test('free: granted', () => {
    expect(acquired(row(), by, 10_000)).toMatchObject({
      kind: 'granted',
      lines: [],
      row: { lease: { owner: 'b', claimId: 'c2', mayStart: true }, dueAt: 13_000, open: null },
    })
  })

  test('held: says by whom and until when', () => {
    expect(acquired(row(held), by, 10_000)).toEqual({ kind: 'held', owner: 'a', until: 12_000 })
    expect(acquired(row(held), { ...by, owner: 'a' }, 10_000)).toEqual({ kind: 'held', owner: 'a', until: 12_000 })
  })

  test('held by this very ask: found again, unchanged', () => {
    expect(acquired(row(held), { owner: 'a', claimId: 'c1', ttlMs: 3000 }, 10_000)).toEqual({ kind: 'granted', row: row(held), lines: [] })
  })

  test('expired: granted to another, with a higher fence', () => {
    const got = acquired(row({ ...held, dueAt: 9000 }), by, 10_000)
    expect(got).toMatchObject({ kind: 'granted', row: { lastOwner: 'a' } })
    if (got.kind === 'granted') expect(got.row.fence).toBeGreaterThan(7)
  })

  test('for an instant: stands for it', () => {
    expect(acquired(row(), { ...by, at: 9500 }, 10_000)).toMatchObject({
      kind: 'granted',
      row: { open: { cause: '', scheduledAt: 9500, attempt: 1 } },
    })
  })

  test('for an instant at most two seconds ahead', () => {
    expect(acquired(row(), { ...by, at: 12_000 }, 10_000).kind).toBe('granted')
    expect(acquired(row(), { ...by, at: 12_001 }, 10_000).kind).toBe('refused')
  })

  test('for an instant that was settled, or an earlier one: done', () => {
    expect(acquired(row({ lastAt: 9500 }), { ...by, at: 9500 }, 10_000)).toEqual({ kind: 'done', lastAt: 9500 })
    expect(acquired(row({ lastAt: 9500 }), { ...by, at: 9499 }, 10_000)).toEqual({ kind: 'done', lastAt: 9500 })
    expect(acquired(row(stands(9500)), { ...by, at: 9000 }, 10_000).kind).toBe('done')
  })

  test('for the same instant after a vanished holder: the next attempt', () => {
    const got = acquired(row(stands(9500, { lease: {}, dueAt: 9900 })), { ...by, at: 9500 }, 10_000)
    expect(got).toMatchObject({
      kind: 'granted',
      row: { open: { scheduledAt: 9500, attempt: 2 } },
      lines: [{ end: 'leaseLost', final: false, fence: 7 }],
    })
  })

  test('for a later instant: the one that vanished is given up, under the new fence', () => {
    const got = acquired(row(stands(9500, { lease: {}, dueAt: 9900 })), { ...by, at: 9800 }, 10_000)
    if (got.kind !== 'granted') throw new Error(got.kind)
    expect(got.row).toMatchObject({ lastAt: 9500, open: { scheduledAt: 9800, attempt: 1 } })
    expect(got.lines).toEqual([
      expect.objectContaining({ end: 'leaseLost', final: false, scheduledAt: 9500, fence: 7 }),
      // S4: not under the old fence, where the late settle of the vanished holder would find it
      expect.objectContaining({ end: 'abandoned', final: true, scheduledAt: 9500, fence: got.row.fence }),
    ])
  })

  test('for no instant: one that waits is given up', () => {
    const got = acquired(row(stands(9500)), by, 10_000)
    expect(got).toMatchObject({ kind: 'granted', row: { open: null, lastAt: 9500 }, lines: [{ end: 'abandoned', scheduledAt: 9500 }] })
  })
})

test('only a row whose next instants are known is opened without a plan', () => {
  expect(needsPlan(aRow({ schedule: listed(10_000), afterAt: null }), 10_000)).toBe(true)
})
