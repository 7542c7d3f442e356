import { describe, expect } from 'vitest'
import { testsOf } from './driver.ts'
import { handedBack, longMs, runSettlement, threw } from './requests.ts'
import type { Subject } from './subject.ts'

export function attempting(subject: Subject): void {
  const test = testsOf(subject)

  describe('attempts', () => {
    test('a run that threw is tried again after its back-off, as often as its retries allow', async arena => {
      await arena.due({ policy: { retries: 2, maxAttempts: 5 } })
      for (const attempt of [1, 2]) {
        const grant = await arena.grant()
        expect(grant.row.open).toMatchObject({ attempt, failures: attempt - 1 })
        expect(await arena.settle(runSettlement(grant, threw(grant, 60)))).toEqual({ kind: 'settled' })
        const waiting = await arena.row()
        expect(waiting).toMatchObject({ lease: null, open: { attempt, failures: attempt } })
        expect(waiting.dueAt).toBe((waiting.endedAt ?? 0) + 60)
        await arena.until(waiting.dueAt)
      }
      const last = await arena.grant()
      expect(await arena.settle(runSettlement(last, threw(last)))).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['failed', 'failed', '= failed'])
      expect((await arena.claim()).grants).toEqual([])
    })

    test('a run that threw is not tried again where no retry is allowed', async arena => {
      await arena.due({ policy: { retries: 0 } })
      const grant = await arena.grant()
      await arena.settle(runSettlement(grant, threw(grant)))
      expect(await arena.verdicts()).toEqual(['= failed'])
      expect((await arena.row()).open).toBe(null)
    })

    test('takeovers and retries together are no more than the attempts', async arena => {
      await arena.due({ policy: { retries: 9, maxAttempts: 3 } })
      await arena.vanish()
      const second = await arena.grant()
      await arena.settle(runSettlement(second, threw(second)))
      const third = await arena.grant()
      expect(third.row.open).toMatchObject({ attempt: 3, failures: 1 })
      await arena.settle(runSettlement(third, threw(third)))
      expect(await arena.verdicts()).toEqual(['leaseLost', 'failed', '= failed'])
    })

    test('a run handed back before it started has used up no attempt', async arena => {
      await arena.due({ policy: { maxAttempts: 1, takeOver: false } })
      const grant = await arena.grant()
      await arena.settle(runSettlement(grant, handedBack(grant, false)))
      expect(await arena.runs()).toEqual([])
      const again = await arena.grant({ owner: 'b' })
      expect(again.row).toMatchObject({ lease: { mayStart: true }, open: { attempt: 1, scheduledAt: grant.row.open?.scheduledAt } })
      expect(await arena.succeed(again)).toEqual({ kind: 'settled' })
    })

    test('a started run handed back is abandoned where it may not start again', async arena => {
      await arena.due({ policy: { takeOver: false } })
      const grant = await arena.grant()
      await arena.settle(runSettlement(grant, handedBack(grant)))
      expect(await arena.verdicts()).toEqual(['= abandoned handedBack'])
    })

    test('a waiting retry yields to the next instant', async arena => {
      await arena.due({ policy: { retries: 3 } }, [60])
      const grant = await arena.grant()
      arena.inTime(grant.row.lease?.mayStart)
      await arena.settle(runSettlement(grant, threw(grant, longMs)))
      const waiting = await arena.row()
      expect(waiting.dueAt).toBe(grant.row.nextAt)
      await arena.until(waiting.dueAt)
      const { result } = await arena.planned()
      expect(result).toMatchObject({
        kind: 'granted',
        grant: { row: { open: { scheduledAt: grant.row.nextAt, attempt: 1, failures: 0 } } },
      })
      expect(await arena.verdicts()).toEqual(['failed', '= failed nextDue'])
    })

    test('a waiting retry keeps later instants waiting where all are to run', async arena => {
      await arena.due({ policy: { retries: 3, misfire: 'all', overlap: 'queue' } }, [30])
      const grant = await arena.startOne()
      await arena.settle(runSettlement(grant, threw(grant, 80)))
      const waiting = await arena.row()
      expect(waiting.dueAt).toBe((waiting.endedAt ?? 0) + 80)
      await arena.until(waiting.dueAt)
      const again = await arena.grant()
      expect(again.row).toMatchObject({ lease: { mayStart: true }, open: { scheduledAt: grant.row.open?.scheduledAt, attempt: 2 } })
      await arena.succeed(again)
      expect((await arena.startOne()).row.open).toMatchObject({ scheduledAt: waiting.nextAt, attempt: 1 })
    })
  })
}
