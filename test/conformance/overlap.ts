import { describe, expect } from 'vitest'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { handedBack, heldBy, planSettlement, runSettlement, succeeded, threw } from './requests.ts'
import { never } from './rows.ts'
import type { Subject } from './subject.ts'

export function overlapping(subject: Subject): void {
  const test = testsOf(subject)
  const allow = { overlap: 'allow' } as const

  /** Two instants of one job, both running on rows of their own. */
  const two = async (arena: Arena) => {
    const { nextAt, afterAt } = await arena.due({ policy: allow }, [60])
    const first = await arena.startOne({ owner: 'a' })
    arena.inTime(first.row.open?.scheduledAt === nextAt)
    await arena.until(afterAt ?? never)
    const second = await arena.startOne({ owner: 'b' })
    return [first, second] as const
  }

  describe('overlap', () => {
    test('allowed: each occurrence has a row and a lease of its own', async arena => {
      const [first, second] = await two(arena)
      const parent = await arena.row()
      expect(parent).toMatchObject({ lease: null, open: null, parent: null })
      for (const { row } of [first, second]) {
        expect(row).toMatchObject({
          name: 'job',
          task: 'task',
          parent: { id: parent.id },
          lease: { mayStart: true },
          open: { cause: '', attempt: 1 },
        })
        expect(row).toMatchObject({ nextAt: never, afterAt: never, asked: 0, pause: null, definition: parent.definition })
      }
      expect(second.row.open?.scheduledAt).toBe((first.row.open?.scheduledAt ?? 0) + 60 * arena.pace)
      expect(await arena.children()).toEqual([first.row, second.row].sort((a, b) => a.id - b.id))
      expect([await arena.succeed(second), await arena.succeed(first)]).toEqual([{ kind: 'settled' }, { kind: 'settled' }])
      expect(await arena.children()).toEqual([])
      expect(await arena.runs()).toEqual([
        expect.objectContaining({ rowId: second.row.id, jobId: parent.id, job: 'job', end: 'succeeded', owner: 'b' }),
        expect.objectContaining({ rowId: first.row.id, jobId: parent.id, job: 'job', end: 'succeeded', owner: 'a' }),
      ])
    })

    test('allowed: the fence of an extra row is above the one that planned it, and so is the job’s next', async arena => {
      const { nextAt, afterAt } = await arena.due({ policy: allow }, [60])
      const { grant, result } = await arena.planned()
      if (result.kind !== 'granted') throw new Error(result.kind)
      arena.inTime(result.grant.row.open?.scheduledAt === nextAt)
      expect(result.grant.row.fence).toBeGreaterThan(grant.row.fence)
      await arena.until(afterAt ?? never)
      const next = await arena.planned()
      if (next.result.kind !== 'granted') throw new Error(next.result.kind)
      expect(next.grant.row.fence).toBeGreaterThan(result.grant.row.fence)
      expect(next.result.grant.row.fence).toBeGreaterThan(next.grant.row.fence)
    })

    test('allowed: a plan repeated after a lost reply returns the same extra row', async arena => {
      await arena.due({ policy: allow })
      const { grant, plan, result } = await arena.planned()
      expect(await arena.settle(planSettlement(grant, plan))).toEqual(result)
      expect(await arena.children()).toHaveLength(1)
      expect((await arena.row()).lease).toBe(null)
    })

    test('allowed: a plan repeated after its extra row ran out and was claimed again finds it lost', async arena => {
      await arena.due({ policy: { ...allow, maxAttempts: 1 } })
      const { grant, plan, result } = await arena.planned()
      if (result.kind !== 'granted') throw new Error(result.kind)
      await arena.renew({ owner: 'a', rowId: result.grant.row.id, fence: result.grant.row.fence }, 1)
      await arena.until((await arena.children())[0]!.dueAt + 1)
      const again = await arena.grant()
      expect(again.row).toMatchObject({ id: result.grant.row.id, lease: { owner: 'a', mayStart: false } })
      expect(await arena.settle(planSettlement(grant, plan))).toEqual({ kind: 'lost' })
    })

    test('allowed: a lost claim finds the extra row that its plan made', async arena => {
      await arena.due({ policy: allow })
      const { result } = await arena.planned({ claimId: 'lost' })
      const { grants } = await arena.claim({ claimId: 'lost' })
      expect(grants.map(({ row }) => row)).toEqual([result.kind === 'granted' ? result.grant.row : null])
    })

    test('allowed: an extra row is renewed, keeps a checkpoint and is taken over as any other', async arena => {
      await arena.due({ policy: allow })
      const first = await arena.startOne({ owner: 'gone' })
      expect(await arena.renew(heldBy(first))).toMatchObject({ state: 'held', nextAt: never })
      expect(await arena.store.checkpoint(heldBy(first), 'half')).toBe(true)
      const { dueAt } = await arena.renew(heldBy(first), 1)
      await arena.until(dueAt + 1)
      const second = await arena.grant({ owner: 'b' })
      expect(second.row).toMatchObject({ id: first.row.id, open: { attempt: 2, checkpoint: 'half' }, lease: { mayStart: true } })
      expect(await arena.succeed(first)).toEqual({ kind: 'lost' })
      expect(await arena.succeed(second)).toEqual({ kind: 'settled' })
      expect(await arena.succeed(second)).toEqual({ kind: 'already' })
      expect(await arena.verdicts()).toEqual(['leaseLost', '= succeeded'])
    })

    test('allowed: an extra row waits for its retry, and for whoever takes what was handed back', async arena => {
      await arena.due({ policy: { ...allow, retries: 1 } })
      const first = await arena.startOne()
      await arena.settle(runSettlement(first, threw(first)))
      const second = await arena.grant()
      expect(second.row).toMatchObject({ id: first.row.id, open: { attempt: 2, failures: 1 } })
      await arena.settle(runSettlement(second, handedBack(second)))
      const third = await arena.grant()
      expect(third.row).toMatchObject({ id: first.row.id, open: { attempt: 3 } })
      await arena.succeed(third)
      expect(await arena.children()).toEqual([])
    })

    test('allowed: an extra row whose attempts are used up is abandoned and gone', async arena => {
      await arena.due({ policy: { ...allow, maxAttempts: 1 } })
      const first = await arena.startOne()
      await arena.until((await arena.renew(heldBy(first), 1)).dueAt + 1)
      expect((await arena.planned()).result).toEqual({ kind: 'settled' })
      expect(await arena.children()).toEqual([])
      expect(await arena.verdicts()).toEqual(['leaseLost', '= abandoned attempts'])
    })

    test('allowed: a run asked for while it runs is not asked for twice', async arena => {
      await arena.job({ policy: allow })
      expect(await arena.trigger('m')).toBe('done')
      const grant = await arena.startOne()
      expect(grant.row.parent).not.toBe(null)
      expect(await arena.trigger('m')).toBe('none')
      expect(await arena.asks()).toEqual([])
      await arena.succeed(grant)
      expect(await arena.trigger('m')).toBe('none')
    })

    test('allowed: a waiting extra row is cancelled on the spot, a running one is told', async arena => {
      const [first, second] = await two(arena)
      expect(await arena.control({ kind: 'cancel', rowId: first.row.id })).toBe('done')
      expect(await arena.renew(heldBy(first))).toMatchObject({ cancelled: true })
      expect(await arena.renew(heldBy(second))).toMatchObject({ cancelled: false })
      await arena.settle(runSettlement(first, handedBack(first)))
      expect(await arena.control({ kind: 'cancel', rowId: first.row.id })).toBe('done')
      expect(await arena.children()).toEqual([expect.objectContaining({ id: second.row.id })])
      expect(await arena.verdicts()).toEqual(['handedBack', '= cancelled byHand'])
    })

    test('allowed: late occurrences are judged as ever', async arena => {
      const { nextAt } = await arena.due({ policy: allow }, [1, 2])
      await arena.until(nextAt + 2)
      const grant = await arena.startOne()
      expect(grant.row.open?.scheduledAt).toBe(nextAt + 2)
      expect(await arena.verdicts()).toEqual(['= superseded misfire × 2'])
      expect((await arena.claim()).grants).toEqual([])
    })

    test('queued: what came due during a run comes after it', async arena => {
      await arena.due({ policy: { overlap: 'queue' } }, [60])
      const first = await arena.grant()
      arena.inTime(first.row.lease?.mayStart)
      await arena.until(first.row.nextAt)
      expect((await arena.claim({ owner: 'b' })).grants).toEqual([])
      await arena.settle(runSettlement(first, succeeded(first)))
      expect((await arena.startOne()).row.open?.scheduledAt).toBe(first.row.nextAt)
    })

    test('replaced: the holder that makes way is followed by the next occurrence', async arena => {
      await arena.due({ policy: { overlap: 'replace' } }, [60])
      const first = await arena.grant()
      arena.inTime(first.row.lease?.mayStart)
      await arena.until(first.row.nextAt)
      expect((await arena.claim({ owner: 'b' })).grants).toEqual([])
      await arena.settle(runSettlement(first, { kind: 'final', verdict: 'superseded', reason: 'replaced', successor: null }))
      expect((await arena.startOne({ owner: 'b' })).row.open?.scheduledAt).toBe(first.row.nextAt)
      expect(await arena.verdicts()).toEqual(['= superseded replaced'])
    })

    test('a job’s leases never overlap, whatever came due meanwhile', async arena => {
      await arena.due({ policy: { overlap: 'queue' } }, [10, 20, 30])
      await arena.trigger('m')
      const grant = await arena.startOne()
      await arena.until(grant.row.nextAt + 30)
      expect(await arena.claim({ owner: 'b' })).toMatchObject({ grants: [], moreDue: false, anyLeased: true })
    })
  })
}
