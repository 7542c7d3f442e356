import { describe, expect, test } from 'vitest'
import { aRow, compile, every, listed, never, type RowParts } from '../../test/conformance/rows.ts'
import type { Ask } from './job.ts'
import { asked, cancelled, nextSkipped, paused, removalLines, removed, resumed } from './people.ts'

const now = 9500
const until = (at: number) => ({ until: at, by: 'me', why: 'because' })
const pause = (end: number) => ({ at: 9000, ...until(end) })

describe('a pause', () => {
  test('keeps an idle row from being claimed until its end', () => {
    expect(paused(aRow(), until(15_000), now)).toMatchObject({ dueAt: 15_000, pause: { at: now, until: 15_000, by: 'me', why: 'because' } })
    expect(paused(aRow(), until(never), now).dueAt).toBe(never)
    expect(paused(aRow(), until(9700), now).dueAt).toBe(10_000)
  })

  test('keeps a waiting retry', () => expect(paused(aRow({ open: {}, dueAt: 9800 }), until(15_000), now).dueAt).toBe(15_000))
  test('leaves a lease alone', () =>
    expect(paused(aRow({ lease: {}, open: {}, dueAt: 12_000 }), until(15_000), now)).toMatchObject({
      dueAt: 12_000,
      lease: { owner: 'a' },
    }))
  test('leaves what is asked for due', () => expect(paused(aRow({ asked: 1, dueAt: 9400 }), until(15_000), now).dueAt).toBe(now))
  test('does nothing to a removed job', () => expect(paused(aRow({ removedAt: 9000 }), until(15_000), now).pause).toBe(null))

  test('while paused moves the end, not the beginning', () => {
    expect(paused(aRow({ pause: pause(12_000) }), until(11_000), now)).toMatchObject({
      pause: { at: 9000, until: 11_000 },
      dueAt: 11_000,
      held: null,
    })
  })

  test('after one that has run out keeps that one as a quiet range', () => {
    expect(paused(aRow({ pause: pause(9400), nextAt: 9200 }), until(12_000), now)).toMatchObject({
      pause: { at: now },
      held: { from: 9000, until: 9400 },
    })
  })
})

describe('resuming', () => {
  test('D1: leaves what came due meanwhile quiet', () => {
    expect(resumed(aRow({ pause: pause(never), dueAt: never, nextAt: 9200 }), now)).toMatchObject({
      pause: null,
      held: { from: 9000, until: now },
      dueAt: 9200,
    })
  })

  test('after the end of the pause leaves quiet only what came due before that', () => {
    expect(resumed(aRow({ pause: pause(9300) }), now).held).toEqual({ from: 9000, until: 9300 })
  })

  test('makes a waiting occurrence due at once', () =>
    expect(resumed(aRow({ open: {}, pause: pause(never), dueAt: never }), now).dueAt).toBe(now))
  test('leaves a lease alone', () =>
    expect(resumed(aRow({ lease: {}, open: {}, dueAt: 12_000, pause: pause(never) }), now).dueAt).toBe(12_000))
  test('what is not paused changes nothing', () => expect(resumed(aRow(), now)).toEqual(aRow()))
})

describe('asking for a run', () => {
  test('makes an idle job due', () => expect(asked(aRow(), now)).toMatchObject({ asked: 1, dueAt: now }))
  test('makes a paused one due', () => expect(asked(aRow({ pause: pause(never), dueAt: never }), now).dueAt).toBe(now))
  test('does not put off one that is due already', () => expect(asked(aRow({ dueAt: 9000 }), now).dueAt).toBe(9000))
  test('waits its turn while another runs or waits', () => {
    expect(asked(aRow({ lease: {}, open: {}, dueAt: 12_000 }), now)).toMatchObject({ asked: 1, dueAt: 12_000 })
    expect(asked(aRow({ open: {}, dueAt: 12_000 }), now)).toMatchObject({ asked: 1, dueAt: 12_000 })
  })
})

describe('a cancel', () => {
  test('of nothing does nothing', () => expect(cancelled(aRow(), now)).toEqual({ row: aRow(), lines: [], did: false }))

  test('of a waiting occurrence ends it on the spot', () => {
    expect(cancelled(aRow({ open: { attempt: 1, failures: 1 }, dueAt: 15_000 }), now)).toMatchObject({
      did: true,
      row: { open: null, dueAt: 10_000, lastAt: 9000 },
      lines: [{ end: 'cancelled', final: true, reason: 'byHand', attempt: 1, startedAt: null }],
    })
  })

  test('of a running one is told to its holder', () => {
    expect(cancelled(aRow({ open: {}, lease: {} }), now)).toMatchObject({
      did: true,
      lines: [],
      row: { cancelFence: 7, lease: { owner: 'a' } },
    })
  })

  test('of a waiting extra row takes the row with it', () => {
    expect(cancelled(aRow({ open: {}, parent: { id: 5, fence: 6 } }), now)).toMatchObject({
      did: true,
      row: null,
      lines: [{ jobId: 5, final: true }],
    })
  })
})

describe('skipping the next instant', () => {
  const cursor = { nextAt: 11_000, afterAt: 12_000 }

  test('gives it its verdict ahead of time and steps the cursor', () => {
    expect(nextSkipped(aRow(), cursor, now)).toMatchObject({
      did: true,
      row: { nextAt: 11_000, afterAt: 12_000, rev: 2, dueAt: 11_000, lastAt: 10_000 },
      lines: [{ end: 'skipped', reason: 'byHand', scheduledAt: 10_000, final: true }],
    })
  })

  test('leaves a run alone', () => {
    expect(nextSkipped(aRow({ open: {}, lease: {}, dueAt: 12_345 }), cursor, now).row).toMatchObject({
      dueAt: 12_345,
      open: { scheduledAt: 9000 },
      nextAt: 11_000,
    })
  })

  test('leaves a pause alone', () => expect(nextSkipped(aRow({ pause: pause(15_000) }), cursor, now).row?.dueAt).toBe(15_000))
  test('of a job with none to come does nothing', () => expect(nextSkipped(aRow({ nextAt: never }), cursor, now).did).toBe(false))
})

describe('a removal', () => {
  const lines = (parts: RowParts, asks: Ask[] = [], at = 12_500) =>
    removalLines(aRow(parts), asks, at, compile).map(
      ({ cause, scheduledAt, untilAt, count, end, reason }) => `${cause}:${scheduledAt}..${untilAt}×${count} ${end} ${reason}`,
    )

  test('owes what is due its verdict', () => {
    expect(lines({})).toEqual([':10000..12000×3 skipped removed'])
    expect(lines({ nextAt: 13_000 })).toEqual([])
    expect(lines({ schedule: every(500), oldSchedules: [{ schedule: listed(10_000, 10_001), until: 11_000 }] })).toEqual([
      ':10000..12500×5 skipped removed',
    ])
  })

  test('owes what was asked for its verdict', () => {
    const manual: Ask = { id: 'm', kind: 'manual', at: 9400, until: 9400, schedule: null }
    const backfill: Ask = { id: 'b', kind: 'backfill', at: 2000, until: 4500, schedule: every(1000) }
    expect(lines({ nextAt: never }, [manual, backfill])).toEqual(['m:9400..9400×1 skipped removed', 'b:2000..4500×3 skipped removed'])
  })

  test('marks the row and keeps its fence', () => {
    const { row, lines: made } = removed(aRow({ pause: pause(never), asked: 2 }), now)
    expect(row).toMatchObject({ removedAt: now, dueAt: never, nextAt: never, afterAt: never, fence: 7, rev: 2, asked: 0, pause: null })
    expect(made).toEqual([])
  })

  test('abandons what waits, and lets what runs finish', () => {
    expect(removed(aRow({ open: { attempt: 1, failures: 1 } }), now)).toMatchObject({
      row: { open: null, dueAt: never },
      lines: [{ end: 'abandoned', reason: 'removed' }],
    })
    expect(removed(aRow({ open: {}, lease: {}, dueAt: 12_000 }), now)).toMatchObject({
      row: { open: { scheduledAt: 9000 }, dueAt: 12_000 },
      lines: [],
    })
  })
})
