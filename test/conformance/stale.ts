import { describe, expect } from 'vitest'
import { testsOf } from './driver.ts'
import { planOf, planSettlement, runSettlement, succeeded } from './requests.ts'
import type { Subject } from './subject.ts'

export function planningAnew(subject: Subject): void {
  const test = testsOf(subject)

  describe('a plan that comes too late', () => {
    test('is stale after an edit: nothing is written, and the row as it is now comes back', async arena => {
      const { definition } = await arena.late()
      const { grants, now } = await arena.claim()
      const grant = grants[0]!
      await arena.job({ schedule: definition.schedule, data: 'edited' })
      const made = planOf(grant, now)
      const result = await arena.settle(planSettlement(grant, made))
      if (result.kind !== 'stale') throw new Error(result.kind)
      expect(result.grant.row).toEqual(await arena.row())
      expect(result.grant.row).toMatchObject({ definition: { data: 'edited' }, lease: grant.row.lease, fence: grant.row.fence })
      expect(await arena.runs()).toEqual([])
      const again = await arena.settle(planSettlement(result.grant, planOf(result.grant, now)))
      expect(again).toMatchObject({
        kind: 'granted',
        grant: { row: { open: { scheduledAt: made.then.kind === 'open' ? made.then.scheduledAt : 0 } } },
      })
      expect(await arena.verdicts()).toEqual(['= superseded misfire × 2'])
    })

    test('is stale after something was asked for, which then comes first', async arena => {
      await arena.late()
      const { grants, now } = await arena.claim()
      const grant = grants[0]!
      await arena.trigger('m')
      const result = await arena.settle(planSettlement(grant, planOf(grant, now)))
      if (result.kind !== 'stale') throw new Error(result.kind)
      expect(result.grant.manual).toMatchObject({ id: 'm' })
      const again = await arena.settle(planSettlement(result.grant, planOf(result.grant, now)))
      expect(again).toMatchObject({ kind: 'granted', grant: { row: { open: { cause: 'm' } } } })
    })

    test('is stale after the next instant was skipped by hand', async arena => {
      const { rev, asked, nextAt } = await arena.late()
      const { grants, now } = await arena.claim()
      const grant = grants[0]!
      const skip = {
        kind: 'skipNext',
        name: 'job',
        seen: { rev, asked, nextAt, open: null },
        cursor: { nextAt: nextAt + 1, afterAt: nextAt + 2 },
      } as const
      expect(await arena.control(skip)).toBe('done')
      const result = await arena.settle(planSettlement(grant, planOf(grant, now)))
      if (result.kind !== 'stale') throw new Error(result.kind)
      await arena.settle(planSettlement(result.grant, planOf(result.grant, now)))
      expect(await arena.verdicts()).toEqual(['= skipped byHand', '= superseded misfire'])
    })

    test('of an old fence, or another owner, is lost and changes nothing', async arena => {
      await arena.late()
      const { grants, now } = await arena.claim({ owner: 'a', ttlMs: 1 })
      const grant = grants[0]!
      await arena.until(grant.row.dueAt + 1)
      const { row } = await arena.grant({ owner: 'b' })
      const item = planSettlement(grant, planOf(grant, now))
      expect(await arena.settle(item)).toEqual({ kind: 'lost' })
      expect(await arena.settle({ ...item, fence: row.fence }, 'a')).toEqual({ kind: 'lost' })
      expect(await arena.row()).toEqual(row)
      expect(await arena.runs()).toEqual([])
    })

    test('after its reply was lost is granted again, and written down once', async arena => {
      await arena.late()
      const { grant, plan, result } = await arena.planned()
      if (result.kind !== 'granted') throw new Error(result.kind)
      const again = await arena.settle(planSettlement(grant, plan), 'a', await arena.connect())
      expect(again).toEqual(result)
      expect(await arena.row()).toEqual(result.grant.row)
      expect(await arena.verdicts()).toEqual(['= superseded misfire × 2'])
    })

    test('after its reply was lost, of nothing to run, is found to be done', async arena => {
      const { nextAt } = await arena.late({ policy: { windowMs: 5 } })
      await arena.until(nextAt + 20)
      const { grant, plan } = await arena.planned()
      const row = await arena.row()
      expect(await arena.settle(planSettlement(grant, plan))).toEqual({ kind: 'already' })
      expect(await arena.row()).toEqual(row)
    })

    test('after its reply was lost uses an ask up once', async arena => {
      await arena.job()
      await arena.trigger('m1')
      await arena.trigger('m2')
      const { grant, plan, result } = await arena.planned()
      expect(await arena.settle(planSettlement(grant, plan))).toEqual(result)
      expect((await arena.asks()).map(({ id }) => id)).toEqual(['m2'])
      expect((await arena.row()).asked).toBe(1)
    })

    test('of a run that has ended since is not granted again', async arena => {
      await arena.late()
      const { grant, plan, result } = await arena.planned()
      if (result.kind !== 'granted') throw new Error(result.kind)
      await arena.settle(runSettlement(result.grant, succeeded(result.grant)))
      const row = await arena.row()
      expect((await arena.settle(planSettlement(grant, plan))).kind).toMatch(/already|lost/)
      expect(await arena.row()).toEqual(row)
    })
  })
}
