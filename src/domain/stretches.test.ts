import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRow, compile, counting, every, listed, never } from '../../test/conformance/rows.ts'
import { countLimit, DueInstants, type Judgement, type Stretch } from './stretches.ts'
import type { Instant } from './timetable.ts'

const due = (parts: Parameters<typeof aRow>[0] = {}): DueInstants => new DueInstants(aRow(parts), compile)
const allRun = (horizon: Instant) => () => ({ judgement: 'run' as const, until: horizon })

describe('due instants', () => {
  test('follow the schedule', () => {
    expect(due().next(10_000)).toBe(11_000)
    expect(due().next(10_999)).toBe(11_000)
    expect(due().next(never)).toBe(never)
  })

  test('follow each old schedule up to its end, inclusive', () => {
    const instants = due({
      schedule: every(1000),
      oldSchedules: [
        { schedule: every(300), until: 10_500 },
        { schedule: every(400), until: 11_200 },
      ],
    })
    expect(walk(instants, 9900, 12_000)).toEqual([10_200, 10_500, 10_800, 11_200, 12_000])
  })

  test('an old schedule of no length at all has no say', () => {
    const oldSchedules = [
      { schedule: every(300), until: 10_500 },
      { schedule: every(7), until: 10_500 },
    ]
    expect(walk(due({ oldSchedules }), 9900, 11_000)).toEqual([10_200, 10_500, 11_000])
  })

  test('a job that runs only when asked for has none, its earlier schedule had', () => {
    expect(due({ schedule: null }).next(10_000)).toBe(never)
    expect(walk(due({ schedule: null, oldSchedules: [{ schedule: every(1000), until: 12_000 }] }), 9000, 20_000)).toEqual([
      10_000, 11_000, 12_000,
    ])
  })

  test('a job that used to run only when asked for has none up to the edit', () => {
    expect(due({ oldSchedules: [{ schedule: null, until: 12_000 }] }).next(9000)).toBe(13_000)
  })

  test('old schedules that the cursor has passed are dropped', () => {
    const kept = { schedule: every(400), until: 11_200 }
    const instants = due({ oldSchedules: [{ schedule: every(300), until: 10_500 }, kept] })
    expect(instants.notPassed(11_200)).toEqual([kept])
    expect(instants.notPassed(11_201)).toEqual([])
  })
})

describe('stretches', () => {
  test('one of each judgement in turn, bounded by the horizon', () => {
    const judge = (at: Instant): { judgement: Judgement; until: Instant } =>
      at <= 11_500 ? { judgement: 'missed', until: 11_500 } : { judgement: 'run', until: never }
    expect(due().until(13_999, judge)).toEqual([
      { judgement: 'missed', first: 10_000, beforeLast: 10_000, last: 11_000, count: 2 },
      { judgement: 'run', first: 12_000, beforeLast: 12_000, last: 13_000, count: 2 },
    ])
  })

  test('none where nothing is due', () => {
    expect(due().until(9999, allRun(9999))).toEqual([])
    expect(due({ nextAt: never }).until(99_999, allRun(99_999))).toEqual([])
  })

  test('the horizon itself counts', () => {
    expect(due().until(10_000, allRun(10_000))).toEqual([{ judgement: 'run', first: 10_000, beforeLast: null, last: 10_000, count: 1 }])
  })

  test('beyond the limit of counting the end is still exact', () => {
    const { compile: counted, calls } = counting()
    const horizon = 10_000 + 3 * countLimit * 1000 + 500
    const [stretch, ...others] = new DueInstants(aRow(), counted).until(horizon, allRun(horizon))
    expect(others).toEqual([])
    expect(stretch).toEqual({ judgement: 'run', first: 10_000, beforeLast: horizon - 1500, last: horizon - 500, count: countLimit + 1 })
    expect(calls()).toBeLessThan(countLimit + 100)
  })

  test('beyond the limit of counting sparse and uneven schedules are exact too', () => {
    const burst = Array.from({ length: 50 }, (_, i) => 5_000_000_000 + i)
    const row = aRow({ schedule: listed(...burst), nextAt: 0, oldSchedules: [{ schedule: every(1), until: 200_000 }] })
    const [stretch] = new DueInstants(row, compile).until(9_000_000_000, allRun(9_000_000_000))
    expect(stretch).toMatchObject({ first: 0, beforeLast: 5_000_000_048, last: 5_000_000_049 })
  })

  test('whatever they are cut into, all due instants are in one, once', () => {
    const cuts = fc.uniqueArray(fc.integer({ min: 10_000, max: 14_000 }), { maxLength: 5 }).map(at => at.sort((a, b) => a - b))
    const schedules = fc.constantFrom(every(70), every(250), every(1000), listed(10_000, 10_001, 12_500))
    fc.assert(
      fc.property(schedules, cuts, fc.integer({ min: 9000, max: 15_000 }), (schedule, bounds, horizon) => {
        const row = aRow({ schedule, nextAt: compile(schedule).next(9999) })
        const judge = (at: Instant) => ({ judgement: 'run' as const, until: bounds.find(bound => bound >= at) ?? never })
        const stretches = new DueInstants(row, compile).until(horizon, judge)
        const all = walk(new DueInstants(row, compile), 9999, horizon)
        expect(stretches.flatMap(stretch => all.filter(at => at >= stretch.first && at <= stretch.last))).toEqual(all)
        for (const stretch of stretches) expect(stretch).toEqual(measured(all, stretch))
      }),
    )
  })

  test('opening an instant leaves the rest of its stretch, in one piece or two', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(9), (count, index) => {
        const instants = due()
        const last = 10_000 + (count - 1) * 1000
        const [stretch] = instants.until(last, allRun(last))
        const opened = 10_000 + index * 1000
        const all = walk(instants, 9999, last)
        const rest = instants.without(stretch as Stretch, opened)
        expect(rest.flatMap(part => all.filter(at => at >= part.first && at <= part.last))).toEqual(all.filter(at => at !== opened))
        expect(rest.reduce((sum, part) => sum + part.count, 0)).toBe(all.filter(at => at !== opened).length)
        if (index < count) expect(instants.nth(stretch as Stretch, index)).toBe(opened)
      }),
    )
  })
})

function walk(instants: DueInstants, after: Instant, until: Instant): Instant[] {
  const found: Instant[] = []
  for (let at = instants.next(after); at <= until; at = instants.next(at)) found.push(at)
  return found
}

function measured(all: readonly Instant[], { judgement, first, last }: Stretch): Stretch {
  const inside = all.filter(at => at >= first && at <= last)
  return { judgement, first, beforeLast: inside.at(-2) ?? null, last, count: inside.length }
}
