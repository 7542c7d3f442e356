import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { OnetickError } from '../domain/errors.ts'
import type { DstPolicy, Schedule, Timetable } from '../domain/timetable.ts'
import { assertFires, compileSchedule } from './compile.ts'
import { preview } from './preview.ts'
import { zoneOf } from './zone.ts'

const soaking = process.env['ONETICK_SOAK'] === '1'
const cases = (count: number): number => (soaking ? count * 200 : count)
const timeout = soaking ? 3_600_000 : 60_000

// A dozen kinds of clock; all the others are walked through in brute-force.test.ts.
const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'Africa/Casablanca',
  'America/Havana',
  'Asia/Amman',
  'America/Nuuk',
  'Asia/Pyongyang',
  'Pacific/Apia',
  'Asia/Kathmandu',
]
const HOUR = 3_600_000

const schedules: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '* * * * *',
    '* * * * * *',
    '*/7 * * * *',
    '30 2 * * *',
    '0,30 0-5 * * *',
    '0 0 * * *',
    '59 59 23 * * *',
    '15 1,2,3 * * SUN',
  ),
  fc.constantFrom('0 12 29 2 *', '0 0 L * *', '0 3 LW * *', '0 0 1 1 FRI#1', '0 0 0 1 1 ? 2000/7', '0 2-3 28-31 3,10 *'),
  fc.constantFrom(
    'every 100ms',
    'every 30s',
    'every 1h30m',
    'every 2147483648ms',
    'every 1w',
    '2026-03-29T02:30:00',
    '2026-10-25T02:30:00.5',
  ),
)
const policies = fc.record(
  { gap: fc.constantFrom('shift', 'skip'), fold: fc.constantFrom('first', 'last', 'both') },
  { requiredKeys: [] },
) as fc.Arbitrary<DstPolicy>
const specs: fc.Arbitrary<Schedule> = fc.record({ schedule: schedules, timeZone: fc.constantFrom(...zones), dst: policies })

/** Mostly instants near a clock change of the years that a zone keeps in memory, now and then any instant at all. */
const instantsOf = ({ timeZone = 'UTC' }: Schedule): fc.Arbitrary<number> => {
  const recent = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2040, 0, 1) })
  const away = fc.integer({ min: -3 * HOUR, max: 3 * HOUR })
  return fc.oneof(
    { weight: 12, arbitrary: fc.tuple(recent, away).map(([near, by]) => Math.max(zoneOf(timeZone).spanAt(near).from, 0) + by) },
    { weight: 12, arbitrary: recent },
    { weight: 1, arbitrary: fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true }) },
  )
}

const specsAndInstants = specs.chain(spec => fc.record({ spec: fc.constant(spec), after: instantsOf(spec) }))

describe('every schedule, zone, policy and instant', () => {
  test('the next instant is later, and whole', { timeout }, () => {
    fc.assert(
      fc.property(specsAndInstants, ({ spec, after }) => {
        const timetable = compileSchedule(spec)
        for (let from = after, runs = 0; runs < 5; runs++) {
          const next = timetable.next(from)
          expect(next).toBeGreaterThan(from)
          if (next === Infinity) return
          expect(Number.isSafeInteger(next)).toBe(true)
          from = next
        }
      }),
      { numRuns: cases(6_000) },
    )
  })

  test('whatever lies between an instant and its next has the same next', { timeout }, () => {
    fc.assert(
      fc.property(specsAndInstants, fc.double({ min: 0, max: 1, noNaN: true }), ({ spec, after }, part) => {
        const timetable = compileSchedule(spec)
        const next = timetable.next(after)
        const between = next === Infinity ? after + part * 1e12 : Math.min(after + (next - after) * part, next - 1)
        expect(timetable.next(Math.max(after, between))).toBe(next)
      }),
      { numRuns: cases(6_000) },
    )
  })

  test('the preview shows the runs of the timetable, in order', { timeout }, () => {
    fc.assert(
      fc.property(specsAndInstants, ({ spec, after }) => {
        const items = preview(spec, { after, count: 5 })
        const timetable = compileSchedule(spec)
        const runs = items.filter(item => item.runs).map(item => item.instant)
        expect(runs).toEqual(firstRuns(timetable, after, runs.length))
        expect(runs.length === 5 || items.length >= 10 || timetable.next(runs[runs.length - 1] ?? after) === Infinity).toBe(true)
        expect(items.every((item, index) => item.instant >= (items[index - 1]?.instant ?? after))).toBe(true)
      }),
      { numRuns: cases(1_500) },
    )
  })
})

describe('hostile input', () => {
  const cronCharacters = fc.string({ unit: fc.constantFrom(...'0123456789*?/,-#LW MONSUNJAN'), maxLength: 256 })
  const almostCron = fc.array(fc.string({ unit: fc.constantFrom(...'0123456789*/,-#LW?'), minLength: 1, maxLength: 8 }), {
    minLength: 5,
    maxLength: 7,
  })
  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    cronCharacters,
    almostCron.map(fields => fields.join(' ')),
    fc.string({ unit: fc.constantFrom(...'0123456789wdhms.- '), maxLength: 40 }).map(text => `every ${text}`),
    fc.string({ unit: fc.constantFrom(...'0123456789-:TZ+.'), maxLength: 30 }).map(text => `2027-0${text}`),
    fc.string({ maxLength: 20 }).map(text => `@${text}`),
  )

  test('either compiles or is refused with a code, soon', { timeout }, () => {
    fc.assert(
      fc.property(anything, schedule => {
        const startedAt = performance.now()
        try {
          const timetable = compileSchedule({ schedule, timeZone: 'Europe/Berlin' })
          for (let from = Date.UTC(2026, 0, 1), runs = 0; runs < 3 && from !== Infinity; runs++) from = timetable.next(from)
        } catch (error) {
          if (!(error instanceof OnetickError)) throw error
          expect(['ONETICK_SCHEDULE', 'ONETICK_SCHEDULE_NEVER']).toContain(error.code)
          expect(error.message.length).toBeLessThan(450)
        }
        expect(performance.now() - startedAt).toBeLessThan(500)
      }),
      { numRuns: cases(8_000) },
    )
  })

  test('any text for a time zone is a zone or is refused with a code', { timeout }, () => {
    const names = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom(...'AaEeZz/_+-05') }),
      fc.mixedCase(fc.constantFrom(...zones)),
    )
    fc.assert(
      fc.property(names, timeZone => {
        try {
          compileSchedule({ schedule: '0 3 * * *', timeZone })
        } catch (error) {
          if (!(error instanceof OnetickError)) throw error
          expect(error.code).toBe('ONETICK_TIME_ZONE')
        }
      }),
      { numRuns: cases(2_000) },
    )
  })

  test.each([
    ['0 0 0 29 2 ? 2024,2025-9999/2', {}, 'leap days of years that are none'],
    ['30 2 * 3 SUNL', { gap: 'skip' }, 'a day that always falls into the gap'],
    ['0 0 0 1 1 ? 9999', {}, 'eight thousand years ahead'],
  ] as [string, DstPolicy, string][])('%s with %j is found out in bounded time: %s', (schedule, dst, _what) => {
    const spec = { schedule, timeZone: 'Europe/Berlin', dst }
    const startedAt = performance.now()
    try {
      assertFires(spec, Date.UTC(2026, 0, 1))
    } catch (error) {
      expect((error as OnetickError).code).toBe('ONETICK_SCHEDULE_NEVER')
    }
    expect(performance.now() - startedAt).toBeLessThan(500)
  })
})

function firstRuns(timetable: Timetable, after: number, count: number): number[] {
  const runs: number[] = []
  for (let run = timetable.next(after); runs.length < count; run = timetable.next(run)) runs.push(run)
  return runs
}
