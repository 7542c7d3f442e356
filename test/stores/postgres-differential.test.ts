// The statements of the PostgreSQL store against the pure transitions: random rows, every verb, the same now.
// ONETICK_SOAK=1 tries thirty times as many.
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Declaration } from '../../src/domain/declare.ts'
import type { Ask, JobRow } from '../../src/domain/job.ts'
import { plan, type Seen } from '../../src/domain/plan.ts'
import type { LedgerLine } from '../../src/domain/run.ts'
import type { RunEnd } from '../../src/domain/settle.ts'
import type { Instant } from '../../src/domain/timetable.ts'
import { control } from '../../src/store/commands.ts'
import { MemoryBook } from '../../src/store/memory/book.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { declare } from '../../src/store/releases.ts'
import type { Command, PlanSettlement, Replica, RunSettlement, SettleResult, Store } from '../../src/store/store.ts'
import { acquire, checkpoint, claim, renew, settle } from '../../src/store/verbs.ts'
import { compile, every } from '../conformance/rows.ts'
import { chosenStores } from '../servers/chosen.ts'

const isSoak = process.env['ONETICK_SOAK'] === '1'
const schema = 'onetick_differential'
const me = 'me'
const never = Number.POSITIVE_INFINITY

/** A job's row whose instants are counted from a now that is not known yet. */
type Relative = Omit<JobRow, 'id'> & { readonly isAhead: boolean }

/** What lies well before, and what lies well after any now of the test. */
const past = fc.integer({ min: -300_000, max: -1 })
const future = fc.integer({ min: 120_000, max: 600_000 })
const either = fc.oneof(past, future)
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null })
const range = fc.tuple(either, fc.integer({ min: 1, max: 200_000 })).map(([from, length]) => ({ from, until: from + length }))
const text = fc.oneof(fc.constantFrom('', 'x', '{}', 'NULL', '"', '\\', "a'b", 'é€😀', 'two\nlines', ' '), fc.string({ unit: 'grapheme' }))
// JSON has no -0
const json = fc.oneof(
  fc.constant(null),
  fc.jsonValue().map(value => JSON.parse(JSON.stringify(value)) as JobRow['definition']['data']),
  text,
)

const policy = fc.record({
  overlap: fc.constantFrom('skip', 'skip', 'queue', 'replace', 'allow'),
  misfire: fc.constantFrom('latest', 'skip', 'all'),
  windowMs: fc.constantFrom(0, 1000, 100_000, 86_400_000, Number.MAX_SAFE_INTEGER),
  misfireLimit: fc.constantFrom(1, 100),
  takeOver: fc.boolean(),
  maxAttempts: fc.integer({ min: 1, max: 4 }),
  retries: fc.integer({ min: 0, max: 2 }),
  strategy: fc.constant('race'),
  jitterMs: fc.constantFrom(0, 0, 5000),
} as const)

const definition = fc.record({
  schedule: fc.oneof(fc.constant(null), fc.constant(every(1000)), fc.constant(every(60_000))),
  policy,
  backoffMs: fc.constant(1000),
  backoffMaxMs: fc.constant(60_000),
  data: json,
})

const cause = fc.constantFrom('', '', 'ask-1', 'ask-2')

const open = fc.record({
  cause,
  scheduledAt: past,
  openedAt: past,
  attempt: fc.integer({ min: 0, max: 4 }),
  failures: fc.integer({ min: 0, max: 2 }),
  checkpoint: json,
})

const fields = {
  task: fc.constantFrom('t1', 't1', 't2', 't3', '@lease'),
  definition,
  hash: fc.constantFrom('h1', 'h2', 'h3'),
  rev: fc.integer({ min: 1, max: 3 }),
  nextAt: fc.oneof(past, future, fc.constant(never)),
  afterAt: fc.oneof(fc.constant(null), future, past, fc.constant(never)),
  oldSchedules: fc.array(fc.record({ schedule: fc.oneof(fc.constant(null), fc.constant(every(1000))), until: past }), { maxLength: 2 }),
  open: maybe(open),
  dueAt: fc.oneof(past, past, past, future, fc.constant(never)),
  fence: fc.integer({ min: 5, max: 7 }),
  isAhead: fc.boolean(),
  lease: maybe(fc.record({ owner: fc.constantFrom(me, me, 'other'), claimId: maybe(fc.constantFrom('c1', 'c2')), mayStart: fc.boolean() })),
  acquiredAt: maybe(past),
  busy: maybe(range),
  held: maybe(range),
  pause: maybe(fc.record({ at: past, until: fc.oneof(past, future, fc.constant(never)), by: maybe(text), why: maybe(text) })),
  removedAt: fc.oneof(fc.constant(null), fc.constant(null), fc.constant(null), past),
  asked: fc.constantFrom(0, 0, 1, 2),
  lastCause: fc.constantFrom('', 'earlier'),
  lastAt: maybe(either),
  lastOwner: maybe(fc.constantFrom('other', 'gone')),
  endedAt: maybe(past),
  cancelFence: maybe(fc.constantFrom(5, 6, 7)),
  parent: fc.oneof(fc.constant(null), fc.constant(null), fc.constant(null), fc.constant({ id: 1, fence: 1 })),
}

type Fields = { readonly [K in keyof typeof fields]: (typeof fields)[K] extends fc.Arbitrary<infer Value> ? Value : never }

/** Any row at all. */
const wildRow = fc.record(fields)

/** A job that is due by one instant, or whose occurrence waits or runs, but for a few of its fields. */
const almostPlainRow = fc
  .tuple(wildRow, fc.uniqueArray(fc.constantFrom(...(Object.keys(fields) as (keyof Fields)[])), { maxLength: 2 }), maybe(open))
  .map(([wild, odd, opened]): Fields => {
    const plain: Fields = {
      ...wild,
      task: 't1',
      definition: { ...wild.definition, policy: { ...wild.definition.policy, overlap: 'skip', windowMs: 86_400_000 } },
      nextAt: -5000,
      afterAt: 120_000,
      oldSchedules: [],
      open: opened,
      dueAt: -5000,
      lease: opened === null ? null : wild.lease,
      busy: null,
      held: null,
      pause: null,
      removedAt: null,
      asked: 0,
      cancelFence: null,
      parent: null,
    }
    return { ...plain, ...Object.fromEntries(odd.map(field => [field, wild[field]])) }
  })

const row: fc.Arbitrary<Relative> = fc
  .tuple(fc.oneof(wildRow, almostPlainRow), fc.constantFrom('', '', '', 'busy', 'held'))
  .map(([made, touching]) => {
    const parent = made.task === '@lease' ? null : made.parent
    const lease = made.lease !== null && made.open === null && made.task !== '@lease' ? { ...made.lease, mayStart: false } : made.lease
    // a quiet range that ends with the cursor itself
    const quiet = touching === '' || made.nextAt === never ? {} : { [touching]: { from: made.nextAt - 1000, until: made.nextAt } }
    return { name: '', ...made, ...quiet, lease, parent, asked: parent === null ? made.asked : 0 } as Relative
  })

/** Rows that the replica holds, as a settle finds most of them. */
const heldRow = (mayStart: boolean): fc.Arbitrary<Relative> =>
  fc.tuple(row, open, fc.integer({ min: 0, max: 9 }), fc.boolean()).map(([made, opened, chance, isOpen]) => {
    if (chance === 0) return made
    const isLease = made.task === '@lease'
    const needsOpen = mayStart && !(isLease && isOpen)
    return {
      ...made,
      open: needsOpen ? (made.open ?? opened) : made.open,
      lease: { owner: me, claimId: 'c1', mayStart: mayStart || isLease },
    }
  })

const rows = (of: fc.Arbitrary<Relative>, most: number): fc.Arbitrary<Relative[]> => fc.array(of, { minLength: 1, maxLength: most })

interface World {
  readonly book: MemoryBook
  readonly rows: readonly JobRow[]
  /** The server's clock when the world was made. */
  readonly began: Instant
}

describe.skipIf(!chosenStores.includes('postgres'))('the statements say what the transitions say', () => {
  let client: pg.Client
  let store: Store

  beforeAll(async () => {
    const url = inject('postgresUrl') ?? ''
    client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`drop schema if exists ${schema} cascade`)
    await client.query(`set synchronous_commit = off`)
    store = postgres({ url, schema })
    await store.migrate('apply')
  })

  afterAll(async () => {
    await store.close()
    await client.query(`drop schema ${schema} cascade`)
    await client.end()
  })

  test('claim', async () => {
    const case_ = fc.record({
      rows: rows(row, 60),
      except: fc.integer({ min: 0, max: 20 }),
      claimId: fc.constantFrom('c1', 'new', 'new'),
      ttlMs: fc.constantFrom(30_000, 600_000),
    })
    await forAll(120, case_, async ({ rows: relative, except, claimId, ttlMs }) => {
      const world = await make(relative)
      const presence = { running: 1, draining: false, clockOffsetMs: 0.5, loopLagMs: 1.25 }
      const common = { owner: me, claimId, tasks: ['t1', 't2'], limit: 1000, ttlMs, liveForMs: 30_000 }
      const request = { ...common, notAfter: world.began + 60_000, except: [except], presence }
      const reply = await store.claim(request)
      const expected = claim(world.book, request, reply.now)
      const byId = (grants: typeof reply.grants) => [...grants].sort((a, b) => a.row.id - b.row.id)
      expect({ ...reply, grants: byId(reply.grants) }).toEqual({ ...expected, grants: byId(expected.grants) })
      await expectSame(world)
    })
  })

  test('claim, with others that live and a limit: as many as the fair share', async () => {
    const case_ = fc.record({
      rows: rows(row, 40),
      limit: fc.integer({ min: 0, max: 20 }),
      draining: fc.boolean(),
      seen: fc.array(fc.record({ ago: fc.integer({ min: 0, max: 60_000 }), draining: fc.boolean(), task: fc.constantFrom('t1', 't3') }), {
        maxLength: 4,
      }),
    })
    await forAll(60, case_, async ({ rows: relative, limit, draining, seen }) => {
      const world = await make(relative)
      await haveReplicas(world, [
        { id: me, ago: 50_000, draining: false, tasks: ['t1', 't2'], release: 'r1' },
        ...seen.map(({ ago, task, ...rest }, i) => ({
          ...rest,
          id: `other-${i}`,
          ago: ago > 25_000 ? ago + 10_000 : ago,
          tasks: [task],
          release: 'r1',
        })),
      ])
      const presence = { running: 2, draining, clockOffsetMs: -3, loopLagMs: 0 }
      const common = { owner: me, claimId: 'new', tasks: ['t1', 't2'], limit, ttlMs: 30_000, liveForMs: 30_000, except: [] }
      const request = { ...common, notAfter: world.began + 60_000, presence }
      const reply = await store.claim(request)
      const { grants, ...expected } = claim(world.book, request, reply.now)
      // which of the rows that fell due in the same millisecond are taken is left open
      const { grants: got, nextDueAt, ...rest } = reply
      const { nextDueAt: _, ...same } = expected
      expect({ ...rest, grants: got.length }).toEqual({ ...same, grants: grants.length })
      const dueAts = await before(
        world,
        got.map(grant => grant.row.id),
      )
      expect(dueAts).toEqual(
        await before(
          world,
          grants.map(grant => grant.row.id),
        ),
      )
      const { replicas } = await store.read('replicas', {})
      expect(replicas.find(({ id }) => id === me)).toMatchObject(presence)
    })
  })

  test('acquire', async () => {
    const leaseRow = row.map(made => ({ ...made, task: '@lease', parent: null }))
    const case_ = fc.record({
      row: fc.oneof(
        { weight: 9, arbitrary: leaseRow },
        { weight: 1, arbitrary: row.filter(made => made.parent === null && made.task !== '@lease') },
      ),
      claimId: fc.constantFrom('c1', 'c3'),
      at: fc.oneof(fc.constant('none'), fc.constant('same'), past, future, fc.constant(500)),
      isLate: fc.integer({ min: 0, max: 9 }).map(n => n === 0),
      isAbsent: fc.integer({ min: 0, max: 9 }).map(n => n === 0),
    })
    await forAll(150, fc.array(case_, { minLength: 1, maxLength: 10 }), async cases => {
      const world = await make(cases.map(one => one.row))
      for (const [index, { claimId, at, isLate, isAbsent }] of cases.entries()) {
        const old = world.rows[index]
        const instant = at === 'same' ? old?.open?.scheduledAt : at === 'none' ? undefined : world.began + Number(at)
        const name = isAbsent ? `absent-${index}` : (old?.name ?? '')
        const notAfter = world.began + (isLate ? -1000 : 60_000)
        const request = { owner: me, claimId, name, ttlMs: 5000, notAfter, ...(instant !== undefined && { at: instant }) }
        const reply = await store.acquire(request).catch(codeOf)
        const now = typeof reply === 'string' ? world.began : reply.now
        const expected = await attempt(() => acquire(world.book, request, now))
        if (typeof expected !== 'string' && expected.kind === 'held') expect(reply).toMatchObject({ kind: 'held', owner: expected.owner })
        // the instant at which a lease was made is the database's own
        else if (isAbsent && !isLate) expect(reply).toMatchObject({ kind: typeof expected === 'string' ? expected : expected.kind })
        else expect(reply).toEqual(expected)
      }
      if (!cases.some(one => one.isAbsent)) await expectSame(world)
    })
  })

  test('renew and checkpoint', async () => {
    const case_ = fc.record({
      rows: rows(heldRow(true), 20),
      wrong: fc.integer({ min: 0, max: 5 }),
      ttlMs: fc.constantFrom(1000, 30_000),
      value: json,
    })
    await forAll(60, case_, async ({ rows: relative, wrong, ttlMs, value }) => {
      const world = await make(relative)
      const leases = world.rows.map(({ id, fence }, index) => ({ rowId: id, fence: index === wrong ? fence + 1 : fence }))
      const reply = await store.renew({ owner: me, ttlMs, leases })
      const expected = renew(world.book, { owner: me, ttlMs, leases }, reply.now)
      const told = (of: typeof reply) =>
        of.leases.map(lease => (lease.state === 'lost' ? { ...lease, dueAt: 0, rev: 0, nextAt: 0, cancelled: false } : lease))
      expect(told(reply)).toEqual(told(expected))
      for (const { rowId, fence } of leases.slice(0, 4)) {
        const held = { rowId, owner: me, fence }
        expect(await store.checkpoint(held, value)).toBe(checkpoint(world.book, held, value, reply.now))
      }
      await expectSame(world)
    })
  })

  test('settle a run', async () => {
    const report = fc.record(
      {
        reason: fc.constantFrom('byHand' as const, null),
        error: maybe(fc.record({ name: text, message: text, stack: maybe(text) })),
        result: json,
        logTail: maybe(text.map(raw => raw.replaceAll('\0', ''))),
      },
      { requiredKeys: [] },
    )
    const successor = fc.constantFrom('none', 'fits', 'fits', 'rev', 'next')
    const end = fc.oneof(
      fc.record({
        kind: fc.constant('final' as const),
        verdict: fc.constantFrom('succeeded' as const, 'failed' as const, 'timedOut' as const),
      }),
      fc.record({ kind: fc.constant('retry' as const), backoffMs: fc.constantFrom(0, 1000, 90_000_000) }),
      fc.record({ kind: fc.constant('handBack' as const), started: fc.boolean() }),
    )
    const held = fc.record({
      row: heldRow(true),
      report,
      end,
      successor,
      isWrong: fc.integer({ min: 0, max: 9 }).map(n => n === 0),
    })
    const case_ = fc.record({
      cases: fc.array(held, { minLength: 1, maxLength: 40 }),
      isDoubled: fc.constantFrom(false, false, false, true),
    })
    await forAll(90, case_, async ({ cases, isDoubled }) => {
      const world = await make(cases.map(one => one.row))
      const items = cases.flatMap(({ report: told, end: ended, successor: fits, isWrong }, index): RunSettlement[] => {
        const old = world.rows[index]
        if (old === undefined) return []
        const next = {
          rev: old.rev + (fits === 'rev' ? 1 : 0),
          nextAt: old.nextAt + (fits === 'next' ? 1 : 0),
          afterAt: old.nextAt + 60_000,
        }
        const item: RunSettlement = {
          kind: 'run',
          rowId: old.id,
          fence: isWrong ? old.fence + 1 : old.fence,
          occurrence: old.open,
          end: { ...told, ...ended, successor: fits === 'none' ? null : next } as RunEnd,
        }
        return isDoubled ? [item, item] : [item]
      })
      // and once more, as after a lost reply
      for (let round = 0; round < 2; round++) {
        // leases without an occurrence have a statement, and so a now, of their own
        const isLet = ({ rowId, fence }: RunSettlement) => {
          const one = world.rows.find(({ id }) => id === rowId)
          return one?.task === '@lease' && one.open === null && one.lease?.owner === me && one.lease.mayStart && one.fence === fence
        }
        for (const part of [items.filter(isLet), items.filter(item => !isLet(item))]) {
          const reply = await store.settle({ owner: me, items: part })
          expect(reply.results).toEqual(settle(world.book, { owner: me, items: part }, reply.now).results)
        }
        await expectSame(world, { ignoreTimes: isDoubled })
      }
    })
  })

  test('settle a plan', async () => {
    const change = fc.constantFrom('none', 'none', 'none', 'none', 'none', 'rev', 'asked', 'next', 'open', 'cause', 'at', 'fence')
    const planned = fc.record({
      row: heldRow(false),
      change,
      asks: fc.array(fc.record({ kind: fc.constantFrom('manual' as const, 'backfill' as const), last: fc.boolean() }), { maxLength: 2 }),
      random: maybe(
        fc.record({
          closes: fc.boolean(),
          cursor: maybe(
            fc.record({ nextAt: fc.oneof(either, fc.constant(never)), afterAt: fc.oneof(future, fc.constant(never)), old: fc.boolean() }),
          ),
          pauseEnds: maybe(range),
          then: fc.constantFrom('idle' as const, 'open' as const, 'again' as const),
          cause,
        }),
      ),
    })
    await forAll(120, fc.array(planned, { minLength: 1, maxLength: 30 }), async cases => {
      const world = await make(cases.map(one => ({ ...one.row, asked: one.row.parent === null ? one.asks.length : 0 })))
      const items: PlanSettlement[] = []
      for (const [index, { change: changed, asks, random }] of cases.entries()) {
        const old = world.rows[index]
        if (old === undefined) continue
        const waiting = old.parent === null ? asks.map(({ kind, last }, i) => anAsk(`ask-${index}-${i}`, kind, world.began, last)) : []
        for (const ask of waiting) await haveAsk(world, old.id, ask)
        const oldest = (kind: Ask['kind']) => waiting.find(ask => ask.kind === kind) ?? null
        let made = plan(old, { manual: oldest('manual'), backfill: oldest('backfill') }, world.began, compile)
        if (random !== null) {
          const closes = random.closes && old.open !== null
          const isOpen = old.open !== null && !closes
          made = {
            ...made,
            closes,
            lines: made.lines.slice(0, 1),
            cursor:
              random.cursor === null
                ? null
                : {
                    nextAt: random.cursor.nextAt + world.began,
                    afterAt: random.cursor.afterAt + world.began,
                    oldSchedules: random.cursor.old ? old.oldSchedules : [],
                  },
            pauseEnds: random.pauseEnds === null ? null : shiftRange(random.pauseEnds, world.began),
            then:
              random.then === 'open'
                ? { kind: 'open', cause: random.cause, scheduledAt: world.began - 5, ask: null }
                : random.then === 'again' && isOpen
                  ? { kind: 'again' }
                  : { kind: 'idle' },
          }
        }
        const seen = {
          rev: made.seen.rev + (changed === 'rev' ? 1 : 0),
          asked: made.seen.asked + (changed === 'asked' ? 1 : 0),
          nextAt: changed === 'next' ? world.began : made.seen.nextAt,
          open: seenOpen(made.seen.open, changed),
        }
        const fence = changed === 'fence' ? old.fence + 1 : old.fence
        const item: PlanSettlement = { kind: 'plan', rowId: old.id, fence, claimId: 'c9', ttlMs: 30_000, plan: { ...made, seen } }
        items.push(item)
      }
      // extra rows that other plans of the same jobs made
      const parents = world.rows.slice(0, 3).filter(({ parent, task }) => parent === null && task !== '@lease')
      await insert(world.book, parents.map(decoyOf))
      // extra rows are numbered in another order
      const told = (results: readonly SettleResult[]) =>
        results.map(result => ('grant' in result ? { ...result, grant: { ...result.grant, row: { ...result.grant.row, id: 0 } } } : result))
      // and once more, as after a lost reply
      for (let round = 0; round < 2; round++) {
        const reply = await store.settle({ owner: me, items })
        expect(told(reply.results)).toEqual(told(settle(world.book, { owner: me, items }, reply.now).results))
        await expectSame(world, { ignoreIds: true })
        for (const { id, name } of world.rows) {
          expect((await store.read('asks', { name })).asks).toEqual(world.book.asks(world.book.rowNamed(name)?.id ?? id))
        }
      }
    })
  })

  test('what people do', async () => {
    const command = fc.oneof(
      fc.record({ kind: fc.constant('trigger' as const), id: fc.constantFrom('ask-1', 'ask-2', 'ask-3') }),
      fc.record({ kind: fc.constant('backfill' as const), id: fc.constantFrom('ask-1', 'ask-3'), at: past, until: either }),
      fc.record({ kind: fc.constant('pause' as const), until: fc.oneof(either, fc.constant(never)), by: maybe(text), why: maybe(text) }),
      fc.record({ kind: fc.constant('resume' as const) }),
      fc.record({ kind: fc.constant('cancel' as const) }),
      fc.record({ kind: fc.constant('skipNext' as const), isSeen: fc.boolean() }),
      fc.record({ kind: fc.constant('remove' as const), isSeen: fc.boolean(), isPassed: fc.boolean(), isCovering: fc.boolean() }),
    )
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), command), { minLength: 1, maxLength: 20 })
    await forAll(250, fc.record({ rows: rows(row, 10), steps }), async ({ rows: relative, steps: commands }) => {
      const world = await make(relative)
      for (const [index, made] of commands) {
        const current = world.book.row(world.rows[index % world.rows.length]?.id ?? 0)
        if (current === undefined) continue
        const whole = commandOf(made, current, world)
        const reply = await store.control(whole)
        expect({ reply, whole }).toEqual({ reply: control(world.book, whole, reply.now), whole })
      }
      await expectSame(world)
      for (const { id, name } of world.rows) {
        expect((await store.read('asks', { name })).asks).toEqual(world.book.asks(world.book.rowNamed(name)?.id ?? id))
      }
    })
  })

  test('declare', async () => {
    const declaration = fc.record({
      index: fc.integer({ min: 0, max: 12 }),
      hash: fc.constantFrom('h1', 'h2', 'h4'),
      definition,
      task: fc.constantFrom('t1', 't4'),
      upcoming: fc.array(either, { maxLength: 3 }),
      isClosed: fc.boolean(),
    })
    const release = fc.record({
      release: fc.constantFrom('r1', 'r2', 'r3', 'r4'),
      hash: fc.constantFrom('h1', 'h2', 'h4'),
      seen: past,
      row: fc.integer({ min: 0, max: 9 }),
    })
    const case_ = fc.record({
      rows: rows(
        row.filter(made => made.parent === null && made.task !== '@lease'),
        10,
      ),
      jobs: fc.uniqueArray(declaration, { selector: one => one.index, maxLength: 10 }),
      known: fc.uniqueArray(release, { selector: one => `${one.row}/${one.release}`, maxLength: 20 }),
      atRunTime: fc.boolean(),
    })
    await forAll(120, case_, async ({ rows: relative, jobs, known, atRunTime }) => {
      const world = await make(relative)
      await haveReplicas(world, [
        { id: 'second', ago: 1000, draining: false, tasks: [], release: 'r2' },
        { id: 'third', ago: 90_000, draining: false, tasks: [], release: 'r3' },
        { id: 'fourth', ago: 100, draining: true, tasks: [], release: 'r4' },
      ])
      for (const { release: name, hash, seen, row: index } of known) {
        const id = world.rows[index % world.rows.length]?.id ?? 0
        if (world.book.seeRelease(id, { release: name, hash, firstSeenAt: world.began + seen }).length === 0) continue
        await client.query(
          `insert into ${schema}.onetick_definitions values ($1, $2, $3, to_timestamp($4::float8 / 1000)) on conflict do nothing`,
          [id, name, hash, world.began + seen],
        )
      }
      await insert(world.book, world.rows.slice(0, 2).map(decoyOf))
      const declarations = jobs.map(({ index, upcoming, isClosed, ...rest }): Declaration => {
        const instants = [...new Set(upcoming)].sort((a, b) => a - b).map(at => at + world.began)
        return { ...rest, name: world.rows[index]?.name ?? `new-${index}`, upcoming: isClosed ? [...instants, never] : instants }
      })
      const replica: Replica = { id: me, host: 'host', version: '1', release: 'r1', role: 'all', tasks: ['t1'], capacity: 10 }
      const request = { replica, jobs: declarations, liveForMs: 30_000, ...(atRunTime && { atRunTime }) }
      const reply = await store.declare(request)
      expect(reply.results).toEqual(declare(world.book, request, reply.now).results)
      await expectSame(world, { ignoreIds: true })
      // asked again, everything stands as declared or is late or overruled as before
      const again = await store.declare(request)
      expect(again.results).toEqual(declare(world.book, request, again.now).results)
      await expectSame(world, { ignoreIds: true })
    })
  })

  async function forAll<T>(runs: number, of: fc.Arbitrary<T>, property: (made: T) => Promise<void>): Promise<void> {
    await fc.assert(fc.asyncProperty(of, property), {
      numRuns: isSoak ? 30 * runs : runs,
      endOnFailure: !isSoak && process.env['CI'] === undefined,
    })
  }

  async function make(relative: readonly Relative[]): Promise<World> {
    // ids begin at 1 in both; truncate would make twenty files anew each time
    await client.query(emptySql)
    const { rows: told } = await client.query<{ now: Date }>('select clock_timestamp() as now')
    const began = Number(told[0]?.now)
    const book = new MemoryBook()
    const made = await insert(
      book,
      relative.map((one, index) => shifted(one, index, began)),
    )
    return { book, rows: made, began }
  }

  async function insert(book: MemoryBook, rows_: readonly Omit<JobRow, 'id'>[]): Promise<JobRow[]> {
    const made = rows_.map(one => book.insert(one))
    await client.query(insertSql, [JSON.stringify(made.map(columnsOf))])
    return made
  }

  async function haveReplicas(
    { book, began }: World,
    replicas: readonly { id: string; ago: number; draining: boolean; tasks: string[]; release: string }[],
  ): Promise<void> {
    for (const { id, ago, draining, tasks, release } of replicas) {
      const replica: Replica = { id, host: 'h', version: '1', release, role: 'all', tasks, capacity: 1 }
      book.replicas.set(id, { ...replica, running: 0, draining, clockOffsetMs: 0, loopLagMs: 0, startedAt: began, seenAt: began - ago })
      await client.query(
        `insert into ${schema}.onetick_replicas (namespace, id, host, version, release, role, tasks, capacity, draining, started_at, seen_at)
values ('default', $1, 'h', '1', $2, 'all', $3, 1, $4, now(), to_timestamp($5::float8 / 1000))`,
        [id, release, tasks, draining, began - ago],
      )
    }
  }

  async function haveAsk({ book }: World, job: number, ask: Ask): Promise<void> {
    book.insertAsk(job, ask)
    await client.query(
      `insert into ${schema}.onetick_asked (job, id, kind, next_at, until_at, schedule)
values ($1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($5::float8 / 1000), $6)`,
      [job, ask.id, ask.kind, ask.at, ask.until, ask.schedule === null ? null : JSON.stringify(ask.schedule)],
    )
  }

  /** When rows fell due before the claim. */
  async function before({ rows: made }: World, ids: readonly number[]): Promise<readonly Instant[]> {
    return ids.map(id => made.find(one => one.id === id)?.dueAt ?? 0).sort((a, b) => a - b)
  }

  async function expectSame({ book }: World, but: { ignoreTimes?: boolean; ignoreIds?: boolean } = {}): Promise<void> {
    const { jobs } = await store.read('jobs', { all: true, removed: true })
    const { runs } = await store.read('runs', { limit: 10_000 })
    expect(ordered(jobs, but)).toEqual(ordered([...book.rows.values()], but))
    expect(orderedLines(runs, but)).toEqual(orderedLines(book.lines, but))
  }
})

function ordered(jobs: readonly JobRow[], { ignoreTimes = false, ignoreIds = false }): unknown[] {
  return jobs
    .map(job => ({ ...job, ...(ignoreTimes && timeless), ...(ignoreIds && { id: 0 }) }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.fence - b.fence || a.id - b.id))
}

/** A batch that holds a row twice is carried out in two steps, each with its own now. */
const timeless = { fence: 0, dueAt: 0, endedAt: 0, acquiredAt: 0, busy: null, open: null }

function orderedLines(lines: readonly (LedgerLine & { id: number; job: string })[], { ignoreTimes = false, ignoreIds = false }): unknown[] {
  const key = (line: LedgerLine): string => JSON.stringify([line.jobId, line.rowId, line.cause, line.scheduledAt, line.final, line.end])
  return lines
    .map(({ id: _id, job: _job, ...line }) => ({ ...line, ...(ignoreTimes && { endedAt: 0 }), ...(ignoreIds && { rowId: 0 }) }))
    .sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

function shiftRange<T extends { from: Instant; until: Instant } | null>(range_: T, by: number): T {
  return range_ === null ? range_ : { ...range_, from: range_.from + by, until: range_.until + by }
}

function shifted({ isAhead, ...made }: Relative, index: number, by: Instant): Omit<JobRow, 'id'> {
  const at = <T extends Instant | null>(instant: T): T => (instant === null ? instant : ((instant + by) as T))
  // fences below the clock's, and above it as after a clock that was set back
  const fence = (of: number): number => (isAhead ? (by + 1_000_000) * 1000 + of : of)
  return {
    ...made,
    name: `job-${String(index).padStart(3, '0')}`,
    nextAt: at(made.nextAt),
    afterAt: at(made.afterAt),
    oldSchedules: made.oldSchedules.map(old => ({ ...old, until: at(old.until) })),
    open: made.open === null ? null : { ...made.open, scheduledAt: at(made.open.scheduledAt), openedAt: at(made.open.openedAt) },
    // no two at once, so that the order in which they are taken is the same
    dueAt: at(made.dueAt < 0 ? Math.floor(made.dueAt / 64) * 64 - index : made.dueAt),
    fence: fence(made.fence),
    acquiredAt: at(made.acquiredAt),
    busy: shiftRange(made.busy, by),
    held: shiftRange(made.held, by),
    pause: made.pause === null ? null : { ...made.pause, at: at(made.pause.at), until: at(made.pause.until) },
    removedAt: at(made.removedAt),
    lastAt: at(made.lastAt),
    endedAt: at(made.endedAt),
    cancelFence: made.cancelFence === null ? null : fence(made.cancelFence),
    parent: made.parent === null ? null : { id: 1_000_000 + index, fence: index },
  }
}

function anAsk(id: string, kind: Ask['kind'], began: Instant, isLast: boolean): Ask {
  const at = began - 100_000
  return kind === 'manual'
    ? { id, kind, at, until: at, schedule: null }
    : { id, kind, at, until: isLast ? at : at + 50_000, schedule: every(1000) }
}

function seenOpen(seen: Seen['open'], changed: string): Seen['open'] {
  switch (changed) {
    case 'open':
      return seen === null ? { cause: '', scheduledAt: 0 } : null
    case 'cause':
      return seen === null ? null : { ...seen, cause: 'another' }
    case 'at':
      return seen === null ? null : { ...seen, scheduledAt: seen.scheduledAt + 1 }
    default:
      return seen
  }
}

/** An extra row that another plan of the same job made. */
function decoyOf({ id, ...made }: JobRow): Omit<JobRow, 'id'> {
  return {
    ...made,
    fence: made.fence - 1,
    lease: { owner: me, claimId: id % 3 === 0 ? 'c0' : 'c9', mayStart: id % 2 === 0 },
    open: { cause: '', scheduledAt: made.nextAt, openedAt: made.nextAt, attempt: 1, failures: 0, checkpoint: null },
    asked: 0,
    parent: { id, fence: made.fence - 2 },
  }
}

type Made = { readonly kind: Command['kind'] } & Record<string, unknown>

function commandOf(made: Made, current: JobRow, { book, began }: World): Command {
  const seen = {
    rev: current.rev,
    asked: current.asked,
    nextAt: current.nextAt,
    open: current.open === null ? null : { cause: current.open.cause, scheduledAt: current.open.scheduledAt },
  }
  const { name } = current
  const shown = made['isSeen'] === true ? seen : { ...seen, rev: seen.rev + 1 }
  switch (made.kind) {
    case 'cancel':
      return { kind: 'cancel', rowId: current.id }
    case 'skipNext':
      return { kind: 'skipNext', name, seen: shown, cursor: { nextAt: Math.max(current.nextAt, began) + 1000, afterAt: never } }
    case 'remove': {
      const asks = book.asks(current.id)
      const line = {
        rowId: current.id,
        jobId: current.id,
        untilAt: began,
        count: 3,
        attempt: 0,
        fence: current.fence,
        owner: null,
        startedAt: null,
      }
      const rest = { endedAt: began, end: 'skipped', final: true, reason: 'removed', error: null, result: null, logTail: null } as const
      const lines = asks.map(
        (ask): LedgerLine => ({ ...line, ...rest, cause: ask.id, scheduledAt: ask.at + (made['isCovering'] === false ? 1 : 0) }),
      )
      return { kind: 'remove', name, seen: shown, lines, nextAt: made['isPassed'] === true ? began - 1 : began + 700_000 }
    }
    case 'backfill':
      return {
        kind: 'backfill',
        name,
        id: String(made['id']),
        at: Number(made['at']) + began,
        until: Number(made['until']) + began,
        schedule: every(1000),
      }
    case 'pause':
      return { ...made, name, until: Number(made['until']) + began } as Command
    default:
      return { ...made, name } as Command
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

async function attempt<T>(body: () => T): Promise<T | string> {
  try {
    return body()
  } catch (error) {
    return codeOf(error)
  }
}

function columnsOf(made: JobRow): object {
  const { definition: defined, open: opened, lease, busy, held, pause, parent } = made
  const { policy: rules } = defined
  const at = (instant: Instant | null | undefined) =>
    instant === undefined || instant === null ? null : Number.isFinite(instant) ? instant : 'Infinity'
  return {
    name: made.name,
    task: made.task,
    definition: JSON.stringify(defined),
    hash: made.hash,
    rev: made.rev,
    overlap: rules.overlap,
    misfire: rules.misfire,
    window_ms: Math.min(rules.windowMs, 100_000_000_000_000),
    take_over: rules.takeOver,
    max_attempts: rules.maxAttempts,
    retries: rules.retries,
    jitter_ms: rules.jitterMs,
    next_at: at(made.nextAt),
    after_at: at(made.afterAt),
    old_schedules: JSON.stringify(made.oldSchedules),
    scheduled_at: at(opened?.scheduledAt),
    opened_at: at(opened?.openedAt),
    cause: opened?.cause ?? null,
    attempt: opened?.attempt ?? 0,
    failures: opened?.failures ?? 0,
    checkpoint: opened === null ? null : JSON.stringify(opened.checkpoint),
    due_at: at(made.dueAt),
    fence: made.fence,
    owner: lease?.owner ?? null,
    claim_id: lease?.claimId ?? null,
    may_start: lease?.mayStart ?? false,
    acquired_at: at(made.acquiredAt),
    busy_from: at(busy?.from),
    busy_until: at(busy?.until),
    held_from: at(held?.from),
    held_until: at(held?.until),
    paused_at: at(pause?.at),
    paused_until: at(pause?.until),
    paused_by: pause?.by ?? null,
    paused_why: pause?.why ?? null,
    removed_at: at(made.removedAt),
    asked: made.asked,
    last_cause: made.lastCause,
    last_at: at(made.lastAt),
    last_owner: made.lastOwner,
    ended_at: at(made.endedAt),
    cancel_fence: made.cancelFence,
    parent: parent?.id ?? null,
    parent_fence: parent?.fence ?? null,
  }
}

const instants = [
  ...['next_at', 'after_at', 'scheduled_at', 'opened_at', 'due_at', 'acquired_at', 'busy_from', 'busy_until', 'held_from', 'held_until'],
  ...['paused_at', 'paused_until', 'removed_at', 'last_at', 'ended_at'],
]
const texts = [
  'name',
  'task',
  'definition',
  'hash',
  'overlap',
  'misfire',
  'old_schedules',
  'cause',
  'checkpoint',
  'owner',
  'claim_id',
  'paused_by',
  'paused_why',
  'last_cause',
  'last_owner',
]
const booleans = ['take_over', 'may_start']
const numbers = [
  'rev',
  'window_ms',
  'max_attempts',
  'retries',
  'jitter_ms',
  'attempt',
  'failures',
  'fence',
  'asked',
  'cancel_fence',
  'parent',
  'parent_fence',
]
const asJson = ['definition', 'old_schedules', 'checkpoint']
const columns = [...texts, ...booleans, ...numbers, ...instants]

const emptySql = ['jobs', 'asked', 'definitions', 'runs', 'replicas']
  .map(name => `delete from ${schema}.onetick_${name};`)
  .join('\n')
  .concat(`
select setval(pg_get_serial_sequence('${schema}.onetick_jobs', 'id'), 1, false);`)

const insertSql = `
insert into ${schema}.onetick_jobs (namespace, ${columns.join(', ')})
select 'default', ${columns.map(name => (instants.includes(name) ? `to_timestamp(${name} / 1000)` : asJson.includes(name) ? `${name}::json` : name)).join(', ')}
from json_to_recordset($1::json) as r (
  ${[...texts.map(name => `${name} text`), ...booleans.map(name => `${name} boolean`), ...numbers.map(name => `${name} bigint`), ...instants.map(name => `${name} float8`)].join(', ')}
)`
