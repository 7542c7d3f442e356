import { describe, expect, test } from 'vitest'
import { compileSchedule } from './compile.ts'

describe('compiling', () => {
  test('jobs that share expression, zone and policy share one timetable', () => {
    const one = compileSchedule({ schedule: '0 3 * * *', timeZone: 'Europe/Berlin' })
    expect(compileSchedule({ schedule: '0 3 * * *', timeZone: 'Europe/Berlin' })).toBe(one)
    expect(compileSchedule({ schedule: '0 3 * * *', timeZone: 'Europe/Paris' })).not.toBe(one)
    expect(compileSchedule({ schedule: '0 3 * * *', timeZone: 'Europe/Berlin', dst: { gap: 'skip' } })).not.toBe(one)
    expect(compileSchedule({ schedule: '0 4 * * *', timeZone: 'Europe/Berlin' })).not.toBe(one)
  })

  test('what was kept lets nothing pass that would be refused', () => {
    compileSchedule({ schedule: '0 3 * * *' })
    compileSchedule({ schedule: '2027-01-01T09:00:00', timeZone: 'UTC' })
    expect(() => compileSchedule({ schedule: '0 3 * * *', dst: null } as never)).toThrow('ONETICK_OPTION')
    expect(() => compileSchedule({ schedule: ['0 3 * * *'] } as never)).toThrow('ONETICK_SCHEDULE')
    expect(() => compileSchedule({ schedule: '2027-01-01T09:00:00' })).toThrow('ONETICK_SCHEDULE')
  })

  test('only so many are kept', () => {
    const first = compileSchedule({ schedule: 'every 100001ms' })
    for (let ms = 100_002; ms < 105_000; ms++) compileSchedule({ schedule: `every ${ms}ms` })
    expect(compileSchedule({ schedule: 'every 100001ms' })).not.toBe(first)
  })

  test('blanks around and between fields do not matter, nor does letter case', () => {
    const plain = compileSchedule({ schedule: '0 9 * JAN-MAR MON' }).next(0)
    expect(compileSchedule({ schedule: ' \t0  9\t* jan-mar   Mon ' }).next(0)).toBe(plain)
    expect(compileSchedule({ schedule: '@Daily' }).next(0)).toBe(86_400_000)
  })

  test('nobody asks for the time that has no figures', () => {
    for (const schedule of ['* * * * *', 'every 1s', '2027-01-01T00:00:00Z']) {
      expect(compileSchedule({ schedule }).next(Number.NaN)).toBe(Infinity)
      expect(compileSchedule({ schedule }).next(Infinity)).toBe(Infinity)
      expect(compileSchedule({ schedule }).next(-Infinity)).toBeLessThan(Date.UTC(2027, 0, 2))
    }
  })
})

describe('nicknames', () => {
  test.each([
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
    ['@monthly', '0 0 1 * *'],
    ['@weekly', '0 0 * * 0'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@hourly', '0 * * * *'],
  ])('%s is %s', (nickname, expression) => {
    const after = Date.parse('2026-05-05T05:05Z')
    expect(compileSchedule({ schedule: nickname }).next(after)).toBe(compileSchedule({ schedule: expression }).next(after))
  })
})

describe('intervals', () => {
  test.each([
    ['every 100ms', 100],
    ['every 30s', 30_000],
    ['EVERY 5m', 300_000],
    ['every1h', 3_600_000],
    ['every 1h30m', 5_400_000],
    ['every 1h 30m', 5_400_000],
    ['every 1w2d3h4m5s6ms', 788_645_006],
    ['every 2147483648ms', 2_147_483_648],
    ['every 36525d', 36_525 * 86_400_000],
  ])('%s', (schedule, everyMs) => {
    const timetable = compileSchedule({ schedule })
    const after = 5 * everyMs + 1
    expect(timetable.next(after)).toBe(6 * everyMs)
    expect(timetable.next(6 * everyMs)).toBe(7 * everyMs)
    expect(timetable.next(-1)).toBe(0)
    expect(timetable.next(-1 - everyMs)).toBe(-everyMs)
  })

  test('are anchored to the epoch, wherever the job is', () => {
    const after = Date.parse('2026-03-29T00:10Z')
    for (const timeZone of ['UTC', 'Europe/Berlin', 'Asia/Kathmandu']) {
      expect(compileSchedule({ schedule: 'every 1h', timeZone }).next(after)).toBe(Date.parse('2026-03-29T01:00Z'))
    }
  })

  test('stay exact far ahead', () => {
    const timetable = compileSchedule({ schedule: 'every 100ms' })
    expect(timetable.next(253_402_300_799_899)).toBe(253_402_300_799_900)
  })
})

describe('one-off instants', () => {
  test.each([
    ['2027-01-01T00:00:00Z', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T00:00Z', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01t00:00:00z', '2027-01-01T00:00:00.000Z'],
    ['2027-01-01T00:00:00.25Z', '2027-01-01T00:00:00.250Z'],
    ['2027-01-01T00:00:00+05:30', '2026-12-31T18:30:00.000Z'],
    ['2027-01-01T00:00:00-09:30', '2027-01-01T09:30:00.000Z'],
    ['2028-02-29T12:00:00-00:00', '2028-02-29T12:00:00.000Z'],
  ])('%s', (schedule, instant) => {
    const timetable = compileSchedule({ schedule, timeZone: 'Asia/Tokyo' })
    expect(timetable.next(0)).toBe(Date.parse(instant))
    expect(timetable.next(Date.parse(instant) - 1)).toBe(Date.parse(instant))
    expect(timetable.next(Date.parse(instant))).toBe(Infinity)
  })

  test('a local one is of the zone of the job', () => {
    const at = (schedule: string, dst = {}): number => compileSchedule({ schedule, timeZone: 'Europe/Berlin', dst }).next(0)
    expect(at('2027-01-01T09:00:00')).toBe(Date.parse('2027-01-01T08:00Z'))
    expect(at('2027-07-01T09:00:00.5')).toBe(Date.parse('2027-07-01T07:00:00.500Z'))
  })

  test('a local one obeys the DST policy', () => {
    const all = (schedule: string, dst = {}): string[] => {
      const timetable = compileSchedule({ schedule, timeZone: 'Europe/Berlin', dst })
      const found: string[] = []
      for (let run = timetable.next(0); run !== Infinity; run = timetable.next(run)) found.push(new Date(run).toISOString().slice(5, 16))
      return found
    }
    expect(all('2026-03-29T02:30:00')).toEqual(['03-29T01:00'])
    expect(all('2026-03-29T02:30:00', { gap: 'skip' })).toEqual([])
    expect(all('2026-10-25T02:30:00')).toEqual(['10-25T00:30'])
    expect(all('2026-10-25T02:30:00', { fold: 'last' })).toEqual(['10-25T01:30'])
    expect(all('2026-10-25T02:30:00', { fold: 'both' })).toEqual(['10-25T00:30', '10-25T01:30'])
  })
})
