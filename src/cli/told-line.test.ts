import { expect, test } from 'vitest'
import { Times } from './times.ts'
import { jsonOf, type Told } from './told.ts'
import { lineOf, textOf } from './told-line.ts'

const run = { job: 'A', cause: '', scheduledAt: 5000, attempt: 1, fence: 7 }
const plain = { times: new Times('UTC'), jobWidth: 4, paint: (_tone: string, text: string) => text }

function said(told: Told): string {
  return textOf(lineOf(told), plain)
}

test.each<[string, Told, string]>([
  [
    'a claim',
    { name: 'started', at: 5003, event: { ...run, lateMs: 3, takenOverFrom: null } },
    '00:00:05.003  ▸ claimed     A     00:00:05',
  ],
  [
    'a late claim',
    { name: 'started', at: 9000, event: { ...run, lateMs: 4000, takenOverFrom: null } },
    '00:00:09.000  ▸ claimed     A     00:00:05  4.0 s late',
  ],
  [
    'a takeover',
    { name: 'started', at: 9000, event: { ...run, attempt: 2, lateMs: 4000, takenOverFrom: '8082-0123abcd' } },
    '00:00:09.000  ↻ took over   A     00:00:05  from 8082-0123abcd, attempt 2',
  ],
  [
    'a finish',
    { name: 'settled', at: 5213, event: { ...run, verdict: 'succeeded', durationMs: 210, error: null } },
    '00:00:05.213  ✓ finished    A     00:00:05  210 ms',
  ],
  [
    'a failure, whatever its message',
    {
      name: 'settled',
      at: 5213,
      event: { ...run, verdict: 'failed', durationMs: 9, error: { name: 'Error', message: 'no\n00:00:05 ✓ finished', stack: null } },
    },
    '00:00:05.213  ✗ failed      A     00:00:05  Error: no 00:00:05 ✓ finished',
  ],
  [
    'a run that is handed back',
    { name: 'settled', at: 5213, event: { ...run, verdict: null, durationMs: 9, error: null } },
    '00:00:05.213  · gave back   A     00:00:05  another replica goes on',
  ],
  ['a stand-by', { name: 'stoodBy', at: 5002, event: { dueAt: 5001 } }, '00:00:05.002  · stood by          00:00:05  others had it'],
  [
    'a range that was missed',
    { name: 'judged', at: 90_000, event: { job: 'A', verdict: 'missed', reason: 'window', scheduledAt: 1000, untilAt: 80_000, count: 80 } },
    '00:01:30.000  – missed      A     00:01:20  80 occurrences, outside the misfire window',
  ],
  [
    'a store that fails',
    {
      name: 'storeFailed',
      at: 1,
      event: { during: 'claim', error: new Error('connect postgres://u:pw@h'), code: 'ONETICK_STORE_UNREACHABLE' },
    },
    '00:00:00.001  ! store                       claim: Error: connect postgres://u:***@h',
  ],
])('%s is one line', (_title, told, text) => {
  expect(said(told)).toBe(text)
})

test("a job's name cannot forge a line", () => {
  const text = said({ name: 'leaseLost', at: 5000, event: { ...run, job: 'A\n00:00:09.000  ✓ finished\u001b[1A' } })
  expect([...text].filter(character => character < ' ')).toEqual([])
})

test('as JSON, instants are ISO texts and errors have name and message, without passwords', () => {
  const error = Object.assign(new Error('no postgres://u:s3cret@h'), { stack: 'secret lines' })
  expect(jsonOf({ name: 'planFailed', at: 0, event: { job: 'A', error } })).toEqual({
    event: 'planFailed',
    at: '1970-01-01T00:00:00.000Z',
    job: 'A',
    error: { name: 'Error', message: 'no postgres://u:***@h' },
  })
  expect(jsonOf({ name: 'stoodBy', at: 0, event: { dueAt: 1 } })).toMatchObject({ dueAt: '1970-01-01T00:00:00.001Z' })
})
