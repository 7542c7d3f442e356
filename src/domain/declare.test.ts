import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aDefinition, aRow, compile, every, never, type RowParts } from '../../test/conformance/rows.ts'
import { type Declaration, declared, isInForce, type Release } from './declare.ts'
import type { JobRow } from './job.ts'
import { plan } from './plan.ts'

const now = 9500

function declaration(parts: Partial<Declaration> = {}): Declaration {
  return { name: 'job', task: 'task', definition: aDefinition({ schedule: every(700) }), hash: 'other', upcoming: [9800, 10_500], ...parts }
}

function edited(parts: RowParts = {}, as: Partial<Declaration> = {}, at = now): JobRow {
  const done = declared(aRow(parts), declaration(as), at)
  if (done.kind !== 'edited') throw new Error(done.kind)
  return done.row
}

describe('declaring a new job', () => {
  test('puts its cursor at the first instant after now', () => {
    const done = declared(null, declaration({ upcoming: [9400, 9500, 9501, 9600] }), now)
    expect(done).toMatchObject({
      kind: 'new',
      row: { nextAt: 9501, afterAt: 9600, dueAt: 9501, rev: 1, fence: 0, lease: null, open: null },
    })
  })

  test('knows no successor where none was handed in', () => {
    expect(declared(null, declaration({ upcoming: [9600] }), now)).toMatchObject({ row: { nextAt: 9600, afterAt: null } })
    expect(declared(null, declaration({ upcoming: [9600, never] }), now)).toMatchObject({ row: { nextAt: 9600, afterAt: never } })
    expect(declared(null, declaration({ upcoming: [never] }), now)).toMatchObject({ row: { nextAt: never, afterAt: never, dueAt: never } })
  })

  test('is late where all instants have passed', () => {
    expect(declared(null, declaration({ upcoming: [9400, 9500] }), now)).toEqual({ kind: 'late' })
    expect(declared(null, declaration({ upcoming: [] }), now)).toEqual({ kind: 'late' })
  })

  test('delays it by its jitter', () => {
    const definition = aDefinition({ policy: { jitterMs: 40 } })
    expect(declared(null, declaration({ definition, upcoming: [9600, 9700] }), now)).toMatchObject({ row: { nextAt: 9600, dueAt: 9640 } })
  })
})

describe('declaring a job again', () => {
  test('D1: unchanged, changes nothing, whatever is due', () => {
    for (const row of [
      aRow(),
      aRow({ nextAt: 5000 }),
      aRow({ open: {}, lease: {} }),
      aRow({ pause: { at: 1, until: never, by: null, why: null } }),
    ]) {
      expect(declared(row, declaration({ hash: 'hash' }), now)).toEqual({ kind: 'unchanged' })
    }
  })

  test('edited, moves a cursor that is still to come', () => {
    expect(edited()).toMatchObject({ nextAt: 9800, afterAt: 10_500, dueAt: 9800, rev: 2, hash: 'other', oldSchedules: [] })
  })

  test('D1: edited, leaves what is due to the schedule that asked for it', () => {
    const row = edited({ nextAt: 9000 })
    expect(row).toMatchObject({ nextAt: 9000, afterAt: null, dueAt: 9000, oldSchedules: [{ schedule: every(1000), until: now }] })
    expect(
      plan({ ...row, lease: { owner: 'a', claimId: 'c', mayStart: false } }, { manual: null, backfill: null }, 9900, compile),
    ).toMatchObject({
      lines: [{ end: 'superseded', scheduledAt: 9000 }],
      then: { scheduledAt: 9800 },
    })
  })

  test('D1: edited twice, each schedule keeps its own stretch', () => {
    const once = edited({ nextAt: 9000 })
    const twice = declared(once, declaration({ hash: 'third', definition: aDefinition({ schedule: every(11) }) }), now + 300)
    expect(twice).toMatchObject({
      row: {
        oldSchedules: [
          { schedule: every(1000), until: now },
          { schedule: every(700), until: now + 300 },
        ],
      },
    })
  })

  test('edited twice within a millisecond, what was due stays with the first', () => {
    const once = edited({ nextAt: 9000 })
    const twice = declared(once, declaration({ hash: 'third', definition: aDefinition({ schedule: every(11) }) }), now)
    if (twice.kind !== 'edited') throw new Error(twice.kind)
    const made = plan(
      { ...twice.row, lease: { owner: 'a', claimId: 'c', mayStart: false } },
      { manual: null, backfill: null },
      9502,
      compile,
    )
    expect(made).toMatchObject({ lines: [], then: { scheduledAt: 9000 }, cursor: { nextAt: 9504 } })
  })

  test('D1: edited, leaves pause, lease and open occurrence alone', () => {
    const pause = { at: 9000, until: 15_000, by: null, why: null }
    expect(edited({ pause })).toMatchObject({ pause, dueAt: 15_000 })
    expect(edited({ open: {}, lease: {}, dueAt: 12_000 })).toMatchObject({
      open: { scheduledAt: 9000 },
      lease: { owner: 'a' },
      dueAt: 12_000,
      fence: 7,
    })
    expect(edited({ open: { failures: 1 }, dueAt: 9700 })).toMatchObject({ open: { failures: 1 }, dueAt: 9700 })
  })

  test('edited, stays due for what was asked for', () => expect(edited({ asked: 1, dueAt: 9000 }).dueAt).toBe(now))

  test('edited to run only when asked for, keeps what is due', () => {
    expect(edited({ nextAt: 9000 }, { definition: aDefinition({ schedule: null }), upcoming: [never] })).toMatchObject({
      nextAt: 9000,
      dueAt: 9000,
    })
    expect(edited({}, { definition: aDefinition({ schedule: null }), upcoming: [never] })).toMatchObject({ nextAt: never, dueAt: never })
  })

  test('edited with instants that have passed, is late', () => {
    expect(declared(aRow(), declaration({ upcoming: [9400] }), now)).toEqual({ kind: 'late' })
  })

  test('S2: an edit does not bring back an instant that was skipped ahead of time', () => {
    const skipped = { nextAt: 11_000, afterAt: 12_000, lastAt: 10_000 }
    expect(edited(skipped, { upcoming: [10_000, 10_700, 11_400] })).toMatchObject({ nextAt: 10_700, afterAt: 11_400 })
    expect(declared(aRow(skipped), declaration({ upcoming: [9800, 10_000] }), now)).toEqual({ kind: 'late' })
  })

  test('removed and declared again, is the same row with its cursor after now', () => {
    const removed = {
      removedAt: 9000,
      nextAt: never,
      afterAt: never,
      dueAt: never,
      rev: 4,
      fence: 99,
      busy: { from: 1, until: 20_000 },
      held: { from: 1, until: 20_000 },
    }
    expect(edited(removed, { hash: 'hash' })).toMatchObject({
      id: 1,
      removedAt: null,
      nextAt: 9800,
      dueAt: 9800,
      rev: 5,
      fence: 99,
      busy: null,
      held: null,
    })
  })

  test('never sets its cursor into the past', () => {
    const instants = fc.uniqueArray(fc.integer({ min: 9000, max: 10_000 }), { maxLength: 6 }).map(list => list.sort((a, b) => a - b))
    fc.assert(
      fc.property(instants, fc.boolean(), (upcoming, isRemoved) => {
        const done = declared(aRow(isRemoved ? { removedAt: 9000, nextAt: never } : {}), declaration({ upcoming }), now)
        expect(done.kind).toBe(upcoming.some(at => at > now) ? 'edited' : 'late')
        if (done.kind === 'edited') expect(done.row.nextAt).toBeGreaterThan(now)
      }),
    )
  })
})

describe('the definition in force', () => {
  const old: Release = { release: 'r1', hash: 'h1', firstSeenAt: 100 }
  const young: Release = { release: 'r2', hash: 'h2', firstSeenAt: 200 }
  const known = [old, young]

  test('is the newest that a live replica declares', () => {
    expect(isInForce(young, known, new Set(['r1', 'r2']))).toBe(true)
    expect(isInForce(old, known, new Set(['r1', 'r2']))).toBe(false)
  })

  test('is an earlier one again once the newer is gone', () => expect(isInForce(old, known, new Set(['r1']))).toBe(true))

  test('is shared by releases that say the same of the job', () => {
    const same: Release = { release: 'r3', hash: 'h1', firstSeenAt: 300 }
    expect(isInForce(old, [old, same], new Set(['r1', 'r3']))).toBe(true)
  })

  test('is one, whatever was seen when', () => {
    const releases = fc.uniqueArray(
      fc.record({ release: fc.constantFrom('a', 'b', 'c', 'd'), hash: fc.constantFrom('x', 'y', 'z'), firstSeenAt: fc.nat(3) }),
      {
        selector: ({ release }) => release,
        minLength: 1,
      },
    )
    fc.assert(
      fc.property(releases, fc.subarray(['a', 'b', 'c', 'd']), (all, alive) => {
        const live = new Set(alive)
        const inForce = all.filter(({ release }) => live.has(release)).filter(release => isInForce(release, all, live))
        // none: the newest live one shares its definition with an older that a third has overtaken
        expect(new Set(inForce.map(({ hash }) => hash)).size).toBeLessThanOrEqual(1)
        const newest = all
          .filter(({ release }) => live.has(release))
          .sort((a, b) => a.firstSeenAt - b.firstSeenAt || (a.release < b.release ? -1 : 1))
          .at(-1)
        if (newest !== undefined) expect(inForce).toContain(newest)
      }),
    )
  })
})
