import { describe, expect, test } from 'vitest'
import type { Schedule } from '../domain/timetable.ts'
import { inWords } from './in-words.ts'
import { preview } from './preview.ts'

/** Each line as a text: local time, what the clock does, whether it runs, the note. */
function lines(spec: Schedule, after: string, count: number): string[] {
  return preview(spec, { after: Date.parse(after), count }).map(({ local, clock, runs, times, note }) =>
    [local, clock, ...(runs ? [] : ['skipped']), ...(times === 1 ? [] : [`${times} times`]), note].filter(part => part !== '').join(' | '),
  )
}

const berlin = (schedule: string, dst?: Schedule['dst']): Schedule => ({ schedule, timeZone: 'Europe/Berlin', ...(dst && { dst }) })

describe('preview', () => {
  test('shows local times with their offset', () => {
    expect(lines({ schedule: '0 3 * * *', timeZone: 'Asia/Kathmandu' }, '2026-01-01T00:00Z', 2)).toEqual([
      '2026-01-02T03:00:00+05:45 | plain',
      '2026-01-03T03:00:00+05:45 | plain',
    ])
    expect(lines({ schedule: '0 3 * * *' }, '2026-01-01T00:00Z', 1)).toEqual(['2026-01-01T03:00:00+00:00 | plain'])
    expect(lines({ schedule: '0 3 1 1 *', timeZone: 'Africa/Monrovia' }, '1970-06-01T00:00Z', 1)).toEqual([
      '1971-01-01T03:00:00-00:44:30 | plain',
    ])
  })

  test('marks a run that was shifted out of a gap', () => {
    expect(lines(berlin('30 2 * * *'), '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-29T03:00:00+02:00 | missing | 2026-03-29T02:30:00 does not exist: runs when the clock has jumped over it',
      '2026-03-30T02:30:00+02:00 | plain',
    ])
    expect(lines(berlin('*/1 2 * * *'.replace('*/1', '0-59')), '2026-03-28T12:00Z', 1)).toEqual([
      '2026-03-29T03:00:00+02:00 | missing | 60 times | 2026-03-29T02:00:00 does not exist: runs when the clock has jumped over it',
    ])
  })

  test('shows what a policy skips in a gap, beside a run at the same instant', () => {
    expect(lines(berlin('0 2,3 * * *', { gap: 'skip' }), '2026-03-28T12:00Z', 2)).toEqual([
      '2026-03-29T03:00:00+02:00 | missing | skipped | 2026-03-29T02:00:00 does not exist: skipped',
      '2026-03-29T03:00:00+02:00 | plain',
      '2026-03-30T02:00:00+02:00 | plain',
    ])
  })

  test('shows a date that was struck out', () => {
    expect(lines({ schedule: '0 3 * * *', timeZone: 'Pacific/Apia' }, '2011-12-29T14:00Z', 1)).toEqual([
      '2011-12-31T00:00:00+14:00 | missing | skipped | 2011-12-30T03:00:00 does not exist: skipped',
      '2011-12-31T03:00:00+14:00 | plain',
    ])
  })

  test('marks both passes of a fold, and the one that is skipped', () => {
    expect(lines(berlin('30 2 * * *'), '2026-10-24T12:00Z', 2)).toEqual([
      '2026-10-25T02:30:00+02:00 | first pass | 2026-10-25T02:30:00 comes twice: this is the first pass',
      '2026-10-25T02:30:00+01:00 | second pass | skipped | 2026-10-25T02:30:00 comes twice: the second pass is skipped',
      '2026-10-26T02:30:00+01:00 | plain',
    ])
    expect(lines(berlin('30 2 * * *', { fold: 'last' }), '2026-10-24T12:00Z', 1)).toEqual([
      '2026-10-25T02:30:00+02:00 | first pass | skipped | 2026-10-25T02:30:00 comes twice: the first pass is skipped',
      '2026-10-25T02:30:00+01:00 | second pass | 2026-10-25T02:30:00 comes twice: this is the second pass',
    ])
    expect(lines(berlin('30 2 * * *', { fold: 'both' }), '2026-10-24T12:00Z', 3).map(line => line.slice(0, 38))).toEqual([
      '2026-10-25T02:30:00+02:00 | first pass',
      '2026-10-25T02:30:00+01:00 | second pas',
      '2026-10-26T02:30:00+01:00 | plain',
    ])
  })

  test('tells many skipped times of one fold in one line', () => {
    const [, skipped] = preview(berlin('0-59 0-59 2 * * *'), { after: Date.parse('2026-10-25T00:59:58Z'), count: 2 })
    expect(skipped).toMatchObject({ runs: false, clock: 'second pass', times: 3_600, local: '2026-10-25T02:00:00+01:00' })
  })

  test('skips nothing of a schedule that follows elapsed time', () => {
    expect(lines(berlin('30 * * * *'), '2026-10-24T23:45Z', 3).map(line => line.slice(0, 40))).toEqual([
      '2026-10-25T02:30:00+02:00 | first pass |',
      '2026-10-25T02:30:00+01:00 | second pass ',
      '2026-10-25T03:30:00+01:00 | plain',
    ])
    expect(
      preview(berlin('30 * * * *'), { after: Date.parse('2026-03-29T00:00Z'), count: 5 }).every(({ clock }) => clock === 'plain'),
    ).toBe(true)
  })

  test('makes nothing of a turn of the year', () => {
    expect(lines(berlin('0 1,3 * * *'), '2026-12-31T12:00Z', 2)).toEqual([
      '2027-01-01T01:00:00+01:00 | plain',
      '2027-01-01T03:00:00+01:00 | plain',
    ])
  })

  test('ends with a schedule that ends', () => {
    expect(lines({ schedule: '2027-01-01T00:00:00Z', timeZone: 'Asia/Tokyo' }, '2026-01-01T00:00Z', 5)).toEqual([
      '2027-01-01T09:00:00+09:00 | plain',
    ])
    expect(lines({ schedule: '0 0 0 1 1 ? 2020' }, '2026-01-01T00:00Z', 5)).toEqual([])
  })

  test('ends with a schedule that is skipped for ever', () => {
    const items = preview(berlin('30 2 * 3 SUNL', { gap: 'skip' }), { after: Date.parse('2026-01-01T00:00Z'), count: 5 })
    expect(items).toHaveLength(10)
    expect(items.some(({ runs }) => runs)).toBe(false)
  })

  test.each([0, -1, 1.5, 1_001, Number.NaN, Infinity])('refuses a count of %s', count => {
    expect(() => preview({ schedule: '@daily' }, { after: 0, count })).toThrow('ONETICK_OPTION')
  })
})

describe('in words', () => {
  test.each([
    ['0 3 * * *', 'At 03:00, Europe/Berlin time'],
    ['@daily', 'At 00:00, Europe/Berlin time'],
    ['*/5 * * * *', 'Every 5 minutes, Europe/Berlin time'],
    ['0 9 * * MON-FRI', 'At 09:00, Monday through Friday, Europe/Berlin time'],
    ['0 0 LW * ?', 'At 00:00, on the last weekday of the month, Europe/Berlin time'],
    ['0 0 ? * FRI#2', 'At 00:00, on the second Friday of the month, Europe/Berlin time'],
    ['0 0 12 29 2 ? 2028', 'At 12:00, on day 29 of the month, only in February, only in 2028, Europe/Berlin time'],
    ['0 0 13 * FRI', 'At 00:00, on day 13 of the month; also at 00:00, only on Friday, Europe/Berlin time'],
    ['0 0 1W,15W * *', 'Cron 0 0 0 1W,15W * * *, Europe/Berlin time'],
    ['2027-01-01T09:00', 'Once, at 2027-01-01T09:00:00, Europe/Berlin time'],
    ['2027-01-01T09:00+01:00', 'Once, at 2027-01-01T08:00:00Z'],
    ['every 1h', 'Every hour'],
    ['every 90s', 'Every 1 minute 30 seconds'],
    ['every 2w1ms', 'Every 2 weeks 1 millisecond'],
  ])('%s: %s', (schedule, words) => {
    expect(inWords({ schedule, timeZone: 'Europe/Berlin' })).toBe(words)
  })

  test('UTC is not a place', () => {
    expect(inWords({ schedule: '0 3 * * *' })).toBe('At 03:00, UTC')
  })
})
