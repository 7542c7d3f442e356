import { describe, expect, test } from 'vitest'
import { compileSchedule } from '../../schedule/index.ts'
import type { RunView } from '../../store/store.ts'
import { type Audit, auditOf, type Tally, type Unsettled } from './audit.ts'
import { History } from './history.ts'

let lineId = 0

function line(scheduledAt: number, changes: Partial<RunView> = {}): RunView {
  return {
    ...{ id: ++lineId, job: 'A', rowId: 1, jobId: 1, cause: '', scheduledAt, untilAt: scheduledAt, count: 1 },
    ...{ attempt: 1, fence: scheduledAt, owner: 'r1', startedAt: scheduledAt, endedAt: scheduledAt + 10 },
    ...{ end: 'succeeded', final: true, reason: null, error: null, result: null, logTail: null },
    ...changes,
  }
}

/** Nothing is left to do of what is counted. */
const done: Unsettled = { job: 'A', nextAt: 4000, open: [] }

/** Every second from 1 to 3. */
function audit(lines: readonly RunView[], history: History, left: Partial<Unsettled> = {}): Audit {
  const jobs = [{ name: 'A', schedule: { schedule: 'every 1s' } }]
  const unsettled = [{ ...done, ...left }]
  return auditOf({ jobs, from: 500, until: 3500, unsettled, lines, runs: history.runs, compile: compileSchedule })
}

/** What each that was due has come to. */
function partsOf({ ran, failed, skipped, superseded, unfinished, waiting, missed }: Tally): number {
  return ran + failed + skipped + superseded + unfinished + waiting + missed
}

type Step = 'started' | 'done' | 'threw' | 'heard' | 'killed'

/** What one replica did with one occurrence. */
function did(history: History, replica: string, scheduledAt: number, steps: readonly Step[], fence = scheduledAt): void {
  const run = { job: 'A', cause: '', scheduledAt, attempt: 1, fence }
  for (const step of steps) {
    if (step === 'started') history.started(replica, run)
    else if (step === 'heard') history.heard(replica, run)
    else if (step === 'killed') history.killed(replica)
    else history.returned(replica, { ...run, threw: step === 'threw' })
  }
}

const whole: readonly Step[] = ['started', 'done', 'heard']

function threeRuns(): History {
  const history = new History()
  for (const at of [1000, 2000, 3000]) did(history, `r${at}`, at, whole)
  return history
}

describe('the audit', () => {
  test('all that was due ran once', () => {
    const { all, isClean } = audit([line(1000), line(2000), line(3000)], threeRuns())
    expect(all).toMatchObject({ due: 3, ran: 3, twice: 0, missed: 0, takenOver: 0, repeated: 0 })
    expect(isClean).toBe(true)
  })

  test('an instant without a line is missed', () => {
    const history = new History()
    for (const at of [1000, 3000]) did(history, 'r1', at, whole)
    const { all, isClean } = audit([line(1000), line(3000)], history)
    expect(all).toMatchObject({ due: 3, ran: 2, missed: 1, unfinished: 0 })
    expect(isClean).toBe(false)
  })

  test('a handler that completed twice is found, though the ledger has one line', () => {
    const history = threeRuns()
    did(history, 'r9', 2000, whole, 2001)
    const { all, isClean } = audit([line(1000), line(2000), line(3000)], history)
    expect(all).toMatchObject({ ran: 3, twice: 1 })
    expect(isClean).toBe(false)
  })

  test('a second final line is found, though only one handler told', () => {
    expect(audit([line(1000), line(2000), line(2000), line(3000)], threeRuns()).all.twice).toBe(1)
  })

  test('a line that no handler stands behind is missed', () => {
    const history = new History()
    for (const at of [1000, 3000]) did(history, 'r1', at, whole)
    expect(audit([line(1000), line(2000), line(3000)], history).all).toMatchObject({ due: 3, ran: 2, missed: 1 })
  })

  test('a run that the store took, but of which the ledger has no line, is missed', () => {
    expect(audit([line(1000), line(3000)], threeRuns()).all).toMatchObject({ due: 3, ran: 2, missed: 1, unfinished: 0 })
  })

  test('a killed run that another replica repeats is taken over', () => {
    const history = new History()
    for (const at of [1000, 3000]) did(history, 'r1', at, whole)
    did(history, 'r2', 2000, ['started', 'killed'])
    did(history, 'r3', 2000, whole, 2001)
    const lines = [line(1000), line(2000, { end: 'leaseLost', final: false }), line(2000, { attempt: 2, fence: 2001 }), line(3000)]
    expect(audit(lines, history).all).toMatchObject({ due: 3, ran: 3, twice: 0, missed: 0, takenOver: 1, repeated: 0 })
  })

  test('a killed run that nobody took over is missed', () => {
    const history = new History()
    for (const at of [1000, 3000]) did(history, 'r1', at, whole)
    did(history, 'r2', 2000, ['started', 'killed'])
    expect(audit([line(1000), line(3000)], history).all).toMatchObject({ due: 3, ran: 2, missed: 1, unfinished: 0 })
  })

  test('work that was done before the kill, but not written down, is told of apart', () => {
    const history = new History()
    for (const at of [1000, 3000]) did(history, 'r1', at, whole)
    did(history, 'r2', 2000, ['started', 'done', 'killed'])
    did(history, 'r3', 2000, whole, 2001)
    const lines = [line(1000), line(2000, { end: 'leaseLost', final: false }), line(2000, { attempt: 2, fence: 2001 }), line(3000)]
    const { all, isClean } = audit(lines, history)
    expect(all).toMatchObject({ ran: 3, twice: 0, takenOver: 1, repeated: 1 })
    expect(isClean).toBe(true)
  })

  test('a replica that is killed after the store took its settle has run it', () => {
    const history = new History()
    for (const at of [1000, 3000]) did(history, 'r1', at, whole)
    did(history, 'r2', 2000, ['started', 'done', 'killed'])
    expect(audit([line(1000), line(2000), line(3000)], history).all).toMatchObject({ ran: 3, repeated: 0, missed: 0 })
  })

  test('a run stopped with its replica is unfinished, and what comes behind it waits', () => {
    const history = new History()
    did(history, 'r1', 1000, whole)
    did(history, 'r1', 2000, ['started'])
    const { all, isClean } = audit([line(1000)], history, { nextAt: 3000, open: [2000] })
    expect(all).toMatchObject({ due: 3, ran: 1, unfinished: 1, waiting: 1, missed: 0 })
    expect(partsOf(all)).toBe(all.due)
    expect(isClean).toBe(true)
  })

  test('a job that was at work to the end is behind: what it did not come to waits', () => {
    const history = new History()
    did(history, 'r1', 1000, whole)
    const { all, isClean } = audit([line(1000, { endedAt: 3600 })], history, { nextAt: 2000 })
    expect(all).toMatchObject({ due: 3, ran: 1, waiting: 2, missed: 0 })
    expect(partsOf(all)).toBe(all.due)
    expect(isClean).toBe(true)
  })

  test('a job that stood still has missed what it did not do', () => {
    const history = new History()
    did(history, 'r1', 1000, whole)
    const { all, isClean } = audit([line(1000, { endedAt: 3400 })], history, { nextAt: 2000 })
    expect(all).toMatchObject({ due: 3, ran: 1, waiting: 0, missed: 2 })
    expect(isClean).toBe(false)
  })

  test('what the store has passed over does not wait any more, however busy the job is', () => {
    const history = new History()
    did(history, 'r1', 1000, whole)
    expect(audit([line(1000, { endedAt: 3600 })], history, { nextAt: 3000 }).all).toMatchObject({ ran: 1, waiting: 1, missed: 1 })
  })

  test('skipped, superseded and failed have columns of their own, ranges count one by one', () => {
    const history = new History()
    did(history, 'r1', 3000, ['started', 'threw', 'heard'])
    const lines = [line(1000, { untilAt: 2000, count: 2, attempt: 0, end: 'skipped', reason: 'overlap' }), line(3000, { end: 'failed' })]
    const { all, isClean } = audit(lines, history)
    expect(all).toMatchObject({ due: 3, ran: 0, skipped: 2, failed: 1, missed: 0 })
    expect(isClean).toBe(true)
  })

  test('what came due before the window counts too, asks by hand do not', () => {
    const history = threeRuns()
    did(history, 'r1', 200, whole)
    const lines = [line(200), line(1000), line(2000), line(3000), line(3200, { cause: 'by-hand' })]
    expect(audit(lines, history).all).toMatchObject({ due: 4, ran: 4 })
  })

  test('what came due after the window does not count, of no job: a slow one and a quick one have the same number due', () => {
    const history = threeRuns()
    did(history, 'r1', 4000, whole)
    const range = line(5000, { untilAt: 6000, count: 2, attempt: 0, end: 'skipped', reason: 'overlap' })
    expect(audit([line(1000), line(2000), line(3000), line(4000), range], history).all).toMatchObject({ due: 3, ran: 3, skipped: 0 })
  })

  test('of a range, only what lies in the window counts', () => {
    const history = new History()
    did(history, 'r1', 1000, whole)
    const range = line(2000, { untilAt: 6000, count: 5, attempt: 0, end: 'skipped', reason: 'overlap' })
    expect(audit([line(1000), range], history).all).toMatchObject({ due: 3, ran: 1, skipped: 2, missed: 0 })
  })

  test('what ran twice after the window is found all the same', () => {
    const history = threeRuns()
    did(history, 'r1', 4000, whole)
    did(history, 'r9', 4000, whole, 4001)
    const { all, isClean } = audit([line(1000), line(2000), line(3000), line(4000)], history)
    expect(all).toMatchObject({ due: 4, ran: 4, twice: 1 })
    expect(isClean).toBe(false)
  })
})
