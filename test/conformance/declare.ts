import { describe, expect } from 'vitest'
import type { JobRow } from '../../src/domain/job.ts'
import type { DeclareRequest } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { aDeclaration, aReplica, heldBy, type JobParts, longMs, runSettlement, seenOf, threw } from './requests.ts'
import { every, listed, never, rarely, rareMs } from './rows.ts'
import type { Subject } from './subject.ts'

export function declaring(subject: Subject): void {
  const test = testsOf(subject)
  const seldomMs = 900_000_000_000
  const seldom = every(seldomMs)

  describe('declare', () => {
    test('a new job waits for its first instant after now, and is kept as it was declared', async arena => {
      const now = await arena.now()
      const job = aDeclaration(
        { schedule: { schedule: '0 3 * * *', timeZone: 'Europe/Berlin', dst: { gap: 'skip', fold: 'both' } }, data: { a: [1] } },
        now,
      )
      const upcoming = [now - 5000, now, now + 100_000, now + 200_000]
      expect(await arena.declare({ ...job, upcoming })).toBe('new')
      expect(await arena.row()).toEqual({
        id: expect.any(Number),
        name: 'job',
        task: 'task',
        definition: job.definition,
        hash: job.hash,
        rev: 1,
        nextAt: now + 100_000,
        afterAt: now + 200_000,
        oldSchedules: [],
        open: null,
        dueAt: now + 100_000,
        fence: 0,
        lease: null,
        acquiredAt: null,
        busy: null,
        held: null,
        pause: null,
        removedAt: null,
        asked: 0,
        lastCause: '',
        lastAt: null,
        lastOwner: null,
        endedAt: null,
        cancelFence: null,
        parent: null,
      } satisfies JobRow)
    })

    test('a job is due its jitter after its instant', async arena => {
      const row = await arena.job({ policy: { jitterMs: 1234 } })
      expect(row.dueAt).toBe(row.nextAt + 1234)
    })

    test('instants that have passed are late: nothing is declared', async arena => {
      const now = await arena.now()
      for (const upcoming of [[], [now - 2000], [now - 2000, now - 1000]])
        expect(await arena.declare({ ...aDeclaration({}, now), upcoming })).toBe('late')
      expect(await arena.rows()).toEqual([])
    })

    test('many jobs are answered in their order', async arena => {
      const now = await arena.now()
      const declare = (jobs: JobParts[]) =>
        arena.store.declare({ replica: aReplica(), jobs: jobs.map(parts => aDeclaration(parts, now)), liveForMs: longMs })
      expect((await declare([{ name: 'b' }, { name: 'a' }])).results).toEqual(['new', 'new'])
      expect((await declare([{ name: 'a' }, { name: 'c' }, { name: 'b', data: 1 }])).results).toEqual(['unchanged', 'new', 'edited'])
    })

    test('declaring a job again changes nothing, whatever state it is in', async arena => {
      const now = await arena.now()
      const schedule = listed(now + 100, now + 200, now + 900_000, now + 1_000_000)
      const declareAll = () =>
        Promise.all(
          ['due', 'running', 'paused', 'waiting', 'asked'].map(async name =>
            arena.declare(aDeclaration({ name, schedule, policy: { retries: 1 } }, await arena.now())),
          ),
        )
      expect(new Set(await declareAll())).toEqual(new Set(['new']))
      await arena.until(now + 200)
      await arena.control({ kind: 'pause', name: 'paused', until: never, by: null, why: null })
      const { id } = await arena.row('due')
      for (const grant of await arena.start({ except: [id], limit: 4 })) {
        if (grant.row.name === 'waiting') await arena.settle(runSettlement(grant, threw(grant, longMs)))
      }
      await arena.trigger('m', 'asked')
      const rows = await arena.rows()
      expect(new Set(await declareAll())).toEqual(new Set(['unchanged']))
      expect(await arena.rows()).toEqual(rows)
    })

    test('ten replicas that declare the same at once make it once', async arena => {
      const now = await arena.now()
      const jobs = Array.from({ length: 20 }, (_, i) => aDeclaration({ name: `job ${i}` }, now))
      const stores = await Promise.all(Array.from({ length: 5 }, () => arena.connect()))
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          // each in an order of its own
          (stores[i % 5] ?? arena.store).declare({
            replica: aReplica({ id: `replica ${i}` }),
            jobs: i % 2 ? jobs : jobs.toReversed(),
            liveForMs: longMs,
          }),
        ),
      )
      const results = replies.flatMap(reply => reply.results)
      expect(results.filter(result => result === 'new')).toHaveLength(20)
      expect(results.filter(result => result === 'unchanged')).toHaveLength(180)
      expect(await arena.rows()).toHaveLength(20)
    })
  })

  describe('an edit', () => {
    test('moves a cursor that is still to come, and nothing else', async arena => {
      const before = await arena.job({ schedule: rarely })
      const after = await arena.job({ schedule: seldom, task: 'other' })
      expect(after).toEqual({
        ...before,
        task: 'other',
        definition: after.definition,
        hash: after.hash,
        rev: before.rev + 1,
        nextAt: after.nextAt,
        afterAt: after.nextAt + seldomMs,
        dueAt: after.nextAt,
      })
      expect(after.nextAt % seldomMs).toBe(0)
    })

    test('leaves what is due to the schedule that asked for it', async arena => {
      const { nextAt, definition } = await arena.due({}, [1])
      await arena.until(nextAt + 1)
      const row = await arena.job({ schedule: rarely })
      const [old] = row.oldSchedules
      expect(row).toMatchObject({
        nextAt,
        afterAt: null,
        dueAt: nextAt,
        oldSchedules: [{ schedule: definition.schedule, until: old?.until }],
      })
      expect(old?.until).toBeGreaterThanOrEqual(nextAt + 1)
      const grant = await arena.startOne()
      expect(grant.row).toMatchObject({ open: { scheduledAt: nextAt + 1 }, oldSchedules: [] })
      expect(grant.row.nextAt % rareMs).toBe(0)
      expect(await arena.verdicts()).toEqual(['= superseded misfire'])
    })

    test('during a run leaves lease and occurrence alone', async arena => {
      await arena.due({}, [200_000])
      const grant = await arena.grant()
      const row = await arena.job({ schedule: rarely })
      expect(row).toMatchObject({ lease: grant.row.lease, open: grant.row.open, dueAt: grant.row.dueAt, fence: grant.row.fence })
      expect((await arena.renew(heldBy(grant))).state).toBe('held')
      expect(await arena.succeed(grant)).toEqual({ kind: 'settled' })
      expect(await arena.row()).toMatchObject({ nextAt: row.nextAt, dueAt: row.nextAt })
    })

    test('does not resume what is paused', async arena => {
      await arena.job()
      await arena.control({ kind: 'pause', name: 'job', until: never, by: 'me', why: null })
      const { pause } = await arena.row()
      expect(await arena.job({ data: 'edited' })).toMatchObject({ pause, dueAt: never })
    })

    test('with instants that have passed is late, and nothing is edited', async arena => {
      const row = await arena.job()
      const now = await arena.now()
      expect(await arena.declare({ ...aDeclaration({ data: 'edited' }, now), upcoming: [now - 1000] }, { atRunTime: true })).toBe('late')
      expect(await arena.row()).toEqual(row)
    })

    test('of a removed job brings the same row back, its cursor after now, its fence kept', async arena => {
      await arena.due({ policy: { overlap: 'skip' } }, [1])
      const grant = await arena.startOne()
      await arena.succeed(grant)
      const { fence, id } = grant.row
      await remove(arena)
      const now = await arena.now()
      expect(await arena.declare(aDeclaration({ schedule: rarely }, now))).toBe('edited')
      const row = await arena.row()
      expect(row).toMatchObject({ id, fence, removedAt: null, busy: null, held: null, oldSchedules: [], dueAt: row.nextAt })
      expect(row.nextAt).toBeGreaterThan(now)
    })

    test('of a job that was removed and not otherwise changed brings it back as well', async arena => {
      const job = aDeclaration({ schedule: rarely }, await arena.now())
      await arena.declare(job)
      await remove(arena)
      expect(await arena.declare(job)).toBe('edited')
      expect(await arena.row()).toMatchObject({ removedAt: null, hash: job.hash })
    })

    test('the fence rises across removal and return', async arena => {
      const { nextAt } = await arena.due()
      const grant = await arena.grant()
      await arena.succeed(grant)
      await remove(arena)
      expect(nextAt).toBeGreaterThan(0)
      await arena.due()
      const next = await arena.grant()
      expect(next.row.id).toBe(grant.row.id)
      expect(next.row.fence).toBeGreaterThan(grant.row.fence)
    })
  })

  describe('of two releases', () => {
    const old = { release: 'old', data: 'old' }
    const young = { release: 'young', data: 'young' }
    const declareAs = async (arena: Arena, { release, data }: typeof old, options: Partial<DeclareRequest> = {}, id = release) =>
      arena.declare(aDeclaration({ data, schedule: rarely }, await arena.now()), {
        replica: aReplica({ id, release }),
        liveForMs: longMs,
        ...options,
      })
    const data = async (arena: Arena) => (await arena.row()).definition.data

    /** Both are known, the younger first seen later. */
    const rollout = async (arena: Arena) => {
      expect(await declareAs(arena, old)).toBe('new')
      await arena.sleep(2)
      expect(await declareAs(arena, young)).toBe('edited')
    }

    test('the newer one wins, and an old pod that restarts changes nothing', async arena => {
      await rollout(arena)
      const row = await arena.row()
      expect(await declareAs(arena, old, {}, 'old pod 2')).toBe('overruled')
      expect(await arena.row()).toEqual(row)
      expect(await data(arena)).toBe('young')
      expect(await declareAs(arena, young)).toBe('unchanged')
    })

    test('the older one is in force again once the newer has left', async arena => {
      await rollout(arena)
      await arena.control({ kind: 'leave', replicaId: 'young' })
      expect(await declareAs(arena, old)).toBe('edited')
      expect(await data(arena)).toBe('old')
    })

    test('the older one is in force again once nobody has heard of the newer for long', async arena => {
      await rollout(arena)
      await arena.sleep(40)
      expect(await declareAs(arena, old, { liveForMs: 20 })).toBe('edited')
      expect(await data(arena)).toBe('old')
    })

    test('the newer one is in force again when it comes back', async arena => {
      await rollout(arena)
      await arena.control({ kind: 'leave', replicaId: 'young' })
      await declareAs(arena, old)
      expect(await declareAs(arena, young)).toBe('edited')
      expect(await declareAs(arena, old)).toBe('overruled')
    })

    test('a claim is a sign of life', async arena => {
      await rollout(arena)
      const { now } = await arena.store.read('status', {})
      await arena.sleep(400)
      await arena.claim({ owner: 'young' })
      const since = (await arena.now()) - now - 200
      expect(await declareAs(arena, old, { liveForMs: since })).toBe('overruled')
    })

    test('that say the same of a job neither overrules the other', async arena => {
      await declareAs(arena, old)
      await arena.sleep(2)
      expect(await declareAs(arena, { release: 'young', data: 'old' })).toBe('unchanged')
      expect(await declareAs(arena, old)).toBe('unchanged')
    })

    test('an edit made at run time wins over both', async arena => {
      await rollout(arena)
      expect(await declareAs(arena, { release: 'old', data: 'at run time' }, { atRunTime: true })).toBe('edited')
      expect(await data(arena)).toBe('at run time')
      expect(await declareAs(arena, { release: 'young', data: 'again' }, { atRunTime: true })).toBe('edited')
      expect(await data(arena)).toBe('again')
    })
  })
}

async function remove(arena: Arena): Promise<void> {
  const row = await arena.row()
  expect(await arena.control({ kind: 'remove', name: 'job', seen: seenOf(row), lines: [], nextAt: never })).toBe('done')
}
