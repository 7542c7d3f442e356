import { describe, expect, test } from 'vitest'
import { aRow, never, type RowParts } from '../../test/conformance/rows.ts'
import { dueWhenFree } from './due.ts'
import type { Instant } from './timetable.ts'

const pause = (until: Instant) => ({ at: 8000, until, by: null, why: null })
const now = 9000

const cases: readonly { readonly title: string; readonly row: RowParts; readonly retryAt?: Instant; readonly due: Instant }[] = [
  { title: 'idle: at the cursor', row: {}, due: 10_000 },
  { title: 'idle with jitter: a little after the cursor', row: { policy: { jitterMs: 250 } }, due: 10_250 },
  { title: 'idle without anything to come: never', row: { nextAt: never }, due: never },
  { title: 'idle and asked for: now', row: { asked: 1 }, due: 9000 },
  { title: 'removed: never', row: { removedAt: 8000, asked: 1 }, due: never },
  { title: 'paused: not before the end of the pause', row: { pause: pause(12_000) }, due: 12_000 },
  { title: 'paused until before the cursor: at the cursor', row: { pause: pause(9500) }, due: 10_000 },
  { title: 'paused until resumed: never', row: { pause: pause(never) }, due: never },
  { title: 'paused but asked for: now', row: { pause: pause(never), asked: 1 }, due: 9000 },
  { title: 'waiting: at the end of its back-off', row: { open: {} }, retryAt: 9300, due: 9300 },
  { title: 'waiting longer than to the next instant: there, as it yields to it', row: { open: {} }, retryAt: 15_000, due: 10_000 },
  {
    title: 'waiting with misfire all: the next instant waits',
    row: { open: {}, policy: { misfire: 'all' } },
    retryAt: 15_000,
    due: 15_000,
  },
  { title: 'waiting by hand: it yields to nothing', row: { open: { cause: 'm' } }, retryAt: 15_000, due: 15_000 },
  { title: 'waiting, handed back: now', row: { open: {} }, due: 9000 },
  {
    title: 'waiting and paused: not before the end of the pause, whatever is asked for',
    row: { open: {}, asked: 1, pause: pause(12_000) },
    retryAt: 9300,
    due: 12_000,
  },
]

describe('a row without a lease is due', () => {
  for (const { title, row, retryAt, due } of cases) test(title, () => expect(dueWhenFree(aRow(row), now, retryAt)).toBe(due))
})
