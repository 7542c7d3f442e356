import { describe, expect, test } from 'vitest'
import { aRow, compile, every, type RowParts } from '../../test/conformance/rows.ts'
import type { Ask, JobRow } from './job.ts'
import { plan } from './plan.ts'
import { isAsSeen, joined, planned } from './planned.ts'

const by = { claimId: 'c1', ttlMs: 3000 }
const manual: Ask = { id: 'm', kind: 'manual', at: 9500, until: 9500, schedule: null }
const backfill: Ask = { id: 'b', kind: 'backfill', at: 2000, until: 4000, schedule: every(1000) }
const pause = { at: 9500, until: 11_500, by: 'me', why: 'because' }

function claimedRow(parts: RowParts = {}): JobRow {
  return aRow({ lease: { mayStart: false }, acquiredAt: 12_100, dueAt: 15_100, ...parts })
}

function carriedOut(row: JobRow, asks: { manual?: Ask; backfill?: Ask } = {}, now = 12_100) {
  return planned(row, plan(row, { manual: null, backfill: null, ...asks }, now, compile), by, now + 5)
}

describe('a plan written down', () => {
  test('opens an instant under the lease that planned it', () => {
    const row = claimedRow()
    expect(carriedOut(row)).toEqual({
      kind: 'granted',
      row: {
        ...row,
        nextAt: 13_000,
        afterAt: 14_000,
        acquiredAt: 12_105,
        lease: { owner: 'a', claimId: 'c1', mayStart: true },
        open: { cause: '', scheduledAt: 12_000, openedAt: 12_105, attempt: 1, failures: 0, checkpoint: null },
      },
    })
  })

  test('lets an open occurrence start again, counted, with its checkpoint', () => {
    const got = carriedOut(claimedRow({ open: { attempt: 1, checkpoint: { at: 3 } }, nextAt: 20_000 }))
    expect(got).toMatchObject({ kind: 'granted', row: { lease: { mayStart: true }, open: { attempt: 2, checkpoint: { at: 3 } } } })
  })

  test('frees a row with nothing to run', () => {
    expect(carriedOut(claimedRow({ nextAt: 13_000 }))).toMatchObject({
      kind: 'freed',
      row: { lease: null, dueAt: 13_000, endedAt: 12_105, lastOwner: 'a' },
    })
  })

  test('uses up an ask, or steps it', () => {
    expect(carriedOut(claimedRow({ asked: 1 }), { manual })).toMatchObject({
      kind: 'granted',
      row: { asked: 0, open: { cause: 'm', scheduledAt: 9500 } },
    })
    expect(carriedOut(claimedRow({ asked: 1 }), { backfill })).toMatchObject({
      kind: 'granted',
      row: { asked: 1, open: { cause: 'b', scheduledAt: 2000 } },
    })
  })

  test('turns a pause that has run out into a quiet range', () => {
    expect(carriedOut(claimedRow({ pause }))).toMatchObject({ row: { pause: null, held: { from: 9500, until: 11_500 } } })
    expect(carriedOut(claimedRow({ pause, held: { from: 8000, until: 10_000 } }))).toMatchObject({
      row: { held: { from: 8000, until: 11_500 } },
    })
  })

  test('makes an extra row where overlap is allowed, and frees the job', () => {
    const row = claimedRow({ policy: { overlap: 'allow' }, asked: 1, pause: null })
    const got = carriedOut(row, {}, 12_100)
    if (got.kind !== 'spawned') throw new Error(got.kind)
    expect(got.child).toMatchObject({
      parent: { id: 1, fence: 7 },
      open: { cause: '', scheduledAt: 12_000, attempt: 1 },
      lease: { owner: 'a', claimId: 'c1', mayStart: true },
      dueAt: 15_105,
      nextAt: Number.POSITIVE_INFINITY,
      afterAt: Number.POSITIVE_INFINITY,
      asked: 0,
      pause: null,
    })
    expect(got.row).toMatchObject({ lease: null, open: null, nextAt: 13_000, lastAt: 12_000 })
    // S3
    expect(got.child.fence).toBeGreaterThan(7)
    expect(got.row.fence).toBe(got.child.fence)
  })

  test('ends an extra row for good', () => {
    expect(carriedOut(claimedRow({ parent: { id: 5, fence: 6 }, open: { attempt: 3, failures: 3 } }))).toEqual({ kind: 'gone' })
  })

  test('twice is granted once', () => {
    const first = carriedOut(claimedRow())
    if (first.kind !== 'granted') throw new Error(first.kind)
    const again = planned(first.row, plan(claimedRow(), { manual: null, backfill: null }, 12_100, compile), by, 12_200)
    expect(again).toEqual(first)
  })

  test('is stale where the row has changed since', () => {
    const made = plan(claimedRow(), { manual: null, backfill: null }, 12_100, compile)
    for (const changed of [{ rev: 2 }, { asked: 1 }, { nextAt: 11_000 }, { open: {} }]) {
      expect(planned(claimedRow(changed), made, by, 12_105).kind).toBe('stale')
    }
  })

  test('keeps a cancel that came while it was made', () => {
    const row = claimedRow({ open: {}, nextAt: 20_000 })
    const made = plan(row, { manual: null, backfill: null }, 12_100, compile)
    expect(planned({ ...row, cancelFence: 7 }, made, by, 12_105)).toMatchObject({ kind: 'granted', row: { cancelFence: 7 } })
  })
})

test('a row is as seen while revision, asks, cursor and open occurrence are', () => {
  const seen = { rev: 1, asked: 0, nextAt: 10_000, open: { cause: '', scheduledAt: 9000 } }
  expect(isAsSeen(aRow({ open: {} }), seen)).toBe(true)
  expect(isAsSeen(aRow({ open: { attempt: 2, failures: 1 }, dueAt: 5, fence: 99 }), seen)).toBe(true)
  for (const changed of [{ rev: 2 }, { asked: 1 }, { nextAt: 1 }, { open: { cause: 'm' } }, { open: { scheduledAt: 1 } }, { open: null }]) {
    expect(isAsSeen(aRow({ open: {}, ...changed }), seen)).toBe(false)
  }
})

test('quiet ranges join while the cursor has not passed the earlier one', () => {
  expect(joined(null, { from: 5, until: 9 }, 7)).toEqual({ from: 5, until: 9 })
  expect(joined({ from: 1, until: 7 }, { from: 8, until: 9 }, 7)).toEqual({ from: 1, until: 9 })
  expect(joined({ from: 1, until: 7 }, { from: 8, until: 9 }, 8)).toEqual({ from: 8, until: 9 })
  expect(joined({ from: 1, until: 20 }, { from: 8, until: 9 }, 8)).toEqual({ from: 1, until: 20 })
})
