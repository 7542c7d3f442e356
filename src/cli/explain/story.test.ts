import { expect, test } from 'vitest'
import { rowWith, runningRow } from '../../../test/kit/rows.ts'
import type { JobRow } from '../../domain/job.ts'
import type { RunView } from '../../store/store.ts'
import type { Occurrence } from '../occurrence.ts'
import { Times } from '../times.ts'
import { storyOf } from './story.ts'

const times = new Times('UTC')
const open = { cause: '', scheduledAt: 1000, openedAt: 1000, attempt: 1, failures: 0, checkpoint: null }

function line(parts: Partial<RunView>): RunView {
  const occurrence = { id: 1, job: 'job', rowId: 1, jobId: 1, cause: '', scheduledAt: 1000, untilAt: 1000, count: 1 }
  const attempt = { attempt: 1, fence: 7, owner: 'a', startedAt: 1020, endedAt: 2020, end: 'succeeded', final: true } as const
  return { ...occurrence, ...attempt, reason: null, error: null, result: null, logTail: null, ...parts }
}

function told(parts: Partial<Occurrence>): string {
  const row: JobRow = rowWith({ nextAt: 60_000, dueAt: 60_000 })
  const none = { now: 3000, job: 'job', cause: '', scheduledAt: 1000, lines: [], row: null, jobRow: row }
  return storyOf({ ...none, ...parts }, times).join('\n')
}

test('what was handed back is gone on with', () => {
  const lines = [
    line({ end: 'handedBack', final: false }),
    line({ id: 2, owner: 'b', attempt: 2, fence: 8, startedAt: 2100, endedAt: 2200 }),
  ]
  expect(told({ lines })).toMatch(
    /a claimed it, .+ 20 ms after it was due, as attempt 1 with fence 7\.\nIt ended .+, after 1\.0 s: handedBack\.\nb went on with what a had handed back, at .+ as attempt 2 with fence 8\./,
  )
})

test('a lease that ran out waits for whoever asks next', () => {
  const row = runningRow({ dueAt: 2500 })
  expect(told({ row, now: 6500 })).toMatch(/The lease was not renewed and ran out 4 s ago: the next replica that asks takes over\./)
  expect(told({ row, now: 2000 })).toMatch(/Its lease runs until 1970-01-01 00:00:02\.500 and is renewed while it runs;/)
})

test('a retry says when it may start, and how many there may be', () => {
  const row = rowWith({ open: { ...open, failures: 1 }, dueAt: 9000 })
  const lines = [line({ end: 'failed', final: false, error: { name: 'Error', message: 'no', stack: null } })]
  expect(told({ row, lines })).toMatch(
    /: failed \(Error: no\)\.\nJust now: waits for attempt 2 .+\nAttempt 2 of at most \d+ may start from 1970-01-01 00:00:09 on/,
  )
})

test('what never started says so, with who judged it and why', () => {
  const lines = [line({ end: 'missed', reason: 'window', attempt: 0, startedAt: null, count: 3, untilAt: 1200 })]
  expect(told({ lines })).toMatch(
    /^3 occurrences of job were due, .+\nNo handler was started for it\.\nTheir verdict is missed: no replica could run it in time\. Why: it was later than the misfire window.+ by a\.\n/,
  )
})

test('what comes next is told as the job stands now', () => {
  const next = (row: Partial<JobRow>): string =>
    told({ lines: [line({})], jobRow: rowWith(row) })
      .split('\n')
      .at(-1) ?? ''
  expect(next({ nextAt: 60_000, dueAt: 60_000 })).toBe('Next it is due at 1970-01-01 00:01:00 (in 57 s).')
  expect(next({ nextAt: 500, dueAt: 500 })).toBe(
    'It has been due again since 1970-01-01 00:00:00.500, and nobody has claimed it. Why: npx onetick doctor',
  )
  const pause = { at: 0, until: Number.POSITIVE_INFINITY, by: null, why: null }
  expect(next({ nextAt: 60_000, dueAt: Number.POSITIVE_INFINITY, pause })).toMatch(/ The job is paused; /)
  expect(next({ removedAt: 5 })).toBe('The job has been removed since: nothing comes next.')
})
