import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRow, compile, counting, every, listed, never, type RowParts } from '../../test/conformance/rows.ts'
import type { Ask, JobRow } from './job.ts'
import { type Asks, type Plan, plan } from './plan.ts'
import { joined } from './planned.ts'
import type { LedgerLine } from './run.ts'
import type { Instant, Schedule } from './timetable.ts'

const none: Asks = { manual: null, backfill: null }
const manual: Ask = { id: 'm', kind: 'manual', at: 9500, until: 9500, schedule: null }
const backfill: Ask = { id: 'b', kind: 'backfill', at: 2000, until: 4000, schedule: every(1000) }

interface Case {
  readonly title: string
  readonly row: RowParts
  readonly asks?: Partial<Asks>
  readonly now: Instant
  /** `end reason from..until × count` */
  readonly lines: readonly string[]
  readonly then: string
  readonly nextAt?: Instant
}

const cases: readonly Case[] = [
  { title: 'on time: the instant is opened', row: {}, now: 10_000, lines: [], then: 'open 10000', nextAt: 11_000 },
  { title: 'not yet due: nothing', row: {}, now: 9999, lines: [], then: 'idle', nextAt: 10_000 },
  {
    title: 'late: the last is opened, the others superseded',
    row: {},
    now: 13_500,
    lines: ['superseded misfire 10000..12000 × 3'],
    then: 'open 13000',
    nextAt: 14_000,
  },
  {
    title: 'misfire all: the first is opened, the cursor stands behind it',
    row: { policy: { misfire: 'all' } },
    now: 13_500,
    lines: [],
    then: 'open 10000',
    nextAt: 11_000,
  },
  {
    title: 'misfire all: more than the limit allows are superseded',
    row: { policy: { misfire: 'all', misfireLimit: 2 } },
    now: 13_500,
    lines: ['superseded misfire 10000..11000 × 2'],
    then: 'open 12000',
    nextAt: 13_000,
  },
  {
    title: 'outside the window: missed',
    row: { policy: { windowMs: 1500 } },
    now: 13_500,
    lines: ['missed window 10000..11000 × 2', 'superseded misfire 12000'],
    then: 'open 13000',
    nextAt: 14_000,
  },
  {
    title: 'on the edge of the window: runs',
    row: { policy: { windowMs: 1500 }, schedule: listed(10_000) },
    now: 11_500,
    lines: [],
    then: 'open 10000',
    nextAt: never,
  },
  {
    title: 'just past the window: missed',
    row: { policy: { windowMs: 1500 }, schedule: listed(10_000) },
    now: 11_501,
    lines: ['missed window 10000'],
    then: 'idle',
    nextAt: never,
  },
  {
    title: 'in the busy range: skipped',
    row: { busy: { from: 9500, until: 11_000 } },
    now: 12_000,
    lines: ['skipped overlap 10000..11000 × 2'],
    then: 'open 12000',
    nextAt: 13_000,
  },
  {
    title: 'busy ranges leave their first instant out',
    row: { busy: { from: 10_000, until: 11_500 } },
    now: 11_500,
    lines: ['skipped overlap 11000'],
    then: 'open 10000',
    nextAt: 12_000,
  },
  {
    title: 'in the held range: skipped',
    row: { held: { from: 9500, until: 10_500 } },
    now: 10_700,
    lines: ['skipped paused 10000'],
    then: 'idle',
    nextAt: 11_000,
  },
  {
    title: 'busy comes before held, held before the window',
    row: { busy: { from: 9000, until: 10_000 }, held: { from: 9000, until: 11_000 }, policy: { windowMs: 10 } },
    now: 12_500,
    lines: ['skipped overlap 10000', 'skipped paused 11000', 'missed window 12000'],
    then: 'idle',
    nextAt: 13_000,
  },
  {
    title: 'a pause that has run out: its instants are skipped',
    row: { pause: { at: 9500, until: 11_500, by: null, why: null } },
    now: 12_100,
    lines: ['skipped paused 10000..11000 × 2'],
    then: 'open 12000',
    nextAt: 13_000,
  },
  {
    title: 'while paused: nothing is judged',
    row: { pause: { at: 9500, until: never, by: null, why: null } },
    now: 12_100,
    lines: [],
    then: 'idle',
  },
  {
    title: 'while paused: what was asked for by hand runs',
    row: { asked: 1, pause: { at: 9500, until: never, by: null, why: null } },
    asks: { manual },
    now: 12_100,
    lines: [],
    then: 'open m/9500 used up',
  },
  {
    title: 'while paused: a backfill runs',
    row: { asked: 1, pause: { at: 9500, until: never, by: null, why: null } },
    asks: { backfill },
    now: 12_100,
    lines: [],
    then: 'open b/2000 on to 3000',
  },
  {
    title: 'what ran between two quiet ranges is in neither line',
    row: { held: { from: 9500, until: 10_500 }, pause: { at: 11_500, until: 12_500, by: null, why: null } },
    now: 12_600,
    lines: ['skipped paused 10000', 'skipped paused 12000'],
    then: 'open 11000',
    nextAt: 13_000,
  },
  { title: 'by hand comes first', row: { asked: 2 }, asks: { manual, backfill }, now: 10_000, lines: [], then: 'open m/9500 used up' },
  {
    title: 'a backfill takes a turn after a scheduled run',
    row: { asked: 1 },
    asks: { backfill },
    now: 10_000,
    lines: [],
    then: 'open b/2000 on to 3000',
  },
  {
    title: 'the schedule takes a turn after a backfill',
    row: { asked: 1, lastCause: 'b' },
    asks: { backfill },
    now: 10_000,
    lines: [],
    then: 'open 10000',
    nextAt: 11_000,
  },
  {
    title: 'a backfill goes on where nothing is due',
    row: { asked: 1, lastCause: 'b', nextAt: 20_000 },
    asks: { backfill },
    now: 10_000,
    lines: [],
    then: 'open b/2000 on to 3000',
    nextAt: 20_000,
  },
  {
    title: 'a backfill ends with its last instant',
    row: { asked: 1 },
    asks: { backfill: { ...backfill, at: 4000 } },
    now: 10_000,
    lines: [],
    then: 'open b/4000 used up',
  },
  { title: 'open and fit to start: again', row: { open: { attempt: 1 } }, now: 10_000, lines: [], then: 'again' },
  {
    title: 'open, removed: abandoned',
    row: { open: {}, removedAt: 9500, nextAt: never },
    now: 10_000,
    lines: ['abandoned removed 9000 attempt 1'],
    then: 'idle',
  },
  {
    title: 'open, vanished, no takeover: abandoned',
    row: { open: {}, policy: { takeOver: false }, nextAt: 20_000 },
    now: 10_000,
    lines: ['abandoned takeover 9000 attempt 1'],
    then: 'idle',
    nextAt: 20_000,
  },
  {
    title: 'open, attempts used up by takeovers: abandoned',
    row: { open: { attempt: 3, failures: 2 }, nextAt: 20_000 },
    now: 10_000,
    lines: ['abandoned attempts 9000 attempt 3'],
    then: 'idle',
    nextAt: 20_000,
  },
  {
    title: 'open, attempts used up by throws: failed',
    row: { open: { attempt: 3, failures: 3 }, nextAt: 20_000 },
    now: 10_000,
    lines: ['failed attempts 9000 attempt 3'],
    then: 'idle',
    nextAt: 20_000,
  },
  {
    title: 'open, never started, outside the window: missed',
    row: { open: { attempt: 0 }, policy: { windowMs: 500 }, nextAt: 20_000 },
    now: 10_000,
    lines: ['missed window 9000'],
    then: 'idle',
    nextAt: 20_000,
  },
  {
    title: 'open, started, outside the window: again',
    row: { open: { attempt: 1 }, policy: { windowMs: 500 }, nextAt: 20_000 },
    now: 10_000,
    lines: [],
    then: 'again',
  },
  {
    title: 'open, replaced by the next instant: superseded, which is opened',
    row: { open: {}, policy: { overlap: 'replace' } },
    now: 10_000,
    lines: ['superseded replaced 9000 attempt 1'],
    then: 'open 10000',
    nextAt: 11_000,
  },
  {
    title: 'open, waiting for a retry when the next is due: failed, which is opened',
    row: { open: { attempt: 1, failures: 1 } },
    now: 10_000,
    lines: ['failed nextDue 9000 attempt 1'],
    then: 'open 10000',
    nextAt: 11_000,
  },
  {
    title: 'open, waiting for a retry with misfire all: again',
    row: { open: { attempt: 1, failures: 1 }, policy: { misfire: 'all' } },
    now: 10_000,
    lines: [],
    then: 'again',
  },
  {
    title: 'open by hand: neither window, replace nor the next instant end it',
    row: { open: { cause: 'm', attempt: 1, failures: 1 }, policy: { overlap: 'replace', windowMs: 1 } },
    now: 10_000,
    lines: [],
    then: 'again',
  },
  {
    title: 'open, cancelled: ended, and the next is opened',
    row: { open: {}, cancelFence: 7 },
    now: 10_000,
    lines: ['cancelled byHand 9000 attempt 1'],
    then: 'open 10000',
    nextAt: 11_000,
  },
  { title: 'a cancel of an earlier fence is not obeyed', row: { open: {}, cancelFence: 6 }, now: 9500, lines: [], then: 'again' },
  {
    title: 'an ended occurrence of the schedule lets a backfill in',
    row: { asked: 1, lastCause: 'b', open: { attempt: 3, failures: 3 } },
    asks: { backfill },
    now: 10_000,
    lines: ['failed attempts 9000 attempt 3'],
    then: 'open b/2000 on to 3000',
  },
  {
    title: 'an extra row does no more than end',
    row: { open: { attempt: 3, failures: 2 }, parent: { id: 5, fence: 6 }, nextAt: never, policy: { overlap: 'allow' } },
    now: 10_000,
    lines: ['abandoned attempts 9000 attempt 3'],
    then: 'idle',
  },
  {
    title: 'an extra row outlives the removal of its job',
    row: { open: { attempt: 1 }, parent: { id: 5, fence: 6 }, removedAt: 9500, nextAt: never },
    now: 10_000,
    lines: [],
    then: 'again',
  },
  { title: 'removed and idle: nothing', row: { removedAt: 9500, nextAt: never }, now: 10_000, lines: [], then: 'idle' },
  {
    title: 'jitter delays what counts as due',
    row: { policy: { jitterMs: 600 } },
    now: 12_500,
    lines: ['superseded misfire 10000'],
    then: 'open 11000',
    nextAt: 12_000,
  },
  {
    title: 'an old schedule counts up to its end, the new one from there',
    row: { schedule: every(400), oldSchedules: [{ schedule: every(1000), until: 11_500 }] },
    now: 12_100,
    lines: ['superseded misfire 10000..11600 × 3'],
    then: 'open 12000',
    nextAt: 12_400,
  },
  {
    title: 'without a schedule there is nothing to come',
    row: { schedule: null, oldSchedules: [{ schedule: every(1000), until: 10_500 }] },
    now: 10_700,
    lines: [],
    then: 'open 10000',
    nextAt: never,
  },
]

describe('a plan', () => {
  for (const { title, row: parts, asks, now, lines, then, nextAt } of cases) {
    test(title, () => {
      const row = leased(aRow({ ...parts, lease: null }))
      const made = plan(row, { ...none, ...asks }, now, compile)
      expect(made.lines.map(inWords)).toEqual(lines)
      expect(thenInWords(made.then)).toBe(then)
      expect(made.closes).toBe(row.open !== null && made.then.kind !== 'again')
      expect(made.cursor?.nextAt).toBe(nextAt)
      expect(made.seen).toEqual({ rev: row.rev, asked: row.asked, nextAt: row.nextAt, open: openOf(row) })
    })
  }

  test('its lines are final, of the planner, and of the job', () => {
    const row = leased(aRow({ open: { attempt: 3, failures: 3 }, parent: { id: 5, fence: 6 } }))
    expect(plan(row, none, 12_000, compile).lines).toEqual([
      expect.objectContaining({ rowId: 1, jobId: 5, fence: 7, owner: 'a', final: true, startedAt: null, endedAt: 12_000, attempt: 3 }),
    ])
  })

  test('10,000 missed occurrences are one line of the ledger, and cost one step of the timetable each', () => {
    const { compile: counted, calls } = counting()
    const made = plan(leased(aRow({ policy: { windowMs: 0 } })), none, 10_000 + 9_999_999, counted)
    expect(made.lines.map(inWords)).toEqual(['missed window 10000..10009000 × 10000'])
    expect(thenInWords(made.then)).toBe('idle')
    expect(calls()).toBeLessThan(10_020)
  })

  test('10,000 late occurrences: one runs, the others are one line', () => {
    const { compile: counted, calls } = counting()
    const made = plan(leased(aRow()), none, 10_000 + 9_999_000, counted)
    expect(made.lines.map(inWords)).toEqual(['superseded misfire 10000..10008000 × 9999'])
    expect(thenInWords(made.then)).toBe('open 10009000')
    expect(calls()).toBeLessThan(10_020)
  })

  test('of 200,000 due occurrences the counting stops, the cursor does not', () => {
    const { compile: counted, calls } = counting()
    const now = 10_000 + 199_999_000
    const made = plan(leased(aRow({ policy: { windowMs: never } })), none, now, counted)
    expect(made.lines).toHaveLength(1)
    expect(made.lines[0]).toMatchObject({ end: 'superseded', scheduledAt: 10_000, untilAt: now - 1000 })
    expect(made.lines[0]?.count).toBeGreaterThanOrEqual(100_000)
    expect(made.lines[0]?.count).toBeLessThan(100_010)
    expect(thenInWords(made.then)).toBe(`open ${now}`)
    expect(made.cursor).toMatchObject({ nextAt: now + 1000, afterAt: now + 2000 })
    expect(calls()).toBeLessThan(100_200)
  })

  test('200,000 due occurrences cost as little where most of them are missed or were quiet', () => {
    const { compile: counted, calls } = counting()
    const now = 10_000 + 199_999_000
    const row = aRow({ busy: { from: 0, until: 50_000_000 }, held: { from: 0, until: 120_000_000 }, policy: { windowMs: 60_000_000 } })
    const made = plan(leased(row), none, now, counted)
    expect(made.lines.map(({ end, reason, untilAt }) => `${end} ${reason} ..${untilAt}`)).toEqual([
      'skipped overlap ..50000000',
      'skipped paused ..120000000',
      'missed window ..140008000',
      `superseded misfire ..${now - 1000}`,
    ])
    expect(made.cursor?.nextAt).toBe(now + 1000)
    expect(calls()).toBeLessThan(101_000)
  })
})

describe('every plan', () => {
  const instant = fc.integer({ min: 9000, max: 14_000 })
  const range = fc.option(fc.tuple(instant, instant).map(([a, b]) => ({ from: Math.min(a, b), until: Math.max(a, b) })))
  const schedule = fc.constantFrom(every(70), every(100), every(250), every(1000), listed(10_100, 10_101, 11_999, 13_000))
  const situation = fc.record({
    schedule,
    old: fc.option(fc.record({ schedule, until: instant })),
    start: instant,
    lateMs: fc.integer({ min: 0, max: 4000 }),
    busy: range,
    held: range,
    pause: range,
    windowMs: fc.constantFrom(0, 100, 1500, 86_400_000),
    misfire: fc.constantFrom('latest' as const, 'skip' as const, 'all' as const),
    misfireLimit: fc.constantFrom(1, 2, 5, 100),
    jitterMs: fc.constantFrom(0, 0, 130),
  })

  test('advances strictly, loses nothing and gives each due occurrence one verdict', () => {
    fc.assert(
      fc.property(situation, given => {
        const { row, now } = stage(given)
        const judged = judgeOneByOne(row, now)
        const made = plan(row, none, now, compile)
        const opened = made.then.kind === 'open' ? made.then.scheduledAt : null
        expect(opened).toBe(judged.opened)
        expect(expanded(made.lines, row)).toEqual(judged.verdicts)
        expect(made.cursor?.nextAt).toBe(judged.nextAt)
        expect(made.cursor?.afterAt).toBe(following(row, judged.nextAt))
        if (judged.due.length > 0) expect(made.cursor?.nextAt).toBeGreaterThan(row.nextAt)
        expect(made.lines.every(line => line.final && line.count > 0 && line.scheduledAt <= line.untilAt)).toBe(true)
        // a line a stretch of one verdict: never more than there are changes of judgement
        expect(made.lines.length).toBeLessThanOrEqual(9)
      }),
      { numRuns: 2000 },
    )
  })

  test('leads, run after run, to where everything due has its verdict, and runs no more than the policy allows', () => {
    fc.assert(
      fc.property(situation, given => {
        const staged = stage(given)
        const { now } = staged
        let { row } = staged
        const due = instantsOf(row, now - row.definition.policy.jitterMs)
        const seen = new Map<Instant, string>()
        let starts = 0
        for (;;) {
          const made = plan(row, none, now, compile)
          for (const [at, verdict] of expanded(made.lines, row)) {
            expect(seen.has(at)).toBe(false)
            seen.set(at, verdict)
          }
          if (made.then.kind !== 'open') break
          expect(seen.has(made.then.scheduledAt)).toBe(false)
          seen.set(made.then.scheduledAt, 'ran')
          starts++
          row = {
            ...row,
            ...made.cursor,
            pause: null,
            held: made.pauseEnds === null ? row.held : joined(row.held, made.pauseEnds, row.nextAt),
          }
        }
        const { misfire, misfireLimit } = row.definition.policy
        expect([...seen.keys()].sort((a, b) => a - b)).toEqual(due)
        expect(starts).toBeLessThanOrEqual(misfire === 'all' ? misfireLimit : 1)
      }),
      { numRuns: 1000 },
    )
  })
})

interface Situation {
  readonly schedule: Schedule
  readonly old: { readonly schedule: Schedule; readonly until: Instant } | null
  readonly start: Instant
  readonly lateMs: number
  readonly busy: JobRow['busy']
  readonly held: JobRow['held']
  readonly pause: JobRow['held']
  readonly windowMs: number
  readonly misfire: 'latest' | 'skip' | 'all'
  readonly misfireLimit: number
  readonly jitterMs: number
}

function stage({ schedule, old, start, lateMs, busy, held, pause, ...policy }: Situation): { row: JobRow; now: Instant } {
  const blank = leased(aRow({ schedule, policy, busy, held, oldSchedules: old === null ? [] : [old] }))
  const row = { ...blank, nextAt: following(blank, start) }
  const now = Math.max(start + lateMs, pause?.until ?? 0)
  return { now, row: pause === null ? row : { ...row, pause: { at: pause.from, until: pause.until, by: null, why: null } } }
}

/** The oracle: each due instant by itself, with no ranges and no cleverness. */
function judgeOneByOne(row: JobRow, now: Instant) {
  const { policy } = row.definition
  const due = instantsOf(row, now - policy.jitterMs)
  const inside = (at: Instant, from: Instant | undefined, until: Instant | undefined) =>
    from !== undefined && until !== undefined && at > from && at <= until
  const judge = (at: Instant): string => {
    if (inside(at, row.busy?.from, row.busy?.until)) return 'skipped overlap'
    if (inside(at, row.held?.from, row.held?.until) || inside(at, row.pause?.at, row.pause?.until)) return 'skipped paused'
    return at < now - policy.windowMs ? 'missed window' : 'run'
  }
  const candidates = due.filter(at => judge(at) === 'run')
  const opened = (policy.misfire === 'all' ? candidates.slice(-policy.misfireLimit)[0] : candidates.at(-1)) ?? null
  const settled = due.filter(at => at !== opened && !(policy.misfire === 'all' && opened !== null && at > opened))
  const verdicts = settled.map(at => [at, judge(at) === 'run' ? 'superseded misfire' : judge(at)])
  const last = policy.misfire === 'all' && opened !== null ? opened : due.at(-1)
  return { due, opened, verdicts, nextAt: last === undefined ? row.nextAt : following(row, last) }
}

function instantsOf(row: JobRow, until: Instant): Instant[] {
  const instants: Instant[] = []
  for (let at = row.nextAt; at <= until; at = following(row, at)) instants.push(at)
  return instants
}

function following(row: JobRow, after: Instant): Instant {
  const [old] = row.oldSchedules
  if (after === never) return never
  if (old?.schedule != null && after < old.until) {
    const at = compile(old.schedule).next(after)
    return at <= old.until ? at : following({ ...row, oldSchedules: [] }, old.until)
  }
  return row.definition.schedule === null ? never : compile(row.definition.schedule).next(after)
}

/** Which instant a line speaks of, one by one; those of a range that it does not count belong to no other line. */
function expanded(lines: readonly LedgerLine[], row: JobRow): [Instant, string][] {
  return lines
    .flatMap(line => {
      const inRange = instantsOf(row, line.untilAt).filter(at => at >= line.scheduledAt)
      expect(inRange).toHaveLength(line.count)
      return inRange.map((at): [Instant, string] => [at, `${line.end} ${line.reason}`])
    })
    .sort(([a], [b]) => a - b)
}

function leased(row: JobRow): JobRow {
  return { ...row, lease: { owner: 'a', claimId: 'c1', mayStart: false } }
}

function openOf(row: JobRow): Plan['seen']['open'] {
  return row.open === null ? null : { cause: row.open.cause, scheduledAt: row.open.scheduledAt }
}

function inWords(line: LedgerLine): string {
  const range = line.count === 1 ? `${line.scheduledAt}` : `${line.scheduledAt}..${line.untilAt} × ${line.count}`
  return `${line.end} ${line.reason} ${range}${line.attempt > 0 ? ` attempt ${line.attempt}` : ''}`
}

function thenInWords(then: Plan['then']): string {
  if (then.kind !== 'open') return then.kind
  if (then.ask === null) return `open ${then.scheduledAt}`
  return `open ${then.cause}/${then.scheduledAt} ${then.ask.nextAt === null ? 'used up' : `on to ${then.ask.nextAt}`}`
}
