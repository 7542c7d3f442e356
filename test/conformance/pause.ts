import { describe, expect } from 'vitest'
import type { Command } from '../../src/store/store.ts'
import { testsOf } from './driver.ts'
import { heldBy, longMs, runSettlement, threw } from './requests.ts'
import { listed, never } from './rows.ts'
import type { Subject } from './subject.ts'

export function pausing(subject: Subject): void {
  const test = testsOf(subject)

  const pause = (until: number, name = 'job'): Command => ({ kind: 'pause', name, until, by: 'me', why: 'because' })
  const resume: Command = { kind: 'resume', name: 'job' }
  describe('pause and resume', () => {
    test('a pause keeps a due job from being claimed until it is resumed', async arena => {
      await arena.due()
      expect(await arena.control(pause(never))).toBe('done')
      const row = await arena.row()
      expect(row).toMatchObject({ dueAt: never, pause: { until: never, by: 'me', why: 'because' } })
      expect(await arena.claim()).toMatchObject({ grants: [], nextDueAt: never, moreDue: false })
      expect(await arena.control(resume)).toBe('done')
      expect(await arena.row()).toMatchObject({ pause: null, held: { from: row.pause?.at }, dueAt: row.nextAt })
      expect((await arena.startOne()).row.open?.scheduledAt).toBe(row.nextAt)
    })

    test('resuming does not fire what came due during the pause', async arena => {
      const first = (await arena.now()) + 60 * arena.pace
      const declared = await arena.job({ schedule: listed(first, first + 1, first + 100_000, first + 200_000) })
      await arena.control(pause(never))
      const { pause: paused } = await arena.row()
      arena.inTime(declared.nextAt === first && (paused?.at ?? never) < first)
      await arena.until(first + 1)
      await arena.control(resume)
      const { grant, result } = await arena.planned()
      expect(grant.row).toMatchObject({ nextAt: first })
      expect(result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['= skipped paused × 2'])
      expect(await arena.row()).toMatchObject({ dueAt: first + 100_000 })
    })

    test('a pause lets a running job finish, and waits after it', async arena => {
      await arena.due({}, [60])
      const grant = await arena.grant()
      arena.inTime(grant.row.lease?.mayStart)
      await arena.control(pause(never))
      expect(await arena.row()).toMatchObject({ lease: grant.row.lease, dueAt: grant.row.dueAt })
      expect((await arena.renew(heldBy(grant))).state).toBe('held')
      await arena.until(grant.row.nextAt)
      await arena.succeed(grant)
      expect((await arena.row()).dueAt).toBe(never)
      expect((await arena.claim()).grants).toEqual([])
    })

    test('a lease that expires while its job is paused is parked: nobody gets it, and its holder is fenced off', async arena => {
      await arena.due()
      const grant = await arena.vanish({ owner: 'a' })
      const until = (await arena.now()) + longMs
      await arena.control(pause(until))
      expect(await arena.claim({ owner: 'b' })).toMatchObject({ grants: [], moreDue: false, anyLeased: false })
      const row = await arena.row()
      expect(row).toMatchObject({ lease: null, dueAt: until, open: grant.row.open, lastOwner: 'a' })
      expect(row.fence).toBeGreaterThan(grant.row.fence)
      expect(await arena.succeed(grant)).toEqual({ kind: 'lost' })
      expect((await arena.renew(heldBy(grant))).state).toBe('lost')
      expect(await arena.row()).toEqual(row)
      await arena.control(resume)
      expect((await arena.grant({ owner: 'b' })).row.open).toMatchObject({ attempt: 2, scheduledAt: grant.row.open?.scheduledAt })
      expect(await arena.verdicts()).toEqual(['leaseLost'])
    })

    test('a paused job still runs what is asked for by hand, and nothing after it', async arena => {
      await arena.due()
      await arena.control(pause(never))
      expect(await arena.trigger('m')).toBe('done')
      const grant = await arena.startOne()
      expect(grant.row.open?.cause).toBe('m')
      await arena.succeed(grant)
      expect(await arena.row()).toMatchObject({ dueAt: never, pause: { until: never } })
      expect((await arena.claim()).grants).toEqual([])
    })

    test('a waiting retry waits for the end of the pause, and goes on at once when resumed', async arena => {
      await arena.due({ policy: { retries: 1 } })
      const grant = await arena.grant()
      await arena.settle(runSettlement(grant, threw(grant, longMs)))
      await arena.control(pause(never))
      expect((await arena.row()).dueAt).toBe(never)
      await arena.control(resume)
      expect((await arena.grant()).row.open).toMatchObject({ attempt: 2 })
    })

    test('a second pause moves the end and the reason, not the beginning', async arena => {
      const { nextAt } = await arena.job()
      await arena.control(pause(nextAt + 500_000))
      const first = await arena.row()
      expect(await arena.control({ kind: 'pause', name: 'job', until: nextAt + 9000, by: 'you', why: null })).toBe('done')
      expect(await arena.row()).toEqual({
        ...first,
        dueAt: nextAt + 9000,
        pause: { at: first.pause?.at, until: nextAt + 9000, by: 'you', why: null },
      })
    })

    test('a pause repeated is the same pause', async arena => {
      await arena.job()
      await arena.control(pause(never))
      const row = await arena.row()
      expect(await arena.control(pause(never))).toBe('done')
      expect(await arena.row()).toEqual(row)
    })

    test('what is not paused is not resumed', async arena => {
      const row = await arena.job()
      expect(await arena.control(resume)).toBe('none')
      expect(await arena.row()).toEqual(row)
    })
  })
}
