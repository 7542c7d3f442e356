import { expect, test } from 'vitest'
import { inUnits, parseDuration } from './duration.ts'

test.each([
  ['250ms', 250],
  ['30s', 30_000],
  ['1h30m', 5_400_000],
  ['2d', 172_800_000],
  [1500, 1500],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration('lease', text)).toBe(ms)
})

test.each(['30', '', 's', '1.5s', '-1s', '1 s', '30S', 'NaN', Number.NaN, Number.POSITIVE_INFINITY, 0.5, '9'.repeat(30).concat('s'), null])(
  '%s is refused with what it is for',
  value => {
    expect(() => parseDuration('lease', value as string)).toThrow(/^ONETICK_DURATION: lease is '/)
  },
)

test('a duration outside its bounds names them', () => {
  expect(() => parseDuration('lease', '500ms', { minMs: 1000 })).toThrow(/between 1s and/)
})

test.each([
  [90_000, '90s'],
  [3_600_000, '1h'],
  [1500, '1500ms'],
  [0, '0s'],
])('%d ms reads %s', (ms, text) => {
  expect(inUnits(ms)).toBe(text)
})
