import { expect, test } from 'vitest'
import { layOut } from './table.ts'
import { cut, idText, oneLine, printable, widthOf, withoutPasswords } from './text.ts'

test.each([
  ['a\nb\r\nc', 'a\\u{a}b\\u{d}\\u{a}c'],
  ['\u001b[31mred\u001b[0m', '\\u{1b}[31mred\\u{1b}[0m'],
  ['\u202ereversed', '\\u{202e}reversed'],
  ['zero\u200bwidth', 'zero\\u{200b}width'],
  ['half a pair \ud800', 'half a pair \\u{d800}'],
  ['<b>Grüße 世界</b>', '<b>Grüße 世界</b>'],
])('no control or invisible character of %j is printed as it is', (text, expected) => {
  expect(printable(text)).toBe(expected)
})

test('a text with line breaks stays on one line', () => {
  expect(oneLine(' a\r\nfinished  b\t\u001b[2J ')).toBe('a finished b \\u{1b}[2J')
})

test.each([
  ['postgres://app:s3cret@db:5432/x', 'postgres://app:***@db:5432/x'],
  ['at postgres://app:p@ss/w@rd@db/x: refused', 'at postgres://app:***@db/x: refused'],
  ['postgres://:only@db/x', 'postgres://:***@db/x'],
  ['host=db password=s3cret user=app', 'host=db password=*** user=app'],
  ["password='a b' x", 'password=*** x'],
  ['postgres://db/x?user=app&password=s3cret&ssl=1', 'postgres://db/x?user=app&password=***&ssl=1'],
  ['postgres://app@db:5432/x', 'postgres://app@db:5432/x'],
  ['http://127.0.0.1:8081/ at 12:30', 'http://127.0.0.1:8081/ at 12:30'],
])('the password of %j is not shown', (text, expected) => {
  expect(withoutPasswords(text)).toBe(expected)
})

test('a text is cut to the columns it has, wide scripts counted twice', () => {
  expect(widthOf('世界 e\u0301')).toBe(6)
  expect(cut('世界世界', 5)).toBe('世界…')
  expect(cut('short', 5)).toBe('short')
})

test('columns are aligned, whatever stands in them', () => {
  const rows = [
    { name: '世界', count: 1 },
    { name: 'a long name', count: 1000 },
  ]
  const laid = layOut(
    [
      { title: 'name', text: row => row.name, atMost: 8 },
      { title: 'count', text: row => String(row.count), align: 'right' },
      { title: '', text: () => '' },
    ],
    rows,
  )
  expect([laid.head, ...laid.rows]).toEqual(['name      count', '世界          1', 'a long …   1000'])
})

test('two replicas of one host are told apart, however long its name', () => {
  const host = 'a-pod-whose-name-is-longer-than-any-column-could-be-7d4b9c-x2x4z'
  const [first, second] = ['0123abcd', '89ab4567'].map(own => idText(`${host}-${own}`))
  expect(first).toMatch(/^a-pod-whose-.+…-0123abcd$/)
  expect(first).toHaveLength(40)
  expect(second).not.toBe(first)
  expect(idText('pod-0123abcd')).toBe('pod-0123abcd')
})
