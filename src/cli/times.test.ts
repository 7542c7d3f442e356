import { expect, test } from 'vitest'
import { awayText, iso, lengthText, Times } from './times.ts'

const at = Date.UTC(2026, 9, 25, 0, 30, 0)

test('an instant is said in the zone asked for', () => {
  const berlin = new Times('europe/berlin')
  expect(berlin.zone).toBe('Europe/Berlin')
  expect(berlin.full(at)).toBe('2026-10-25 02:30:00')
  expect(berlin.full(at + 5)).toBe('2026-10-25 02:30:00.005')
  expect(berlin.clock(at)).toBe('02:30:00.000')
  expect(berlin.withOffset(at)).toBe('2026-10-25T02:30:00+02:00')
  expect(berlin.withOffset(at + 3_600_000)).toBe('2026-10-25T02:30:00+01:00')
})

test('the day is said only where it is another', () => {
  const utc = new Times('UTC')
  expect(utc.short(at, at + 1000)).toBe('00:30:00')
  expect(utc.short(at, at - 3_600_000)).toBe('2026-10-25 00:30:00')
})

test('never and unknown are a dash for people and null for programs', () => {
  expect(new Times('UTC').full(Number.POSITIVE_INFINITY)).toBe('–')
  expect(new Times('UTC').full(null)).toBe('–')
  expect(iso(Number.POSITIVE_INFINITY)).toBeNull()
  expect(iso(at)).toBe('2026-10-25T00:30:00.000Z')
})

test.each([
  [0, '0 ms'],
  [999.6, '1.0 s'],
  [1234, '1.2 s'],
  [12_999, '12 s'],
  [252_000, '4 min 12 s'],
  [3_600_000, '1 h'],
  [90_000_000, '1 d 1 h'],
])('%d ms are %s', (ms, text) => {
  expect(lengthText(ms)).toBe(text)
})

test('what is far is said from now', () => {
  expect(awayText(at + 12_345, at)).toBe('in 12 s')
  expect(awayText(at - 5000, at)).toBe('5 s ago')
  expect(awayText(at + 999, at)).toBe('now')
})
