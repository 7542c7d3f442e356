import { describe, expect } from 'vitest'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { handedBack, heldBy, runSettlement, threw } from './requests.ts'
import type { Subject } from './subject.ts'

export function checkpointing(subject: Subject): void {
  const test = testsOf(subject)
  const kept = async (arena: Arena) => (await arena.row()).open?.checkpoint

  describe('a checkpoint', () => {
    test('is kept for whoever takes over, the last one of several', async arena => {
      await arena.due()
      const first = await arena.grant({ owner: 'gone' })
      for (const page of [1, 2, 3]) expect(await arena.store.checkpoint(heldBy(first), { page, text: 'ü😀' })).toBe(true)
      expect(await arena.row()).toEqual({ ...first.row, open: { ...first.row.open, checkpoint: { page: 3, text: 'ü😀' } } })
      await arena.until((await arena.renew(heldBy(first), 1)).dueAt + 1)
      expect((await arena.grant({ owner: 'b' })).row.open).toMatchObject({ attempt: 2, checkpoint: { page: 3, text: 'ü😀' } })
    })

    test('is kept across a retry and a handover, and gone with its occurrence', async arena => {
      await arena.due({ policy: { retries: 1 } })
      const first = await arena.grant()
      await arena.store.checkpoint(heldBy(first), [1])
      await arena.settle(runSettlement(first, threw(first)))
      const second = await arena.grant()
      expect(second.row.open?.checkpoint).toEqual([1])
      await arena.settle(runSettlement(second, handedBack(second)))
      const third = await arena.grant()
      expect(third.row.open?.checkpoint).toEqual([1])
      await arena.succeed(third)
      await arena.trigger()
      expect((await arena.startOne()).row.open?.checkpoint).toBe(null)
    })

    test('by an old fence or another owner is refused and changes nothing', async arena => {
      await arena.due()
      const old = await arena.vanish({ owner: 'a' })
      const { row } = await arena.grant({ owner: 'a' })
      for (const held of [
        heldBy(old),
        { ...heldBy({ row }), owner: 'b' },
        { ...heldBy({ row }), fence: row.fence + 1 },
        { ...heldBy({ row }), rowId: 2_000_000_000 },
      ]) {
        expect(await arena.store.checkpoint(held, 'zombie')).toBe(false)
      }
      expect(await arena.row()).toEqual(row)
    })

    test('after the lease has expired is refused, though nobody has claimed the row', async arena => {
      await arena.due()
      const late = await arena.vanish()
      expect(await arena.store.checkpoint(heldBy(late), 'late')).toBe(false)
      expect(await kept(arena)).toBe(null)
    })

    test('of a run that has ended, or has not been planned, is refused', async arena => {
      await arena.due()
      const grant = await arena.grant()
      await arena.succeed(grant)
      expect(await arena.store.checkpoint(heldBy(grant), 'late')).toBe(false)
      await arena.trigger()
      expect(await arena.store.checkpoint(heldBy(await arena.grant()), 'early')).toBe(false)
    })

    test('is the value as it was then, not what became of it', async arena => {
      await arena.due()
      const grant = await arena.grant()
      const value = { pages: [1] }
      await arena.store.checkpoint(heldBy(grant), value)
      value.pages.push(2)
      expect(await kept(arena)).toEqual({ pages: [1] })
      const read = (await kept(arena)) as { pages: number[] }
      read.pages.push(3)
      expect(await kept(arena)).toEqual({ pages: [1] })
    })
  })
}
