import { describe, expect } from 'vitest'
import { removalLines } from '../../src/domain/people.ts'
import type { ClaimReply } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { aReplica, handedBack, longMs, runSettlement, seenOf } from './requests.ts'
import { compile, never, rarely } from './rows.ts'
import type { Subject } from './subject.ts'

export function claiming(subject: Subject): void {
  const test = testsOf(subject)

  describe('claim', () => {
    test('an occurrence that is on time is opened by the claim itself', async arena => {
      const before = await arena.due()
      const { grants, now } = await arena.claim({ owner: 'a', claimId: 'c1', ttlMs: 5000 })
      expect(grants).toHaveLength(1)
      const { row } = grants[0]!
      expect(row).toMatchObject({
        id: before.id,
        lease: { owner: 'a', claimId: 'c1', mayStart: true },
        open: { cause: '', scheduledAt: before.nextAt, attempt: 1, failures: 0, checkpoint: null },
        nextAt: before.afterAt,
        afterAt: null,
      })
      expect(row.dueAt - (row.acquiredAt ?? 0)).toBe(5000)
      expect(row.acquiredAt).toBe(row.open?.openedAt)
      // remaining trust is counted from the reply's now
      expect(Math.abs(row.dueAt - now - 5000)).toBeLessThanOrEqual(1)
      expect(row.fence).toBeGreaterThan(before.fence)
      expect(row.fence).toBeGreaterThanOrEqual((row.acquiredAt ?? 0) * 1000)
      expect(await arena.row()).toEqual(row)
      expect(await arena.runs()).toEqual([])
    })

    test('what is not due is not claimed, and the reply says when it will be', async arena => {
      const row = await arena.job()
      await arena.job({ name: 'other task', task: 'other' })
      const { grants, nextDueAt, moreDue, anyLeased } = await arena.claim({ tasks: ['task'], owner: 'a' })
      expect({ grants, moreDue, anyLeased }).toEqual({ grants: [], moreDue: false, anyLeased: false })
      expect(nextDueAt).toBe(row.dueAt)
      expect(await arena.row()).toEqual(row)
    })

    test('where nothing will ever be due, the reply says never', async arena => {
      await arena.job({ schedule: null })
      expect(await arena.claim()).toMatchObject({ grants: [], nextDueAt: never, moreDue: false, anyLeased: false })
      expect(await arena.claim({ tasks: [] })).toMatchObject({ grants: [], nextDueAt: never, moreDue: false, anyLeased: false })
    })

    test('the reply tells of the expiry of what others hold, and of the next instant of a leased job', async arena => {
      const row = await arena.due({}, [100_000])
      const grant = await arena.grant({ owner: 'a', ttlMs: 50_000 })
      expect(await arena.claim({ owner: 'b' })).toMatchObject({ grants: [], nextDueAt: grant.row.dueAt, anyLeased: true, moreDue: false })
      const { dueAt } = await arena.renew({ rowId: row.id, owner: 'a', fence: grant.row.fence }, longMs)
      expect(dueAt).toBeGreaterThan(row.afterAt ?? never)
      expect(await arena.claim({ owner: 'b' })).toMatchObject({ nextDueAt: row.afterAt, anyLeased: true })
    })

    test('a claim that was just granted counts as leased', async arena => {
      await arena.due()
      expect(await arena.claim()).toMatchObject({ anyLeased: true, moreDue: false })
    })

    test('a lost claim is found again by its id, and claims nothing more', async arena => {
      await arena.manyDue(3)
      const request = await arena.claimRequest({ claimId: 'lost', limit: 2 })
      const first = await arena.store.claim(request)
      const again = await (await arena.connect()).claim(request)
      expect(first.grants).toHaveLength(2)
      expect(byId(again.grants)).toEqual(byId(first.grants))
      expect((await arena.rows()).filter(row => row.lease !== null)).toHaveLength(2)
      expect(again.moreDue).toBe(true)
    })

    test('a claim found again is the one of this replica only', async arena => {
      await arena.manyDue(2)
      const mine = await arena.grant({ owner: 'a', claimId: 'same', limit: 1 })
      const other = await arena.grant({ owner: 'b', claimId: 'same', limit: 1 })
      expect(other.row.id).not.toBe(mine.row.id)
    })

    test('a claim that arrives late claims nothing', async arena => {
      await arena.due()
      const now = await arena.now()
      expect(await arena.claim({ notAfter: now - 1 })).toMatchObject({ grants: [], moreDue: true })
      expect((await arena.row()).lease).toBe(null)
    })

    test('a claim that arrives late still finds what it was given', async arena => {
      await arena.due()
      const { row } = await arena.grant({ claimId: 'lost' })
      const again = await arena.claim({ claimId: 'lost', notAfter: (await arena.now()) - 1 })
      expect(again.grants.map(grant => grant.row)).toEqual([row])
    })

    test('a claim takes no more than there is room for, the longest due first', async arena => {
      const first = await arena.due({ name: 'first' })
      const second = await arena.due({ name: 'second' })
      expect(second.dueAt).toBeGreaterThan(first.dueAt)
      const { grants, moreDue } = await arena.claim({ limit: 1 })
      expect(grants.map(({ row }) => row.name)).toEqual(['first'])
      expect(moreDue).toBe(true)
      expect((await arena.claim({ limit: 1 })).moreDue).toBe(false)
    })

    test('a claim without room claims nothing', async arena => {
      await arena.due()
      expect(await arena.claim({ limit: 0 })).toMatchObject({ grants: [], moreDue: true })
    })

    test('only tasks that the replica knows are claimed', async arena => {
      await arena.due({ name: 'mine', task: 'mine' })
      await arena.due({ name: 'other', task: 'other' })
      const names = async (tasks: string[]) => (await arena.claim({ tasks })).grants.map(({ row }) => row.name)
      expect(await names([])).toEqual([])
      expect(await names(['nobody', "'; --"])).toEqual([])
      expect(await names(['mine', 'also mine'])).toEqual(['mine'])
      expect(await names(['mine', 'other'])).toEqual(['other'])
    })

    test('a claim tells what the replica says of itself', async arena => {
      await arena.store.declare({ replica: aReplica({ id: 'a', tasks: ['task'], capacity: 7 }), jobs: [], liveForMs: longMs })
      const presence = { running: 3, draining: true, clockOffsetMs: -1500, loopLagMs: 12 }
      await arena.store.claim({ ...(await arena.claimRequest()), presence })
      const { replicas } = await arena.store.read('replicas', {})
      expect(replicas).toEqual([expect.objectContaining({ id: 'a', capacity: 7, ...presence })])
    })
  })

  describe('takeover', () => {
    test('an expired lease is taken over by another replica, as the next attempt, under a higher fence', async arena => {
      await arena.due()
      const { row: before } = await arena.vanish({ owner: 'gone' })
      const { row } = await arena.grant({ owner: 'b' })
      expect(row).toMatchObject({
        id: before.id,
        lease: { owner: 'b', mayStart: true },
        lastOwner: 'gone',
        open: { ...before.open, attempt: 2 },
      })
      expect(row.fence).toBeGreaterThan(before.fence)
      expect(await arena.runs()).toEqual([
        expect.objectContaining({
          end: 'leaseLost',
          final: false,
          attempt: 1,
          owner: 'gone',
          fence: before.fence,
          startedAt: before.acquiredAt,
          endedAt: before.dueAt,
          scheduledAt: before.open?.scheduledAt,
        }),
      ])
    })

    test('a lease is not taken over before it expires', async arena => {
      await arena.due()
      const { row } = await arena.grant({ ttlMs: 150 })
      for (;;) {
        const { grants, now } = await arena.claim({ owner: 'b' })
        if (grants.length > 0) {
          expect(now).toBeGreaterThanOrEqual(row.dueAt)
          expect(grants[0]?.row.acquiredAt).toBeGreaterThanOrEqual(row.dueAt)
          return
        }
        await arena.sleep(5)
      }
    })

    test('a replica does not take over from itself while its handler lives', async arena => {
      const { id } = await arena.due()
      await arena.vanish({ owner: 'a' })
      expect(await arena.claim({ owner: 'a', except: [id] })).toMatchObject({ grants: [], moreDue: false })
      expect(await arena.claim({ owner: 'a', except: [id + 1, id + 2] })).toMatchObject({ grants: [{ row: { id, open: { attempt: 2 } } }] })
    })

    test('a replica that was restarted under its name takes over from its former self', async arena => {
      await arena.due()
      await arena.vanish({ owner: 'a' })
      expect((await arena.grant({ owner: 'a' })).row.open?.attempt).toBe(2)
    })

    test('what was handed back starts elsewhere at once', async arena => {
      await arena.due()
      const grant = await arena.grant({ owner: 'a' })
      expect(await arena.settle(runSettlement(grant, handedBack(grant)))).toEqual({ kind: 'settled' })
      const { row } = await arena.grant({ owner: 'b' })
      expect(row).toMatchObject({ open: { scheduledAt: grant.row.open?.scheduledAt, attempt: 2 }, lease: { mayStart: true } })
    })

    test('a run that takes the fleet down with it is abandoned when its attempts are used up', async arena => {
      await arena.due({ policy: { maxAttempts: 3 } })
      for (const attempt of [1, 2, 3]) expect((await arena.vanish()).row.open?.attempt).toBe(attempt)
      const { result } = await arena.planned()
      expect(result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['leaseLost', 'leaseLost', 'leaseLost', '= abandoned attempts'])
      expect((await arena.claim()).grants).toEqual([])
    })

    test('without takeover an occurrence does not start again after a vanished one', async arena => {
      await arena.due({ policy: { takeOver: false } })
      await arena.vanish()
      expect((await arena.planned()).result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['leaseLost', '= abandoned takeover'])
      expect((await arena.claim()).grants).toEqual([])
    })

    test('a holder that vanished while it planned has used up no attempt', async arena => {
      await arena.due({}, [1])
      await arena.sleep(2)
      const { row } = await arena.vanish()
      expect(row.lease?.mayStart).toBe(false)
      expect((await arena.startOne()).row.open?.attempt).toBe(1)
      expect(await arena.verdicts()).toEqual(['= superseded misfire'])
    })
  })

  describe('an instant that is still to come', () => {
    const skipTwo = async (arena: Arena) => {
      for (let i = 0; i < 2; i++) {
        const row = await arena.row()
        const { next } = compile(row.definition.schedule ?? rarely)
        const cursor = { nextAt: next(row.nextAt), afterAt: next(next(row.nextAt)) }
        expect(await arena.control({ kind: 'skipNext', name: 'job', seen: seenOf(row), cursor })).toBe('done')
      }
    }

    test('is not opened ahead of time when its planner vanished before the one that was due was skipped', async arena => {
      const { nextAt } = await arena.due({}, [1])
      await arena.until(nextAt + 1)
      await arena.vanish()
      await skipTwo(arena)
      const { grant, result } = await arena.planned({ owner: 'b' })
      expect(grant.row).toMatchObject({ open: null, nextAt: nextAt + 365 * 86_400_000 })
      expect(result).toEqual({ kind: 'settled' })
      expect(await arena.row()).toMatchObject({ lease: null, open: null, dueAt: nextAt + 365 * 86_400_000 })
      expect(await arena.verdicts()).toEqual(['= skipped byHand', '= skipped byHand'])
    })

    test('is not opened ahead of time when its planner vanished before the job was removed and declared again', async arena => {
      const before = await arena.due({}, [1])
      await arena.until(before.nextAt + 1)
      await arena.vanish()
      const row = await arena.row()
      const lines = removalLines(row, [], await arena.now(), compile)
      expect(await arena.control({ kind: 'remove', name: 'job', seen: seenOf(row), lines, nextAt: never })).toBe('done')
      await arena.job({ schedule: rarely })
      expect((await arena.planned({ owner: 'b' })).result).toEqual({ kind: 'settled' })
      expect((await arena.row()).open).toBe(null)
    })
  })

  describe('fair share', () => {
    test('two live replicas share what is due, and what is left after 50 ms is anyone’s', async arena => {
      expect(await share(arena, 10, ['a', 'b'])).toMatchObject({ grants: { length: 5 }, moreDue: true })
      await arena.sleep(60)
      expect((await arena.claim({ owner: 'a' })).grants).toHaveLength(5)
    })

    test('a share is never less than one', async arena => {
      expect((await share(arena, 1, ['a', 'b', 'c'])).grants).toHaveLength(1)
    })

    test('a draining replica, one that has left and one with other tasks have no share', async arena => {
      expect((await share(arena, 4, ['a', 'other tasks', 'draining', 'gone'])).grants).toHaveLength(4)
    })

    test('a replica not heard of for long has no share', async arena => {
      await arena.store.declare({ replica: aReplica({ id: 'silent', tasks: ['task'] }), jobs: [], liveForMs: longMs })
      await arena.sleep(50)
      const due = await arena.manyDue(4)
      const { grants, now } = await arena.claim({ owner: 'a', liveForMs: 40 })
      arena.inTime(now - due < 50)
      expect(grants).toHaveLength(4)
    })
  })
}

/** What `a` is granted of `count` due jobs, as one of these replicas, before anything counts as left by the others. */
async function share(arena: Arena, count: number, ids: readonly string[]): Promise<ClaimReply> {
  for (const id of ids) {
    const tasks = [id === 'other tasks' ? 'other' : 'task']
    await arena.store.declare({ replica: aReplica({ id, tasks, role: 'all' }), jobs: [], liveForMs: longMs })
    const presence = { running: 0, draining: id === 'draining', clockOffsetMs: 0, loopLagMs: 0 }
    await arena.store.claim({ ...(await arena.claimRequest({ owner: id, tasks })), presence })
    if (id === 'gone') await arena.control({ kind: 'leave', replicaId: id })
  }
  const due = await arena.manyDue(count)
  const reply = await arena.claim({ owner: 'a', liveForMs: longMs })
  arena.inTime(reply.now - due < 50)
  return reply
}

function byId<T extends { readonly row: { readonly id: number } }>(grants: readonly T[]): T[] {
  return [...grants].sort((a, b) => a.row.id - b.row.id)
}
