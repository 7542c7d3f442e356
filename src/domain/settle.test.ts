import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRow, never, type RowParts } from '../../test/conformance/rows.ts'
import { type JobRow, leaseTask } from './job.ts'
import { holds, type RunEnd, settled } from './settle.ts'

const now = 10_500
const successor = { rev: 1, nextAt: 11_000, afterAt: 12_000 }
const succeeded: RunEnd = { kind: 'final', verdict: 'succeeded', successor }
const threw: RunEnd = { kind: 'retry', backoffMs: 200, successor, error: { name: 'Error', message: 'no', stack: null } }
const handedBack: RunEnd = { kind: 'handBack', started: true, successor }

/** Runs the instant 10,000 since 10,010; the next stands at 11,000, what follows is not known. */
function running(parts: RowParts = {}): JobRow {
  return aRow({
    nextAt: 11_000,
    afterAt: null,
    acquiredAt: 10_010,
    dueAt: 13_010,
    lease: {},
    ...parts,
    open: parts.open === null ? null : { scheduledAt: 10_000, openedAt: 10_010, ...parts.open },
  })
}

describe('a run that ended for good', () => {
  test('leaves one final line', () => {
    const end: RunEnd = { kind: 'final', verdict: 'succeeded', successor: null, result: { n: 1 }, logTail: 'done' }
    expect(settled(running({ open: { attempt: 2 } }), end, now).lines).toEqual([
      {
        rowId: 1,
        jobId: 1,
        cause: '',
        scheduledAt: 10_000,
        untilAt: 10_000,
        count: 1,
        attempt: 2,
        fence: 7,
        owner: 'a',
        startedAt: 10_010,
        endedAt: now,
        end: 'succeeded',
        final: true,
        reason: null,
        error: null,
        result: { n: 1 },
        logTail: 'done',
      },
    ])
  })

  test('frees the row until its next instant', () => {
    const { row } = settled(running(), succeeded, now)
    expect(row).toMatchObject({
      open: null,
      lease: null,
      dueAt: 11_000,
      fence: 7,
      lastCause: '',
      lastAt: 10_000,
      lastOwner: 'a',
      endedAt: now,
    })
  })

  test('takes the successor computed for this cursor', () => expect(settled(running(), succeeded, now).row?.afterAt).toBe(12_000))

  // D1, L3
  test('refuses a successor computed before an edit', () => expect(settled(running({ rev: 2 }), succeeded, now).row?.afterAt).toBe(null))
  test('refuses a successor of another cursor', () => expect(settled(running({ nextAt: 11_500 }), succeeded, now).row?.afterAt).toBe(null))
  test('keeps a successor that is known already', () =>
    expect(settled(running({ afterAt: 11_700 }), succeeded, now).row?.afterAt).toBe(11_700))

  test('keeps what came due since its first grant for overlap skip', () => {
    expect(settled(running({ open: { attempt: 2, openedAt: 10_003 } }), succeeded, now).row?.busy).toEqual({ from: 10_003, until: now })
    for (const overlap of ['queue', 'replace'] as const)
      expect(settled(running({ policy: { overlap } }), succeeded, now).row?.busy).toBe(null)
  })

  test('joins that to a busy range which the cursor has not passed', () => {
    expect(settled(running({ nextAt: 9200, busy: { from: 9000, until: 9200 } }), succeeded, now).row?.busy).toEqual({
      from: 9000,
      until: now,
    })
    expect(settled(running({ nextAt: 9201, busy: { from: 9000, until: 9200 } }), succeeded, now).row?.busy).toEqual({
      from: 10_010,
      until: now,
    })
  })

  test('by hand leaves the last scheduled instant as it was', () => {
    expect(settled(running({ open: { cause: 'm' }, lastAt: 5000 }), succeeded, now).row).toMatchObject({ lastCause: 'm', lastAt: 5000 })
  })

  test('does not move the last instant back behind one that was skipped ahead of time', () => {
    expect(settled(running({ lastAt: 11_000 }), succeeded, now).row?.lastAt).toBe(11_000)
  })

  test('makes way at once for what was asked for meanwhile', () =>
    expect(settled(running({ asked: 1 }), succeeded, now).row?.dueAt).toBe(now))

  test('of a job removed meanwhile ends it', () => {
    expect(settled(running({ removedAt: 10_100, nextAt: never, rev: 2 }), succeeded, now).row).toMatchObject({ dueAt: never, open: null })
  })

  test('of a job paused meanwhile is not claimed before the pause ends', () => {
    const pause = { at: 10_100, until: 15_000, by: null, why: null }
    expect(settled(running({ pause }), succeeded, now).row?.dueAt).toBe(15_000)
  })

  test('takes an extra row with it', () => {
    const { row, lines } = settled(running({ parent: { id: 5, fence: 6 }, policy: { overlap: 'allow' } }), succeeded, now)
    expect(row).toBe(null)
    expect(lines).toEqual([expect.objectContaining({ rowId: 1, jobId: 5, final: true })])
  })
})

describe('a run that threw', () => {
  test('is failed where no retry is left', () => {
    expect(settled(running(), threw, now)).toMatchObject({
      row: { open: null },
      lines: [{ end: 'failed', final: true, error: { message: 'no' } }],
    })
  })

  test('waits for its retry, counted', () => {
    expect(settled(running({ policy: { retries: 1 } }), threw, now)).toMatchObject({
      row: { open: { attempt: 1, failures: 1 }, lease: null, dueAt: now + 200 },
      lines: [{ end: 'failed', final: false }],
    })
  })

  test('waits no longer than to the next instant', () => {
    expect(settled(running({ policy: { retries: 1 } }), { ...threw, backoffMs: 60_000 }, now).row?.dueAt).toBe(11_000)
  })

  test('is failed where no attempt is left, whatever retries remain', () => {
    const row = running({ policy: { retries: 9, maxAttempts: 2 }, open: { attempt: 2, failures: 1 } })
    expect(settled(row, threw, now)).toMatchObject({ row: { open: null }, lines: [{ end: 'failed', final: true }] })
  })
})

describe('a run handed back', () => {
  test('is due at once, for its next attempt', () => {
    expect(settled(running(), handedBack, now)).toMatchObject({
      row: { open: { attempt: 1 }, lease: null, dueAt: now },
      lines: [{ end: 'handedBack', final: false }],
    })
  })

  test('before it started has used up no attempt and leaves no line', () => {
    expect(settled(running(), { ...handedBack, started: false }, now)).toMatchObject({
      row: { open: { attempt: 0 }, dueAt: now },
      lines: [],
    })
  })

  test('after it started is abandoned where it may not start again', () => {
    for (const policy of [{ takeOver: false }, { maxAttempts: 1 }]) {
      const { row, lines } = settled(running({ policy }), handedBack, now)
      expect(row?.open).toBe(null)
      expect(lines).toEqual([expect.objectContaining({ end: 'abandoned', reason: 'handedBack', final: true })])
    }
  })

  test('while paused waits for the end of the pause', () => {
    const pause = { at: 10_100, until: 15_000, by: null, why: null }
    expect(settled(running({ pause }), handedBack, now).row?.dueAt).toBe(15_000)
  })
})

describe('a lease by name let go', () => {
  const lease = (parts: RowParts = {}) => running({ task: leaseTask, schedule: null, nextAt: never, afterAt: never, ...parts })

  test('is free from then on', () => {
    expect(settled(lease({ open: null }), succeeded, now)).toEqual({
      row: { ...lease({ open: null }), lease: null, lastOwner: 'a', endedAt: now, dueAt: now },
      lines: [],
    })
  })

  test('remembers the instant it stood for', () => {
    expect(settled(lease(), succeeded, now)).toMatchObject({
      row: { open: null, lastAt: 10_000, dueAt: now },
      lines: [{ final: true, end: 'succeeded' }],
    })
  })

  test('for another attempt keeps it open', () => {
    expect(settled(lease(), threw, now)).toMatchObject({
      row: { open: { failures: 1 }, lastAt: null },
      lines: [{ final: false, end: 'failed' }],
    })
    expect(settled(lease(), handedBack, now)).toMatchObject({ row: { open: { attempt: 1 } }, lines: [{ final: false, end: 'handedBack' }] })
    expect(settled(lease(), { ...handedBack, started: false }, now)).toMatchObject({ row: { open: { attempt: 0 } }, lines: [] })
  })
})

test('S4: a row is held by its owner under its fence, and by nothing else', () => {
  const row = running()
  expect(holds(row, { owner: 'a', fence: 7 })).toBe(true)
  for (const held of [
    { owner: 'b', fence: 7 },
    { owner: 'a', fence: 6 },
    { owner: 'a', fence: 8 },
  ])
    expect(holds(row, held)).toBe(false)
  expect(holds({ ...row, lease: null }, { owner: 'a', fence: 7 })).toBe(false)
  expect(holds(undefined, { owner: 'a', fence: 7 })).toBe(false)
})

test('S8: however a run ends, an occurrence ends with its attempts or its retries', () => {
  const attempts = fc
    .record({ attempt: fc.integer({ min: 1, max: 5 }), failures: fc.nat(4) })
    .filter(({ attempt, failures }) => failures < attempt)
  const policies = fc.record({ maxAttempts: fc.integer({ min: 1, max: 5 }), retries: fc.nat(4), takeOver: fc.boolean() })
  fc.assert(
    fc.property(attempts, policies, fc.constantFrom(succeeded, threw, handedBack), (open, policy, end) => {
      const { row, lines } = settled(running({ open, policy }), end, now)
      expect(lines).toHaveLength(1)
      expect(lines[0]?.final).toBe(row?.open === null)
      if (row?.open == null) return
      expect(row.open.attempt).toBeLessThan(policy.maxAttempts)
      expect(row.open.failures).toBeLessThanOrEqual(Math.max(policy.retries, open.failures))
    }),
  )
})
