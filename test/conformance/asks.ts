import { describe, expect } from 'vitest'
import type { Command } from '../../src/store/store.ts'
import { testsOf } from './driver.ts'
import { runSettlement, threw } from './requests.ts'
import { every, listed } from './rows.ts'
import type { Subject } from './subject.ts'

export function asking(subject: Subject): void {
  const test = testsOf(subject)

  describe('what was asked for', () => {
    test('by hand runs at once, beside the schedule', async arena => {
      const before = await arena.job()
      expect(await arena.trigger('m')).toBe('done')
      const [ask] = await arena.asks()
      expect(ask).toEqual({ id: 'm', kind: 'manual', at: ask?.at, until: ask?.at, schedule: null })
      const { grant, result } = await arena.planned()
      expect(grant).toMatchObject({ manual: ask, backfill: null, row: { asked: 1 } })
      if (result.kind !== 'granted') throw new Error(result.kind)
      expect(result.grant).toMatchObject({
        manual: null,
        row: { asked: 0, open: { cause: 'm', scheduledAt: ask?.at }, nextAt: before.nextAt },
      })
      expect(await arena.asks()).toEqual([])
      await arena.succeed(result.grant)
      expect(await arena.row()).toMatchObject({ lastCause: 'm', lastAt: null, nextAt: before.nextAt, dueAt: before.nextAt })
      expect(await arena.runs()).toEqual([expect.objectContaining({ cause: 'm', scheduledAt: ask?.at, end: 'succeeded', final: true })])
    })

    test('by hand is tried again as any other, and does not yield to the next instant', async arena => {
      const first = (await arena.now()) + 60 * arena.pace
      const { nextAt } = await arena.job({ policy: { retries: 1 }, schedule: listed(first, first + 100_000, first + 200_000) })
      arena.inTime(nextAt === first)
      await arena.trigger('m')
      const grant = await arena.startOne()
      await arena.settle(runSettlement(grant, threw(grant, 60)))
      await arena.until(Math.max(first, (await arena.row()).dueAt))
      const again = await arena.grant()
      expect(again.row.open).toMatchObject({ cause: 'm', attempt: 2, scheduledAt: grant.row.open?.scheduledAt })
      await arena.succeed(again)
    })

    test('for the past runs instant by instant, in turn with the schedule', async arena => {
      const { nextAt } = await arena.due({ policy: { overlap: 'queue' } }, [1])
      await arena.control({ kind: 'backfill', name: 'job', id: 'b', at: 1000, until: 3500, schedule: every(1000) })
      await arena.trigger('m')
      await arena.until(nextAt + 1)
      const ran: string[] = []
      for (;;) {
        const [grant] = await arena.start()
        if (grant === undefined) break
        ran.push(`${grant.row.open?.cause}:${(grant.row.open?.scheduledAt ?? 0) < 1e6 ? grant.row.open?.scheduledAt : 'now'}`)
        await arena.succeed(grant)
      }
      expect(ran).toEqual(['m:now', ':now', 'b:1000', 'b:2000', 'b:3000'])
      expect(await arena.asks()).toEqual([])
      expect(await arena.row()).toMatchObject({ asked: 0, lastCause: 'b' })
    })

    test('for the past keeps to the schedule it was asked with', async arena => {
      await arena.job({ schedule: null })
      await arena.control({ kind: 'backfill', name: 'job', id: 'b', at: 1000, until: 2000, schedule: every(500) })
      await arena.job({ schedule: every(900_000_000_000), hash: 'edited' })
      const ran: (number | undefined)[] = []
      for (let i = 0; i < 3; i++) {
        const grant = await arena.startOne()
        ran.push(grant.row.open?.scheduledAt)
        await arena.succeed(grant)
      }
      expect(ran).toEqual([1000, 1500, 2000])
    })
  })

  describe('asking', () => {
    test('the same ask again is one run: waiting, running and settled', async arena => {
      await arena.job({ policy: { retries: 1 } })
      expect([await arena.trigger('m'), await arena.trigger('m')]).toEqual(['done', 'none'])
      const grant = await arena.startOne()
      expect(await arena.trigger('m')).toBe('none')
      await arena.settle(runSettlement(grant, threw(grant)))
      expect(await arena.trigger('m')).toBe('none')
      await arena.succeed(await arena.grant())
      expect(await arena.trigger('m')).toBe('none')
      expect(await arena.verdicts()).toEqual(['failed', '= succeeded'])
      expect((await arena.row()).asked).toBe(0)
    })

    test('the same backfill again is one: waiting, half way and settled', async arena => {
      await arena.job({ schedule: null })
      const backfill: Command = { kind: 'backfill', name: 'job', id: 'b', at: 1000, until: 2000, schedule: every(1000) }
      expect([await arena.control(backfill), await arena.control(backfill)]).toEqual(['done', 'none'])
      for (const at of [1000, 2000]) {
        const grant = await arena.startOne()
        expect(grant.row.open).toMatchObject({ cause: 'b', scheduledAt: at })
        expect(await arena.control(backfill)).toBe('none')
        await arena.succeed(grant)
      }
      expect(await arena.control(backfill)).toBe('none')
      expect(await arena.runs()).toHaveLength(2)
    })

    test('an id that is the schedule’s own, or cannot be kept and told apart, is refused, and a name too', async arena => {
      await arena.job()
      const schedule = every(1000)
      const bad = ['', 'a\0b', 'a\nb', 'a\u202eb', 'a\ud800', 'x'.repeat(256), 'ü'.repeat(128), 7, null, undefined] as string[]
      for (const id of bad) {
        const commands: readonly Command[] = [
          { kind: 'trigger', name: 'job', id },
          { kind: 'backfill', name: 'job', id, at: 1000, until: 2000, schedule },
          { kind: 'trigger', name: id, id: 'm' },
          { kind: 'resume', name: id },
        ]
        for (const command of commands) await expect(arena.control(command)).rejects.toMatchObject({ code: 'ONETICK_NAME' })
      }
      expect(await arena.asks()).toEqual([])
      expect((await arena.row()).asked).toBe(0)
      // and the refusal leaves the store as fit as it was
      expect(await arena.trigger('m')).toBe('done')
    })

    test('many asks are kept in their order and counted', async arena => {
      await arena.job()
      for (const id of ['z', 'a', 'ü', "'"]) expect(await arena.trigger(id)).toBe('done')
      expect((await arena.asks()).map(({ id }) => id)).toEqual(['z', 'a', 'ü', "'"])
      expect((await arena.row()).asked).toBe(4)
      const ran: (string | undefined)[] = []
      for (let i = 0; i < 4; i++) {
        const grant = await arena.startOne()
        ran.push(grant.row.open?.cause)
        await arena.succeed(grant)
      }
      expect(ran).toEqual(['z', 'a', 'ü', "'"])
    })

    test('sixteen who ask with one id at once ask once', async arena => {
      await arena.job()
      const kinds = await Promise.all(Array.from({ length: 16 }, () => arena.trigger('m')))
      expect(kinds.filter(kind => kind === 'done')).toHaveLength(1)
      expect(await arena.row()).toMatchObject({ asked: 1 })
      expect(await arena.asks()).toHaveLength(1)
    })

    test('a run asked for while another runs waits its turn', async arena => {
      await arena.due()
      const grant = await arena.grant()
      await arena.trigger('m')
      expect(await arena.row()).toEqual({ ...grant.row, asked: 1 })
      expect((await arena.claim({ owner: 'b' })).grants).toEqual([])
      await arena.succeed(grant)
      expect((await arena.startOne({ owner: 'b' })).row.open?.cause).toBe('m')
    })
  })
}
