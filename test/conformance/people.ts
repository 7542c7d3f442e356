import { describe, expect } from 'vitest'
import type { JobRow } from '../../src/domain/job.ts'
import { removalLines } from '../../src/domain/people.ts'
import type { Command } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { handedBack, heldBy, longMs, runSettlement, seenOf, threw } from './requests.ts'
import { compile, every, never, rarely, rareMs } from './rows.ts'
import type { Subject } from './subject.ts'

export function controlling(subject: Subject): void {
  const test = testsOf(subject)

  const pause = (name: string): Command => ({ kind: 'pause', name, until: never, by: null, why: null })
  const resume = (name: string): Command => ({ kind: 'resume', name })
  const removal = async (arena: Arena, row: JobRow): Promise<Command> => {
    const now = await arena.now()
    const lines = removalLines(row, await arena.asks(row.name), now, compile)
    const after = compile(row.definition.schedule ?? every(longMs)).next(Math.max(now, row.nextAt - 1))
    return { kind: 'remove', name: row.name, seen: seenOf(row), lines, nextAt: after }
  }

  describe('cancel', () => {
    test('a running run is told, and ends as its holder settles it', async arena => {
      await arena.due()
      const grant = await arena.grant()
      for (let i = 0; i < 2; i++) expect(await arena.control({ kind: 'cancel', rowId: grant.row.id })).toBe('done')
      expect(await arena.row()).toEqual({ ...grant.row, cancelFence: grant.row.fence })
      await arena.settle(runSettlement(grant, { kind: 'final', verdict: 'cancelled', reason: 'byHand', successor: null }))
      expect(await arena.row()).toMatchObject({ cancelFence: null, open: null })
      expect(await arena.verdicts()).toEqual(['= cancelled byHand'])
    })

    test('a waiting run ends on the spot', async arena => {
      await arena.due({ policy: { retries: 1 } })
      const grant = await arena.grant()
      await arena.settle(runSettlement(grant, threw(grant, longMs)))
      expect(await arena.control({ kind: 'cancel', rowId: grant.row.id })).toBe('done')
      expect(await arena.row()).toMatchObject({ open: null, dueAt: grant.row.nextAt })
      expect(await arena.verdicts()).toEqual(['failed', '= cancelled byHand'])
    })

    test('what does not run is not cancelled, nor what never was', async arena => {
      const row = await arena.job()
      expect(await arena.control({ kind: 'cancel', rowId: row.id })).toBe('none')
      expect(await arena.control({ kind: 'cancel', rowId: 2_000_000_000 })).toBe('unknown')
      expect(await arena.row()).toEqual(row)
    })
  })

  describe('skip next', () => {
    const skip = (row: JobRow): Command => {
      const { next } = compile(row.definition.schedule ?? every(1))
      return { kind: 'skipNext', name: row.name, seen: seenOf(row), cursor: { nextAt: next(row.nextAt), afterAt: next(next(row.nextAt)) } }
    }

    test('the next instant has its verdict ahead of time, the one after it runs', async arena => {
      const row = await arena.job({ schedule: rarely })
      expect(await arena.control(skip(row))).toBe('done')
      const after = await arena.row()
      expect(after).toMatchObject({
        nextAt: row.nextAt + rareMs,
        afterAt: row.nextAt + 2 * rareMs,
        dueAt: row.nextAt + rareMs,
        rev: row.rev + 1,
      })
      expect(await arena.runs()).toEqual([
        expect.objectContaining({ scheduledAt: row.nextAt, end: 'skipped', reason: 'byHand', final: true, startedAt: null }),
      ])
    })

    test('repeated after a lost reply skips no more', async arena => {
      const row = await arena.job({ schedule: rarely })
      expect([await arena.control(skip(row)), await arena.control(skip(row))]).toEqual(['done', 'stale'])
      expect(await arena.verdicts()).toEqual(['= skipped byHand'])
    })

    test('an edit does not bring back what was skipped', async arena => {
      const row = await arena.job({ schedule: rarely })
      await arena.control(skip(row))
      await arena.job({ schedule: rarely, data: 'edited' })
      const after = await arena.row()
      expect(after.nextAt).toBe(row.nextAt + rareMs)
      await arena.control(await removal(arena, after))
      await arena.job({ schedule: rarely })
      expect((await arena.row()).nextAt).toBe(row.nextAt + rareMs)
    })

    test('a job without a next instant has none to skip', async arena => {
      const row = await arena.job({ schedule: null })
      const cursor = { nextAt: never, afterAt: never }
      expect(await arena.control({ kind: 'skipNext', name: 'job', seen: seenOf(row), cursor })).toBe('none')
      expect(await arena.runs()).toEqual([])
    })
  })

  describe('remove', () => {
    test('gives what is due and what was asked for its verdict', async arena => {
      const { nextAt } = await arena.due({}, [1, 2])
      await arena.control({ kind: 'backfill', name: 'job', id: 'b', at: 1000, until: 3000, schedule: every(1000) })
      await arena.trigger('m')
      await arena.until(nextAt + 2)
      expect(await arena.control(await removal(arena, await arena.row()))).toBe('done')
      expect(await arena.row()).toMatchObject({ removedAt: expect.any(Number), asked: 0, dueAt: never, nextAt: never, pause: null })
      expect(await arena.asks()).toEqual([])
      const skipped = (await arena.runs()).map(({ cause, count, end, reason }) => `${cause}: ${count} ${end} ${reason}`)
      expect(skipped.sort()).toEqual([': 3 skipped removed', 'b: 3 skipped removed', 'm: 1 skipped removed'])
      expect(await arena.claim()).toMatchObject({ grants: [], nextDueAt: never })
    })

    test('abandons a waiting run', async arena => {
      await arena.due({ policy: { retries: 1 } })
      const grant = await arena.grant()
      await arena.settle(runSettlement(grant, threw(grant, longMs)))
      await arena.control(await removal(arena, await arena.row()))
      expect(await arena.row()).toMatchObject({ open: null, dueAt: never })
      expect(await arena.verdicts()).toEqual(['failed', '= abandoned removed'])
    })

    test('lets a running run finish, however it ends', async arena => {
      await arena.due({ policy: { retries: 1 } })
      const grant = await arena.grant()
      await arena.control(await removal(arena, await arena.row()))
      expect((await arena.renew(heldBy(grant))).state).toBe('held')
      await arena.settle(runSettlement(grant, handedBack(grant)))
      expect((await arena.planned()).result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['handedBack', '= abandoned removed'])
      expect(await arena.row()).toMatchObject({ dueAt: never })
    })

    test('is stale where something has changed, or come due, since the verdicts were made', async arena => {
      const row = await arena.job({ schedule: rarely })
      const command = await removal(arena, row)
      await arena.trigger('m')
      expect(await arena.control(command)).toBe('stale')
      const again = await removal(arena, await arena.row())
      if (again.kind !== 'remove') throw new Error(again.kind)
      expect(await arena.control({ ...again, nextAt: await arena.now() })).toBe('stale')
      expect(await arena.runs()).toEqual([])
      expect(await arena.row()).toMatchObject({ removedAt: null, asked: 1 })
      expect(await arena.control(again)).toBe('done')
    })

    test('is stale where a backfill went on since the verdicts were made', async arena => {
      await arena.job({ schedule: rarely, policy: { overlap: 'allow' } })
      await arena.control({ kind: 'backfill', name: 'job', id: 'b', at: 1000, until: 3000, schedule: every(1000) })
      const command = await removal(arena, await arena.row())
      const { row } = await arena.startOne()
      expect(await arena.control(command)).toBe('stale')
      expect(await arena.asks()).toMatchObject([{ id: 'b', at: 2000 }])
      expect(await arena.control(await removal(arena, await arena.row()))).toBe('done')
      await arena.succeed({ row, manual: null, backfill: null })
      const verdicts = (await arena.runs())
        .filter(({ final }) => final)
        .map(line => `${line.cause} ${line.scheduledAt}–${line.untilAt} ${line.end}`)
      expect(verdicts.sort()).toEqual(['b 1000–1000 succeeded', 'b 2000–3000 skipped'])
    })

    test('a removed job takes no more commands, and removing it again does nothing', async arena => {
      const row = await arena.job()
      const command = await removal(arena, row)
      await arena.control(command)
      const removed = await arena.row()
      for (const late of [command, pause('job'), resume('job')]) expect(await arena.control(late)).toBe('unknown')
      expect(await arena.trigger('m')).toBe('unknown')
      expect(await arena.row()).toEqual(removed)
    })
  })

  test('a job that never was takes no command', async arena => {
    for (const command of [pause('nobody'), resume('nobody')]) expect(await arena.control(command)).toBe('unknown')
    expect(await arena.trigger('m', 'nobody')).toBe('unknown')
  })
}
