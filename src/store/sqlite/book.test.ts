import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Ask, JobRow } from '../../domain/job.ts'
import type { Json } from '../../domain/json.ts'
import type { LedgerLine } from '../../domain/run.ts'
import type { Book } from '../book.ts'
import { MemoryBook } from '../memory/book.ts'
import type { Presence, Replica } from '../store.ts'
import { SqliteBook } from './book.ts'
import { Connection } from './connection.ts'
import { loadDriver } from './driver.ts'
import { type LineColumns, lineOf } from './line.ts'
import { steps } from './schema.ts'

const never = Number.POSITIVE_INFINITY
const openFile = await loadDriver(undefined)

/** Few values, so that they meet. */
const id = fc.integer({ min: 1, max: 6 })
const earliest = 1_764_000_000_000
const instant = fc.integer({ min: earliest, max: earliest + 20 })
const instantOrNever = fc.oneof({ weight: 5, arbitrary: instant }, { weight: 1, arbitrary: fc.constant(never) })
const fence = fc.integer({ min: earliest * 1000, max: earliest * 1000 + 3 })
const task = fc.constantFrom('t1', 't2', 'Ü', '@lease')
// nobody claims leases by name
const tasks = fc.uniqueArray(fc.constantFrom('t1', 't2', 'Ü', 't3'), { maxLength: 4 })
const owner = fc.constantFrom('a', 'b')
const claimId = fc.constantFrom('c1', 'c2')
const cause = fc.constantFrom('', 'ask-1', 'ask-2')
const text = fc.oneof(fc.constantFrom('', "a'b", '"', 'null', '{}', 'é€😀', 'two\nlines'), fc.string({ unit: 'grapheme' }))
const json = fc.oneof(
  text,
  fc.jsonValue().map(value => JSON.parse(JSON.stringify(value)) as Json),
)
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null })
const range = fc.record({ from: instant, until: instant })
const schedule = maybe(fc.record({ schedule: text, timeZone: fc.constant('UTC') }))

const row: fc.Arbitrary<Omit<JobRow, 'id' | 'parent'>> = fc.record({
  name: fc.constantFrom('job', 'Job', 'job ', "o'job", '🕰'),
  task,
  definition: fc.record({
    schedule,
    policy: fc.record({
      overlap: fc.constantFrom('skip', 'queue', 'replace', 'allow'),
      misfire: fc.constantFrom('latest', 'skip', 'all'),
      windowMs: fc.nat(),
      misfireLimit: fc.nat(),
      takeOver: fc.boolean(),
      maxAttempts: fc.constantFrom(1, Number.MAX_SAFE_INTEGER),
      retries: fc.nat(),
      strategy: fc.constant('race'),
      jitterMs: fc.integer({ min: 0, max: 3 }),
    }),
    backoffMs: fc.nat(),
    backoffMaxMs: fc.nat(),
    data: json,
  }),
  hash: text,
  rev: fc.integer({ min: 1, max: 9 }),
  nextAt: instantOrNever,
  afterAt: maybe(instantOrNever),
  oldSchedules: fc.array(fc.record({ schedule, until: instant }), { maxLength: 2 }),
  open: maybe(fc.record({ cause, scheduledAt: instant, openedAt: instant, attempt: fc.nat(5), failures: fc.nat(5), checkpoint: json })),
  dueAt: instantOrNever,
  fence,
  lease: maybe(fc.record({ owner, claimId: maybe(claimId), mayStart: fc.boolean() })),
  acquiredAt: maybe(instant),
  busy: maybe(range),
  held: maybe(range),
  pause: maybe(fc.record({ at: instant, until: instantOrNever, by: maybe(text), why: maybe(text) })),
  removedAt: maybe(instant),
  asked: fc.nat(3),
  lastCause: cause,
  lastAt: maybe(instant),
  lastOwner: maybe(owner),
  endedAt: maybe(instant),
  cancelFence: maybe(fence),
})

const line: fc.Arbitrary<LedgerLine> = fc.record({
  rowId: id,
  jobId: id,
  cause,
  scheduledAt: instant,
  untilAt: instant,
  count: fc.nat(100_000),
  attempt: fc.nat(5),
  fence,
  owner: maybe(owner),
  startedAt: maybe(instant),
  endedAt: instant,
  end: fc.constantFrom('succeeded', 'failed', 'leaseLost', 'handedBack'),
  final: fc.boolean(),
  reason: fc.constantFrom(null, 'overlap', 'byHand'),
  error: maybe(fc.record({ name: text, message: text, stack: maybe(text) })),
  result: json,
  logTail: maybe(text),
})

const ask: fc.Arbitrary<Ask> = fc.record({
  id: fc.constantFrom('ask-1', 'ask-2', 'ask-3'),
  kind: fc.constantFrom('manual', 'backfill'),
  at: instant,
  until: instantOrNever,
  schedule,
})

const replica: fc.Arbitrary<Replica> = fc.record({
  id: fc.constantFrom('r1', 'r2', 'r3'),
  host: text,
  version: text,
  release: fc.constantFrom('one', 'two'),
  role: fc.constantFrom('all', 'client'),
  tasks,
  capacity: fc.nat(100),
})

const presence: fc.Arbitrary<Presence> = fc.record({
  running: fc.nat(100),
  draining: fc.boolean(),
  clockOffsetMs: fc.double({ min: -1e6, max: 1e6, noNaN: true }).map(value => value + 0),
  loopLagMs: fc.nat(100),
})

const due = fc.record({ tasks, now: instant, except: fc.uniqueArray(id, { maxLength: 2 }) })

/** `time` counts the steps of a history. */
type Step = (book: Book, time: number) => unknown

/** What a verb may do in one transaction. */
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: row.map(
      (made): Step =>
        book =>
          book.rowNamed(made.name) ?? book.insert({ ...made, parent: null }),
    ),
  },
  fc.tuple(row, id, fence).map(
    ([made, parent, planned]): Step =>
      book =>
        book.childOf(parent, planned) ?? book.insert({ ...made, parent: { id: parent, fence: planned } }),
  ),
  {
    weight: 2,
    arbitrary: fc.tuple(id, row).map(
      ([at, { name: _, ...to }]): Step =>
        book =>
          changed(book, at, to),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(id, row, fc.constantFrom('definition', 'hash', 'rev', 'task', 'oldSchedules', 'held', 'pause', 'removedAt')).map(
      ([at, to, key]): Step =>
        book =>
          changed(book, at, { [key]: to[key] }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(id, instantOrNever, fence).map(
      ([at, dueAt, to]): Step =>
        book =>
          changed(book, at, { dueAt, fence: to, lease: null }),
    ),
  },
  id.map(
    (at): Step =>
      book =>
        book.row(at)?.parent ? book.delete(at) : undefined,
  ),
  id.map(
    (at): Step =>
      book =>
        book.row(at),
  ),
  {
    weight: 3,
    arbitrary: fc.tuple(due, fc.integer({ min: 1, max: 4 })).map(
      ([of, limit]): Step =>
        book =>
          claimStep(book, of, limit),
    ),
  },
  fc.tuple(tasks, instant).map(
    ([of, now]): Step =>
      book => [book.nextDueAt(of, now), book.anyLeased(of, now)],
  ),
  fc.tuple(owner, claimId, instant).map(
    ([by, claim, now]): Step =>
      book =>
        book.claimedBy(by, claim, now).filter(made => made.task !== '@lease'),
  ),
  {
    weight: 4,
    arbitrary: line.map(
      (made): Step =>
        (book, time) =>
          appended(book, { ...made, endedAt: earliest + Math.floor(time / 3) }),
    ),
  },
  line.map(
    (of): Step =>
      book => [book.isSettled(of), book.isCauseSettled(of.jobId, of.cause)],
  ),
  fc.tuple(id, ask).map(
    ([job, made]): Step =>
      book =>
        book.ask(job, made.id) ?? book.insertAsk(job, made),
  ),
  fc.tuple(id, ask).map(
    ([job, { id: which, at }]): Step =>
      book =>
        book.moveAsk(job, which, at),
  ),
  fc.tuple(id, ask).map(
    ([job, { id: which }]): Step =>
      book =>
        book.deleteAsk(job, which),
  ),
  id.map(
    (job): Step =>
      book => [book.asks(job), book.oldestAsk(job, 'manual'), book.oldestAsk(job, 'backfill')],
  ),
  fc.tuple(replica, instant).map(
    ([made, now]): Step =>
      book =>
        book.saveReplica(made, now),
  ),
  fc.tuple(replica, presence, instant).map(
    ([{ id: which }, seen, now]): Step =>
      book =>
        book.seeReplica(which, seen, now),
  ),
  replica.map(
    ({ id: which }): Step =>
      book =>
        book.forgetReplica(which),
  ),
  fc.tuple(tasks, instant).map(
    ([of, since]): Step =>
      book => [book.countLive(of, since), [...book.liveReleases(since)].sort()],
  ),
  fc.tuple(id, fc.constantFrom('one', 'two'), text, instant).map(
    ([job, release, hash, firstSeenAt]): Step =>
      book =>
        byRelease(book.seeRelease(job, { release, hash, firstSeenAt })),
  ),
  fc.tuple(instant, fc.nat(3)).map(
    ([before, keepLines]): Step =>
      book =>
        pruned(book, before, keepLines),
  ),
)

function changed(book: Book, at: number, to: Partial<JobRow>): void {
  const before = book.row(at)
  if (before !== undefined) book.update({ ...before, ...to })
}

/** As `claim` asks: several times with one filter, also after rows have changed. */
function claimStep(book: Book, of: { tasks: readonly string[]; now: number; except: readonly number[] }, limit: number): unknown {
  const counted = [book.countDue({ ...of, cap: limit }), book.countDue({ ...of, now: of.now - 5, cap: limit })]
  const rows = book.due({ ...of, limit })
  for (const claimed of rows) book.update({ ...claimed, dueAt: of.now + 7 })
  const left = book.countDue({ ...of, cap: 1 })
  changed(book, 1, { dueAt: of.now })
  return [counted, rows, left, book.countDue({ ...of, cap: 1 }), book.due({ ...of, limit }), book.nextDueAt(of.tasks, of.now)]
}

/** One verdict an occurrence: both refuse a second one. Lines are of jobs that are there; removal is a mark. */
function appended(book: Book, made: LedgerLine): unknown {
  if (book.row(made.jobId)?.parent !== null) return 'no job'
  try {
    book.append(made)
    return [book.isSettled(made), book.isCauseSettled(made.jobId, made.cause)]
  } catch {
    return 'refused'
  }
}

function byRelease<T extends { readonly release: string }>(releases: readonly T[]): readonly T[] {
  return [...releases].sort((a, b) => (a.release < b.release ? -1 : 1))
}

function pruned(book: Book, before: number, keepLines: number): void {
  for (let after: number | null = 0; after !== null; ) after = book.prune({ before, keepLines, after })
}

function opened(): Connection {
  const connection = new Connection(openFile(':memory:'), 'onetick_')
  for (const { statements } of steps) for (const statement of statements) connection.exec(statement)
  return connection
}

function ledgerOf(connection: Connection): unknown {
  return connection
    .all<LineColumns>('select r.*, j.name from onetick_runs r left join onetick_jobs j on j.id = r.job order by r.id')
    .map(lineOf)
    .map(({ job: _, id: __, ...rest }) => rest)
}

test('a Book of SQL does what the Book in memory does', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(step, fc.boolean()), { minLength: 10, maxLength: 60 }), made => {
      const connection = opened()
      const memory = new MemoryBook()
      let sql = new SqliteBook(connection, 'n')
      for (const [time, [take, isNextTransaction]] of made.entries()) {
        if (isNextTransaction) sql = new SqliteBook(connection, 'n')
        expect(take(sql, time)).toEqual(take(memory, time))
      }
      const fresh = new SqliteBook(connection, 'n')
      for (const at of [1, 2, 3, 4, 5, 6]) expect(fresh.row(at)).toEqual(memory.row(at))
      expect(ledgerOf(connection)).toEqual(memory.lines.map(({ job: _, id: __, ...rest }) => rest))
      connection.close()
    }),
    { numRuns: process.env['ONETICK_SOAK'] === '1' ? 20_000 : 400 },
  )
})

test('a Book sees its own namespace only', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 40 }), row, (made, other) => {
      const connection = opened()
      const quiet = new SqliteBook(connection, 'other')
      const kept = quiet.insert({ ...other, parent: null })
      quiet.saveReplica(
        { id: 'r1', host: '', version: '', release: 'three', role: 'all', tasks: ['t1', 't2', 'Ü'], capacity: 1 },
        earliest + 10,
      )
      const loud = new SqliteBook(connection, 'n')
      for (const [time, take] of made.entries()) {
        take(loud, time)
        expect(loud.due({ tasks: ['t1', 't2', 'Ü'], now: never, except: [], limit: 100 }).map(({ id }) => id)).not.toContain(kept.id)
        expect(loud.liveReleases(0)).not.toContain('three')
      }
      expect(new SqliteBook(connection, 'other').row(kept.id)).toEqual(kept)
      expect(loud.row(kept.id)).toBeUndefined()
      connection.close()
    }),
    { numRuns: 50 },
  )
})
