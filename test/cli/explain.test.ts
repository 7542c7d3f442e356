import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { codeExplained } from '../../src/cli/error-page.ts'
import { cronExplained } from '../../src/cli/explain/fields.ts'
import { errorCodes } from '../../src/domain/errors.ts'
import { root } from '../house/files.ts'
import { folderWith, run, runAll } from './command.ts'

describe('explain a schedule', () => {
  const meanings = (schedule: string): string[] => (cronExplained({ schedule })?.fields ?? []).map(({ meaning }) => meaning)

  test.each([
    ['0 3 * * *', ['0', '3', 'any day', 'every month', 'any day']],
    ['*/15 9-17 1,15 jan-mar MON-FRI', ['0, 15, 30 and 45', '9 to 17', '1 and 15', 'January to March', 'Monday to Friday']],
    [
      '*/2 5/6 LW * FRI-SUN',
      ['every 2nd from 0 to 58', '5, 11, 17 and 23', 'the last working day of the month', 'every month', 'Friday to Sunday'],
    ],
    ['0 0 0 15W * 7', ['0', '0', '0', 'the working day nearest to day 15, within the month', 'every month', 'Sunday']],
    [
      '0 0 0 L 2 FRI#2,MONL */4',
      [
        '0',
        '0',
        '0',
        'the last day of the month',
        'February',
        'the 2nd Friday of the month and the last Monday of the month',
        'years that 4 divides',
      ],
    ],
    ['@monthly', ['0', '0', '1', 'every month', 'any day']],
  ])('%s, field by field', (schedule, expected) => {
    expect(meanings(schedule)).toEqual(expected)
  })

  test('it says what comes, what clock changes do and what is easily got wrong', async () => {
    const { code, stdout } = await run(folderWith(), ['explain', '30 2 13 * FRI', '--tz', 'Europe/Berlin'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^At 02:30, .+, Europe\/Berlin time\n\nfield +says +means\nminute +30 +30\n/)
    expect(stdout).toMatch(/\nNext\n( {2}\d{4}-\d\d-\d\dT02:30:00\+0[12]:00 {2}in .+\n){5}/)
    expect(stdout).toMatch(/\nClock changes within a year\n.+ the clock is set (back|forward) by 1 h\. /)
    expect(stdout).toContain('either is enough. It runs on day 13 of the month, and also on Friday.')
    const daily = await run(folderWith(), ['explain', '30 2 * * *', '--tz', 'Europe/Berlin', '-n', '1'])
    expect(daily.stdout).toMatch(/T02:30:00 does not exist: runs when the clock has jumped over it\.\n/)
    expect(daily.stdout).toMatch(/T02:30:00 comes twice: this is the first pass; .+ the second pass is skipped\.\n/)
  })

  test('traps are told where they are', async () => {
    const calls: readonly (readonly [schedule: string, trap: RegExp])[] = [
      ['*/7 * * * *', /\*\/7 starts again with each hour.+'every 7m'/],
      ['* 3 * * *', /The minute is \*/],
      ['* * * * * *', /Six fields: seconds come first\.[\s\S]+60 times in each minute/],
      ['0 0 31 * *', /Months without that day are passed by/],
      ['0 0 29 2 *', /February has no such day except in leap years/],
      ['0 0 */2 * 1', /\*\/2 in the day of month is a restriction here/],
      ['0 0 * * FRI#5', /only four of that weekday/],
      ['0 3 * * *', /meant in UTC, not in a host's zone/],
      ['every 1d', /midnight UTC, whatever the time zone/],
      ['every 2w', /begin on Thursdays/],
      ['2020-01-01T00:00:00Z', /nothing is left to come[\s\S]+The instant has passed/],
    ]
    const ends = await runAll(calls.map(([schedule]) => ({ args: ['explain', schedule] })))
    for (const [at, [schedule, trap]] of calls.entries()) expect(ends[at]?.stdout, schedule).toMatch(trap)
  })

  test('as JSON it is one document', async () => {
    const { stdout } = await run(folderWith(), ['explain', '@daily', '--tz', 'europe/berlin', '-n', '2', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ kind: 'schedule', schedule: '@daily', words: 'At 00:00, Europe/Berlin time', next: { length: 2 }, clockChanges: { length: 2 } },
      fields: [{ field: 'minute', text: '0', meaning: '0', values: [0] }, {}, { meaning: 'any day' }, {}, {}],
    })
  })
})

describe('explain a code', () => {
  test('every code has its meaning, cause and remedy, word for word as docs/errors.md has them', () => {
    const page = readFileSync(join(root, 'docs/errors.md'), 'utf8').replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    for (const code of errorCodes) {
      const { meaning = '', cause, remedy } = codeExplained(code) ?? {}
      for (const text of [meaning, cause, remedy]) expect(text, code).toMatch(/\w/)
      expect(page).toContain(`| \`${code}\` | ${meaning} | ${cause} | ${remedy} |`)
    }
  })

  test('it needs neither store nor config, and letter case does not matter', async () => {
    const { code, stdout } = await run(folderWith(), ['explain', 'onetick_lease_lost'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ONETICK_LEASE_LOST\n\nThe run no longer holds its job: .+\n\nUsual cause: .+\n\nWhat to do: .+\n$/)
    const json = JSON.parse((await run(folderWith(), ['explain', 'ONETICK_LEASE_LOST', '--json'])).stdout)
    expect(json).toEqual({ kind: 'code', ...codeExplained('ONETICK_LEASE_LOST') })
  })

  test('the codes of warnings are told too', async () => {
    expect((await run(folderWith(), ['explain', 'ONETICK_JOB_FAILED'])).stdout).toMatch(/becomes a Node warning/)
  })
})

test('what is none of the three is refused with what was meant', async () => {
  const calls: readonly (readonly [asked: string, message: RegExp])[] = [
    ['', /^ONETICK_USAGE: What was asked for is empty\. Name a code or a run, or write a schedule/],
    ['ONETICK_NOPE', /^ONETICK_USAGE: There is no code "ONETICK_NOPE"\. All stand in docs\/errors\.md\.\n/],
    ['lease_lost', /^ONETICK_USAGE: 'lease_lost' is no schedule\. Did you mean ONETICK_LEASE_LOST\?\n/],
    ['61 * * * *', /^ONETICK_SCHEDULE: schedule '61 \* \* \* \*': minute '61' is outside 0-59\./],
    ['4711', /^ONETICK_CONFIG_MISSING: No store was named/],
  ]
  const ends = await runAll(calls.map(([asked]) => ({ args: ['explain', asked] })))
  for (const [at, [asked, message]] of calls.entries()) {
    expect(ends[at]?.stderr, asked).toMatch(message)
    expect(ends[at]).toMatchObject({ code: 2, stdout: '' })
  }
})
