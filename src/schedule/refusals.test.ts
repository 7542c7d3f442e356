import { describe, expect, test } from 'vitest'
import { type ErrorCode, OnetickError } from '../domain/errors.ts'
import type { Schedule } from '../domain/timetable.ts'
import { compileSchedule } from './compile.ts'

function refusalOf(spec: unknown): OnetickError {
  try {
    compileSchedule(spec as Schedule)
  } catch (error) {
    if (error instanceof OnetickError) return error
    throw error
  }
  throw new Error(`${JSON.stringify(spec)} was not refused`)
}

const bad: readonly (readonly [schedule: unknown, wrong: string, remedy: string])[] = [
  // The text as a whole.
  ['', 'this is empty', '0 3 * * *'],
  [' \t ', 'this is empty', 'every 30s'],
  [undefined, 'this is not a text', '0 3 * * *'],
  [null, 'this is not a text', '0 3 * * *'],
  [60_000, 'this is not a text', 'every 30s'],
  [{}, 'this is not a text', 'every 30s'],
  [`0 0 * * ${'1,'.repeat(200)}1`, 'longer than 256 characters', 'Split it'],
  ['0 0 * * *\n', "'\\u{a}' is not a character that schedules have", 'docs/schedules.md'],
  ['0 0 * * *\u0000', "'\\u{0}' is not a character", 'docs/schedules.md'],
  ['0 0 * * \u202e1', "'\\u{202e}' is not a character", 'docs/schedules.md'],
  ['٠ 0 * * *', "'٠' is not a character", 'docs/schedules.md'],
  ['0 ０ * * *', "'０' is not a character", 'docs/schedules.md'],
  ['0\u00a00 * * *', 'is not a character', 'docs/schedules.md'],
  ['0 0 * * 1; DROP TABLE jobs', "';' is not a character", 'docs/schedules.md'],
  ['0~30 * * * *', "'~' is not a character", 'jitter'],
  ['* * * *', 'this has 4', "'0 3 * * *'"],
  ['0', 'this has 1', "'0 3 * * *'"],
  ['* * * * * * * *', 'this has 8', "'0 3 * * *'"],
  ['CRON_TZ=Europe/Berlin 0 3 * * *', 'the time zone does not belong here', 'timeZone'],
  ['TZ=UTC 0 3 * * *', 'the time zone does not belong here', 'timeZone'],
  ['@reboot', 'a reboot is not a time', 'when your program starts'],
  ['@every 5m', 'without the @', 'every 30s'],
  ['@fortnightly', "no nickname '@fortnightly'", '@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly'],
  ['@constructor', 'no nickname', '@daily'],
  // Numbers and ranges.
  ['60 * * * *', "minute '60' is outside 0-59", 'from 0 to 59'],
  ['* 24 * * *', "hour '24' is outside 0-23", 'from 0 to 23'],
  ['* * 0 * *', "day of month '0' is outside 1-31", 'from 1 to 31'],
  ['* * 32 * *', "day of month '32' is outside 1-31", 'from 1 to 31'],
  ['* * * 13 *', "month '13' is outside 1-12", 'from 1 to 12'],
  ['* * * 0 *', "month '0' is outside 1-12", 'from 1 to 12'],
  ['* * * * 8', "day of week '8' is outside 0-7", 'from 0 to 7'],
  ['60 * * * * *', "second '60' is outside 0-59", 'from 0 to 59'],
  ['0 0 0 1 1 ? 0', "year '0' is outside 1-9999", 'from 1 to 9999'],
  ['0 0 0 1 1 ? 10000', "year '10000' is outside 1-9999", 'from 1 to 9999'],
  ['99999999999999999999999999 * * * *', 'is outside 0-59', 'from 0 to 59'],
  ['5-1 * * * *', "minute range '5-1' runs backwards", 'Write 5-59,0-1.'],
  ['0 22-2 * * *', "hour range '22-2' runs backwards", 'Write 22-23,0-2.'],
  ['0 0 * NOV-FEB *', "month range 'NOV-FEB' runs backwards", 'Write NOV-DEC,JAN-FEB.'],
  ['0 0 * * FRI-MON', "day of week range 'FRI-MON' runs backwards", 'Write FRI-SAT,SUN-MON.'],
  ['0 0 * * 5-0', "day of week range '5-0' runs backwards", 'Write 5-6,0-0.'],
  ['0 0 * * 7-2', "day of week range '7-2' runs backwards", 'Write 0-2.'],
  ['-5 * * * *', "'-5', which is not a range", 'never negative'],
  ['1-2-3 * * * *', "'1-2-3', which is not a range", '9-17'],
  ['1- * * * *', "'1-', which is not a range", '9-17'],
  ['1,,2 * * * *', 'the list in the minute field has an empty place', '1,15'],
  [',1 * * * *', 'has an empty place', '1,15'],
  ['1, * * * *', 'has an empty place', '1,15'],
  // Steps.
  ['*/0 * * * *', "minute step '0' is not a whole number from 1 to 60", 'every 90m'],
  ['*/90 * * * *', "minute step '90' is not a whole number from 1 to 60", 'every 90m'],
  ['*/1.5 * * * *', "minute step '1.5'", 'every 90m'],
  ['*/-5 * * * *', "minute step '-5'", 'every 90m'],
  ['*/ * * * *', "minute step ''", 'every 90m'],
  ['*/x * * * *', "minute step 'X'", 'every 90m'],
  ['/5 * * * *', "'/5', a step from nowhere", 'Write */5.'],
  ['*/5/2 * * * *', 'more than one /', '*/15'],
  // Words.
  ['0 0 * * MONDAY', "does not understand 'MONDAY'", 'SUN, MON, TUE, WED, THU, FRI, SAT'],
  ['0 0 * JANFEB *', "does not understand 'JANFEB'", 'JAN, FEB'],
  ['0 0 * * SUN6', "does not understand 'SUN6'", 'SUN, MON'],
  ['MON * * * *', "the minute field does not understand 'MON'", 'from 0 to 59'],
  ['H * * * *', "does not understand 'H'", 'from 0 to 59'],
  ['1.5 * * * *', "does not understand '1.5'", 'from 0 to 59'],
  ['0x1 * * * *', "does not understand '0X1'", 'from 0 to 59'],
  ['*5 * * * *', "does not understand '*5'", 'from 0 to 59'],
  ['NaN * * * *', "does not understand 'NAN'", 'from 0 to 59'],
  ['? * * * *', "'?' in the minute field", 'elsewhere write *'],
  ['0 0 * ? *', "'?' in the month field", 'elsewhere write *'],
  ['0 0 ?/2 * *', "'?' in the day of month field", 'stands alone'],
  ['0 0 ?,1 * *', "'?' in the day of month field", 'stands alone'],
  // L, W and #.
  ['0 0 L-3 * *', "('L-3') is not offered", 'Write L'],
  ['0 0 5L * *', "the day of month field does not understand '5L'", 'from 1 to 31'],
  ['0 0 WL * *', "does not understand 'WL'", 'from 1 to 31'],
  ['0 0 W * *', "does not understand 'W'", 'from 1 to 31'],
  ['0 0 0W * *', "day of month '0' is outside 1-31", 'from 1 to 31'],
  ['0 0 32W * *', "day of month '32' is outside 1-31", 'from 1 to 31'],
  ['0 0 1-5W * *', "does not understand '5W'", 'from 1 to 31'],
  ['0 0 15W5 * *', "does not understand '15W5'", 'from 1 to 31'],
  ['0 0 * * L', "a lone 'L' in the day of week field", 'SATL'],
  ['0 0 * * L5', "does not understand 'L5'", 'SUN, MON'],
  ['0 0 * * 8L', "day of week '8' is outside 0-7", 'from 0 to 7'],
  ['0 0 * * 5#0', "'5#0' does not number a weekday", 'FRI#2'],
  ['0 0 * * 5#6', "'5#6' does not number a weekday", 'FRI#2'],
  ['0 0 * * #1', "does not understand ''", 'SUN, MON'],
  ['0 0 * * 5#1#2', 'does not number a weekday', 'FRI#2'],
  ['0 0 * * 1-5#2', "does not understand '1-5'", 'SUN, MON'],
  ['0 0 * * FRI#L', "does not understand 'FRI#L'", 'Write FRIL'],
  ['0 0 1#2 * *', "does not understand '1#2'", 'from 1 to 31'],
  // Intervals.
  ['every', 'is not an interval', 'every 90s'],
  ['every 0s', 'an interval is at least 100 ms', 'every 1s'],
  ['every 99ms', 'an interval is at least 100 ms', 'every 1s'],
  ['every -5s', "'-5s' is not an interval", 'every 90s'],
  ['every 1.5h', "'1.5h' is not an interval", 'every 1h30m'],
  ['every 5', "'5' is not an interval", 'with units'],
  ['every s', "'s' is not an interval", 'whole numbers'],
  ['every NaNs', "'NaNs' is not an interval", 'whole numbers'],
  ['every Infinitys', "'Infinitys' is not an interval", 'whole numbers'],
  ['every 1e3s', "'1e3s' is not an interval", 'whole numbers'],
  ['every 5 minutes', "'5 minutes' is not an interval", 'every 90s'],
  ['every 5M', "'5M' is not an interval", 'every 90s'],
  ['every 30m1h', "'h' comes after a unit that is no larger", 'the largest first'],
  ['every 1h1h', "'h' comes after a unit that is no larger", 'each unit once'],
  ['every 36526d', 'at most 36525 days', 'every 52w'],
  [`every ${'9'.repeat(200)}w`, 'at most 36525 days', 'every 52w'],
  // One-off instants.
  ['2027-01-01', 'this is not a date and time', '2027-01-01T09:00:00Z'],
  ['2027-01-01T09:00:00', 'nothing says which place this local time is of', 'give the job a timeZone'],
  ['2027-01-01 09:00:00Z', 'this is not a date and time', '2027-01-01T09:00:00Z'],
  ['2027-1-1T9:00Z', 'this is not a date and time', '2027-01-01T09:00:00Z'],
  ['2027-01-01T09:00:00.1234Z', 'this is not a date and time', '2027-01-01T09:00:00Z'],
  ['2027-01-01T09:00:00+0100', 'this is not a date and time', '(+01:00)'],
  ['2027-01-01T24:00:00Z', 'a day has no such time', '23:59:59'],
  ['2027-01-01T23:60:00Z', 'a day has no such time', '23:59:59'],
  ['2027-01-01T23:59:60Z', 'a day has no such time', '23:59:59'],
  ['2027-01-01T00:00:00+19:00', "the offset '+19:00' is not one that clocks have", 'or Z'],
  ['2027-01-01T00:00:00+01:60', "the offset '+01:60' is not one that clocks have", 'or Z'],
]

describe('a bad schedule is refused with its value, what is wrong and a remedy', () => {
  test.each(bad)('%j', (schedule, wrong, remedy) => {
    const error = refusalOf({ schedule })
    expect(error.code).toBe('ONETICK_SCHEDULE' satisfies ErrorCode)
    expect(error.message).toMatch(/^ONETICK_SCHEDULE: schedule '/)
    expect(error.message).toContain(wrong)
    expect(error.remedy).toContain(remedy)
    expect(error.message.length).toBeLessThan(450)
  })
})

describe('a schedule that no calendar can fulfil', () => {
  test.each([
    '0 0 30 2 *',
    '0 0 31 2,4,6,9,11 *',
    '0 0 31 FEB,APR ?',
    '0 0 30W 2 *',
    '0 0 0 29 2 ? 2027',
    '0 0 0 29 2 ? 1-9999/2',
    '0 0 0 29 2 ? 2100,2200,2300',
    '0 0 0 ? 2 FRI#5 2025-2027',
    '2027-02-30T00:00:00Z',
    '2027-00-10T00:00:00Z',
    '2027-13-10T00:00:00Z',
    '2027-02-29T00:00:00Z',
    '0000-01-01T00:00:00Z',
  ])('%s', schedule => {
    const error = refusalOf({ schedule })
    expect(error.code).toBe('ONETICK_SCHEDULE_NEVER' satisfies ErrorCode)
    expect(error.message).toContain(`schedule '${schedule}'`)
    expect(error.remedy).toContain('Name a day that exists')
  })

  test('is found out within 10 ms', () => {
    for (const schedule of ['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '0 0 0 29 2 ? 1-9999/2', '0 0 0 30 2 ? */1']) {
      const tookMs = [1, 2, 3].map(() => {
        const startedAt = performance.now()
        refusalOf({ schedule })
        return performance.now() - startedAt
      })
      expect(Math.min(...tookMs), schedule).toBeLessThan(10)
    }
  })
})

describe('a bad time zone is refused', () => {
  test.each([
    ['Mars/X', "is not known to this host's zone data", "such as 'Europe/Berlin'"],
    ['America/NewYork', "is not known to this host's zone data", "Did you mean 'America/New_York'?"],
    ['Europe/berlinn', "is not known to this host's zone data", "such as 'Europe/Berlin'"],
    ['SystemV/PST8', "is not known to this host's zone data", "such as 'Europe/Berlin'"],
    ['systemv/pst8pdt', "is not known to this host's zone data", "such as 'Europe/Berlin'"],
    ['PST', 'America/Los_Angeles', "as in 'Europe/London'"],
    ['BST', 'Asia/Dhaka', "as in 'Europe/London'"],
    ['IST', 'is not the full name of a place', "as in 'Europe/London'"],
    ['EST5EDT', 'is not the full name of a place', "as in 'Europe/London'"],
    ['Japan', 'Asia/Tokyo', "as in 'Europe/London'"],
    ['Nowhere', "is not known to this host's zone data", "such as 'Europe/Berlin'"],
    ['+02:00', 'a distance from UTC', "'Etc/GMT-2'"],
    ['-0500', 'a distance from UTC', "'Etc/GMT+5'"],
    ['UTC+2', 'a distance from UTC', "'Etc/GMT-2'"],
    ['gmt-3', 'a distance from UTC', "'Etc/GMT+3'"],
    ['+05:30', 'a distance from UTC', "'Asia/Kolkata'"],
    ['+15', 'a distance from UTC', "'Asia/Kolkata'"],
    ['-13', 'a distance from UTC', "'Asia/Kolkata'"],
    ['+00:00', 'a distance from UTC', "Write 'UTC'"],
    ['GMT+0', 'a distance from UTC', "Write 'UTC'"],
    ['Z', 'a distance from UTC', "Write 'UTC'"],
    ['', 'is not a name that time zones have', "such as 'Europe/Berlin'"],
    [' Europe/Berlin', 'is not a name that time zones have', "such as 'Europe/Berlin'"],
    ['Europe/Berlin\n', "'Europe/Berlin\\u{a}' is not a name", "such as 'Europe/Berlin'"],
    ['../etc/passwd', 'is not a name that time zones have', "such as 'Europe/Berlin'"],
    ['A/'.repeat(500), 'is not a name that time zones have', "such as 'Europe/Berlin'"],
    [null, 'is not a text', "such as 'Europe/Berlin'"],
    [3, 'is not a text', "such as 'Europe/Berlin'"],
  ])('%j', (timeZone, wrong, remedy) => {
    const error = refusalOf({ schedule: '0 3 * * *', timeZone })
    expect(error.code).toBe('ONETICK_TIME_ZONE' satisfies ErrorCode)
    expect(error.message).toMatch(/^ONETICK_TIME_ZONE: time zone '/)
    expect(error.message).toContain(wrong)
    expect(error.remedy).toContain(remedy)
    expect(error.message.length).toBeLessThan(450)
  })

  test('of an interval too, though it makes no difference there', () => {
    expect(refusalOf({ schedule: 'every 1h', timeZone: 'PST' }).code).toBe('ONETICK_TIME_ZONE')
  })
})

describe('a DST policy there is not is refused', () => {
  test.each([
    [{ gap: 'first' }, "dst.gap 'first' is not 'shift' or 'skip'"],
    [{ gap: null }, "dst.gap 'null' is not 'shift' or 'skip'"],
    [{ fold: 'skip' }, "dst.fold 'skip' is not 'first', 'last' or 'both'"],
    ['skip', "dst 'skip' is not an object"],
    [null, "dst 'null' is not an object"],
  ])('%j', (dst, wrong) => {
    const error = refusalOf({ schedule: '0 3 * * *', dst })
    expect(error.code).toBe('ONETICK_OPTION' satisfies ErrorCode)
    expect(error.message).toContain(wrong)
  })
})
