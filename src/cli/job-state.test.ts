import { expect, test } from 'vitest'
import { rowWith, runningRow } from '../../test/kit/rows.ts'
import type { JobRow } from '../domain/job.ts'
import { stateOf } from './job-state.ts'
import { Times } from './times.ts'

const utc = new Times('UTC')
const pause = { at: 0, until: Number.POSITIVE_INFINITY, by: 'ann\n', why: 'fire\u001b[2J drill' }
const waiting = runningRow({ lease: null, dueAt: 5000 })

test.each<[string, JobRow, string, string]>([
  ['idle', rowWith(), 'idle', 'idle'],
  ['due', rowWith({ dueAt: 1500 }), 'due', 'due'],
  ['running', runningRow({ lease: { owner: '8081-0123abcd', claimId: 'c', mayStart: true } }), 'running', 'running on 8081-0123abcd'],
  ['a lease that ran out', runningRow({ dueAt: 1400 }), 'expired', 'held by me, lease ran out'],
  ['waiting for a retry', waiting, 'waiting', 'waits for attempt 2 at 00:00:05'],
  ['paused', rowWith({ pause }), 'paused', 'paused by ann: fire\\u{1b}[2J drill'],
  [
    'paused for a while',
    rowWith({ pause: { ...pause, until: 60_000, by: null, why: null } }),
    'paused',
    'paused until 1970-01-01 00:01:00',
  ],
  ['a pause that is over', rowWith({ pause: { ...pause, until: 100 } }), 'idle', 'idle'],
  ['removed', rowWith({ removedAt: 100, dueAt: Number.POSITIVE_INFINITY }), 'removed', 'removed'],
])('the state of a job that is %s', (_title, row, kind, text) => {
  const state = stateOf(row, 1500)
  expect(state.kind).toBe(kind)
  expect(state.text(utc)).toBe(text)
})
