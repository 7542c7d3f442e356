// One test for each row of the table of conventions in docs/schedules.md.
import { describe, expect, test } from 'vitest'
import type { Schedule } from '../domain/timetable.ts'
import { assertFires, compileSchedule } from './compile.ts'

/** The first runs later than `after`, in UTC. */
function runs(spec: Schedule, after: string, count = 3): string[] {
  const timetable = compileSchedule(spec)
  const found: string[] = []
  for (let run = timetable.next(Date.parse(after)); found.length < count && run !== Infinity; run = timetable.next(run)) {
    found.push(new Date(run).toISOString().replace('.000Z', 'Z'))
  }
  return found
}

const berlin = (schedule: string, dst?: Schedule['dst']): Schedule => ({ schedule, timeZone: 'Europe/Berlin', ...(dst && { dst }) })

describe('conventions', () => {
  test('a fixed time that falls into a gap runs once, at the first instant after it', () => {
    expect(runs(berlin('30 2 * * *'), '2026-03-28T12:00Z', 2)).toEqual(['2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z'])
    expect(runs(berlin('0,15,30,45 2 * * *'), '2026-03-28T12:00Z', 2)).toEqual(['2026-03-29T01:00:00Z', '2026-03-30T00:00:00Z'])
    expect(runs(berlin('0 2,3 * * *'), '2026-03-28T12:00Z', 2)).toEqual(['2026-03-29T01:00:00Z', '2026-03-30T00:00:00Z'])
  })

  test('a fixed time that comes twice runs at the first pass only', () => {
    expect(runs(berlin('30 2 * * *'), '2026-10-24T12:00Z', 2)).toEqual(['2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z'])
    expect(runs(berlin('0 0-4 * * *'), '2026-10-24T21:30Z', 5)).toEqual([
      '2026-10-24T22:00:00Z',
      '2026-10-24T23:00:00Z',
      '2026-10-25T00:00:00Z',
      '2026-10-25T02:00:00Z',
      '2026-10-25T03:00:00Z',
    ])
  })

  test.each(['*/30 * * * *', '0/30 * * * *', '0,30 * * * *', '0 */30 * * * *', '* 0,30 2 * * *', '0-30/30 2 * * *'])(
    'a star or a step in second, minute or hour follows elapsed time: %s',
    schedule => {
      const halfHours = (after: string, until: string): string[] => [
        ...new Set(
          runs(berlin(schedule), after, 2_000).filter(
            run => (run < until && run.endsWith('00:00Z')) || (run < until && run.endsWith('30:00Z')),
          ),
        ),
      ]
      expect(halfHours('2026-10-24T23:59Z', '2026-10-25T02:00:00Z')).toEqual([
        '2026-10-25T00:00:00Z',
        '2026-10-25T00:30:00Z',
        '2026-10-25T01:00:00Z',
        '2026-10-25T01:30:00Z',
      ])
    },
  )

  test('what follows elapsed time has nothing to make up for in a gap', () => {
    expect(runs(berlin('30 * * * *'), '2026-03-29T00:00Z', 2)).toEqual(['2026-03-29T00:30:00Z', '2026-03-29T01:30:00Z'])
    expect(runs(berlin('0 */2 * * *'), '2026-03-28T22:30Z', 2)).toEqual(['2026-03-28T23:00:00Z', '2026-03-29T02:00:00Z'])
    expect(runs(berlin('*/15 2 * * *'), '2026-03-28T12:00Z', 1)).toEqual(['2026-03-30T00:00:00Z'])
  })

  test('a shift of more than three hours is not made up for', () => {
    expect(runs({ schedule: '0 3 * * *', timeZone: 'Pacific/Apia' }, '2011-12-28T14:00Z', 3)).toEqual([
      '2011-12-29T13:00:00Z',
      '2011-12-30T13:00:00Z',
      '2011-12-31T13:00:00Z',
    ])
    expect(runs({ schedule: '0 3 30 12 *', timeZone: 'Pacific/Apia' }, '2011-06-01T00:00Z', 1)).toEqual(['2012-12-29T13:00:00Z'])
  })

  test('with day of month and day of week both restricted either is enough', () => {
    expect(runs({ schedule: '0 0 13 * FRI' }, '2026-01-01T00:00Z', 4)).toEqual([
      '2026-01-02T00:00:00Z',
      '2026-01-09T00:00:00Z',
      '2026-01-13T00:00:00Z',
      '2026-01-16T00:00:00Z',
    ])
    expect(runs({ schedule: '0 0 31 2 1' }, '2026-01-01T00:00Z', 2)).toEqual(['2026-02-02T00:00:00Z', '2026-02-09T00:00:00Z'])
  })

  test('only a bare star or question mark leaves the day to the other field', () => {
    expect(runs({ schedule: '0 0 * * FRI' }, '2026-01-01T00:00Z', 2)).toEqual(['2026-01-02T00:00:00Z', '2026-01-09T00:00:00Z'])
    expect(runs({ schedule: '0 0 ? * FRI' }, '2026-01-01T00:00Z', 2)).toEqual(['2026-01-02T00:00:00Z', '2026-01-09T00:00:00Z'])
    expect(runs({ schedule: '0 0 13 * ?' }, '2026-01-01T00:00Z', 2)).toEqual(['2026-01-13T00:00:00Z', '2026-02-13T00:00:00Z'])
    expect(runs({ schedule: '0 0 */10 * FRI' }, '2026-01-01T00:00Z', 4).map(run => run.slice(8, 10))).toEqual(['02', '09', '11', '16'])
    expect(runs({ schedule: '0 0 13 * */1' }, '2026-01-01T00:00Z', 2)).toEqual(['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'])
  })

  test('five fields; six have seconds first; seven have the year last', () => {
    expect(runs({ schedule: '5 4 * * *' }, '2026-01-01T00:00Z', 1)).toEqual(['2026-01-01T04:05:00Z'])
    expect(runs({ schedule: '6 5 4 * * *' }, '2026-01-01T00:00Z', 1)).toEqual(['2026-01-01T04:05:06Z'])
    expect(runs({ schedule: '6 5 4 * * * 2030-2031' }, '2026-01-01T00:00Z', 1)).toEqual(['2030-01-01T04:05:06Z'])
  })

  test('0 and 7 are Sunday', () => {
    for (const sunday of ['0', '7', 'SUN', 'sun', '7-7', '0,7']) {
      expect(runs({ schedule: `0 0 * * ${sunday}` }, '2026-01-01T00:00Z', 2), sunday).toEqual([
        '2026-01-04T00:00:00Z',
        '2026-01-11T00:00:00Z',
      ])
    }
  })

  test('a range may end on Sunday', () => {
    for (const weekend of ['SAT-SUN', '6-7', 'sat-sun']) {
      expect(runs({ schedule: `0 0 * * ${weekend}` }, '2026-01-01T00:00Z', 3), weekend).toEqual([
        '2026-01-03T00:00:00Z',
        '2026-01-04T00:00:00Z',
        '2026-01-10T00:00:00Z',
      ])
    }
  })

  test('a/n runs from a to the end of the field', () => {
    expect(runs({ schedule: '50/4 0 * * *' }, '2026-01-01T00:00Z', 4).map(run => run.slice(8, 16))).toEqual([
      '01T00:50',
      '01T00:54',
      '01T00:58',
      '02T00:50',
    ])
    expect(runs({ schedule: '0 0 * * 7/3' }, '2026-01-01T00:00Z', 3).map(run => run.slice(8, 10))).toEqual(['03', '04', '07'])
    expect(runs({ schedule: '0 0 * * 3/2' }, '2026-01-01T00:00Z', 3).map(run => run.slice(8, 10))).toEqual(['02', '07', '09'])
  })

  test('L is the last day of the month, LW the last working day', () => {
    expect(runs({ schedule: '0 0 L * *' }, '2028-01-01T00:00Z', 3).map(run => run.slice(5, 10))).toEqual(['01-31', '02-29', '03-31'])
    expect(runs({ schedule: '0 0 LW * *' }, '2026-01-01T00:00Z', 3).map(run => run.slice(5, 10))).toEqual(['01-30', '02-27', '03-31'])
  })

  test('nW is the working day nearest to the nth, within the month, and short months are passed by', () => {
    expect(runs({ schedule: '0 0 1W * *' }, '2026-07-15T00:00Z', 2).map(run => run.slice(5, 10))).toEqual(['08-03', '09-01'])
    expect(runs({ schedule: '0 0 15W * *' }, '2026-02-01T00:00Z', 2).map(run => run.slice(5, 10))).toEqual(['02-16', '03-16'])
    expect(runs({ schedule: '0 0 31W * *' }, '2026-01-01T00:00Z', 3).map(run => run.slice(5, 10))).toEqual(['01-30', '03-31', '05-29'])
  })

  test('FRI#2 is the second Friday and FRIL the last', () => {
    expect(runs({ schedule: '0 0 * * FRI#2' }, '2026-01-01T00:00Z', 2).map(run => run.slice(5, 10))).toEqual(['01-09', '02-13'])
    expect(runs({ schedule: '0 0 * * 5#5' }, '2026-01-01T00:00Z', 2).map(run => run.slice(5, 10))).toEqual(['01-30', '05-29'])
    expect(runs({ schedule: '0 0 * * FRIL' }, '2026-01-01T00:00Z', 2).map(run => run.slice(5, 10))).toEqual(['01-30', '02-27'])
    expect(runs({ schedule: '0 0 * * 7L' }, '2026-01-01T00:00Z', 2).map(run => run.slice(5, 10))).toEqual(['01-25', '02-22'])
  })

  test('years that have passed are refused for a new job, and no trouble for a stored one', () => {
    const past = { schedule: '0 0 0 1 1 ? 2020' }
    expect(compileSchedule(past).next(Date.parse('2026-01-01T00:00Z'))).toBe(Infinity)
    expect(() => assertFires(past, Date.parse('2026-01-01T00:00Z'))).toThrow(
      "ONETICK_SCHEDULE_NEVER: schedule '0 0 0 1 1 ? 2020' in UTC has no instant later than 2026-01-01T00:00:00Z.",
    )
    expect(assertFires(past, Date.parse('2019-01-01T00:00Z'))).toBe(compileSchedule(past))
  })

  test('the instant asked from is excluded, and its milliseconds count', () => {
    const daily = compileSchedule({ schedule: '0 0 * * *' })
    const midnight = Date.parse('2026-01-02T00:00Z')
    expect(daily.next(midnight)).toBe(midnight + 86_400_000)
    expect(daily.next(midnight - 1)).toBe(midnight)
    expect(daily.next(midnight - 0.5)).toBe(midnight)
    expect(daily.next(midnight + 999)).toBe(midnight + 86_400_000)
  })
})

describe('the DST policy of a job', () => {
  test("gap 'skip' passes a missing time by", () => {
    expect(runs(berlin('30 2 * * *', { gap: 'skip' }), '2026-03-28T12:00Z', 1)).toEqual(['2026-03-30T00:30:00Z'])
  })

  test("fold 'last' takes the second pass, 'both' takes both", () => {
    expect(runs(berlin('30 2 * * *', { fold: 'last' }), '2026-10-24T12:00Z', 2)).toEqual(['2026-10-25T01:30:00Z', '2026-10-26T01:30:00Z'])
    expect(runs(berlin('30 2 * * *', { fold: 'both' }), '2026-10-24T12:00Z', 2)).toEqual(['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'])
  })

  test('says nothing about schedules that follow elapsed time', () => {
    const plain = runs(berlin('*/20 * * * *'), '2026-10-24T22:00Z', 20)
    expect(runs(berlin('*/20 * * * *', { gap: 'shift', fold: 'first' }), '2026-10-24T22:00Z', 20)).toEqual(plain)
    expect(runs(berlin('30 * * * *', { gap: 'shift' }), '2026-03-29T00:00Z', 2)).toEqual(['2026-03-29T00:30:00Z', '2026-03-29T01:30:00Z'])
  })
})

describe('rare days', () => {
  test('a leap day waits for a leap year, across 2100 too', () => {
    expect(runs({ schedule: '0 12 29 2 *' }, '2095-01-01T00:00Z', 3)).toEqual([
      '2096-02-29T12:00:00Z',
      '2104-02-29T12:00:00Z',
      '2108-02-29T12:00:00Z',
    ])
    expect(runs({ schedule: '0 0 0 29 2 ? 2400', timeZone: 'America/New_York' }, '2026-01-01T00:00Z')).toEqual(['2400-02-29T05:00:00Z'])
  })

  test('a fifth Monday in February comes once in 28 years, or in 40', () => {
    expect(runs({ schedule: '0 0 * 2 MON#5' }, '2026-01-01T00:00Z', 4).map(run => run.slice(0, 4))).toEqual([
      '2044',
      '2072',
      '2112',
      '2140',
    ])
  })

  test('the last instant of the last year is the last', () => {
    expect(runs({ schedule: '59 59 23 31 12 ? 9999' }, '2026-01-01T00:00Z')).toEqual(['9999-12-31T23:59:59Z'])
    expect(runs({ schedule: '* * * * *' }, '9999-12-31T23:58Z')).toEqual(['9999-12-31T23:59:00Z'])
  })
})
