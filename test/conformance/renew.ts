import { describe, expect } from 'vitest'
import { testsOf } from './driver.ts'
import { handedBack, heldBy, longMs, runSettlement } from './requests.ts'
import type { Subject } from './subject.ts'

export function renewing(subject: Subject): void {
  const test = testsOf(subject)

  describe('renew', () => {
    test('moves the expiry of every lease in one call, whatever their order', async arena => {
      await arena.manyDue(5)
      const { grants } = await arena.claim({ ttlMs: 60_000 })
      const leases = grants.map(({ row }) => ({ rowId: row.id, fence: row.fence })).sort((a, b) => b.rowId - a.rowId)
      leases.push(...leases.splice(1, 2))
      const reply = await arena.store.renew({ owner: 'a', ttlMs: longMs, leases })
      expect(reply.leases.map(({ rowId, fence }) => ({ rowId, fence }))).toEqual(leases)
      for (const { row } of grants) {
        const renewed = reply.leases.find(({ rowId }) => rowId === row.id)
        expect(renewed).toMatchObject({ state: 'held', rev: row.rev, nextAt: row.nextAt, cancelled: false })
        expect(Math.abs((renewed?.dueAt ?? 0) - reply.now - longMs)).toBeLessThanOrEqual(1)
        expect(await arena.rowOf(row.id)).toEqual({ ...row, dueAt: renewed?.dueAt })
      }
    })

    test('of nothing is nothing', async arena => {
      expect((await arena.store.renew({ owner: 'a', ttlMs: longMs, leases: [] })).leases).toEqual([])
    })

    test('keeps a lease alive beyond its first expiry', async arena => {
      await arena.due()
      const { row } = await arena.grant({ ttlMs: 300 })
      const { state, dueAt } = await arena.renew(heldBy({ row }), longMs)
      // a machine so slow that the lease ran out first: then it must be lost
      if (state === 'lost') return expect(await arena.now()).toBeGreaterThanOrEqual(row.dueAt)
      expect(dueAt).toBeGreaterThan(row.dueAt)
      await arena.until(row.dueAt + 1)
      expect((await arena.claim({ owner: 'b' })).grants).toEqual([])
    })

    test('by an old fence is lost and changes nothing', async arena => {
      await arena.due()
      const old = await arena.vanish({ owner: 'a' })
      const { row } = await arena.grant({ owner: 'a' })
      expect((await arena.renew(heldBy(old))).state).toBe('lost')
      expect((await arena.renew({ ...heldBy(old), fence: row.fence + 1 })).state).toBe('lost')
      expect(await arena.row()).toEqual(row)
    })

    test('by another owner is lost and changes nothing', async arena => {
      await arena.due()
      const { row } = await arena.grant({ owner: 'a' })
      for (const owner of ['b', 'A', 'a ', '']) expect((await arena.renew({ ...heldBy({ row }), owner })).state).toBe('lost')
      expect(await arena.row()).toEqual(row)
    })

    test('of an expired lease is lost, though nobody has claimed it', async arena => {
      await arena.due()
      const { row } = await arena.vanish()
      expect((await arena.renew(heldBy({ row }))).state).toBe('lost')
      expect(await arena.row()).toEqual(row)
    })

    test('of a settled run is lost', async arena => {
      await arena.due()
      const grant = await arena.grant()
      await arena.succeed(grant)
      const row = await arena.row()
      expect((await arena.renew(heldBy(grant))).state).toBe('lost')
      expect(await arena.row()).toEqual(row)
    })

    test('of a run handed back is lost', async arena => {
      await arena.due()
      const grant = await arena.grant()
      await arena.settle(runSettlement(grant, handedBack(grant)))
      expect((await arena.renew(heldBy(grant))).state).toBe('lost')
    })

    test('of a row that never was is lost', async arena => {
      expect((await arena.renew({ rowId: 2_000_000_000, owner: 'a', fence: 1 })).state).toBe('lost')
    })

    test('keeps what is held where something else is lost', async arena => {
      await arena.manyDue(2)
      const { grants } = await arena.claim()
      const [mine, lost] = grants.map(heldBy)
      const { leases } = await arena.store.renew({ owner: 'a', ttlMs: longMs, leases: [{ ...lost!, fence: 1 }, mine!] })
      expect(leases.map(({ state }) => state)).toEqual(['lost', 'held'])
    })

    test('keeps a lease under which a plan is made', async arena => {
      await arena.job()
      await arena.trigger()
      const { row } = await arena.grant({ ttlMs: 60_000 })
      expect(row.lease?.mayStart).toBe(false)
      expect((await arena.renew(heldBy({ row }))).state).toBe('held')
    })

    test('tells of an edit and of the next instant', async arena => {
      const { schedule } = (await arena.due({}, [200_000])).definition
      const { row } = await arena.grant()
      await arena.job({ schedule, data: 'edited' })
      const edited = await arena.row()
      expect(edited.rev).toBeGreaterThan(row.rev)
      expect(await arena.renew(heldBy({ row }))).toMatchObject({ state: 'held', rev: edited.rev, nextAt: edited.nextAt })
    })

    test('tells that somebody asked for the run to be cancelled, each time', async arena => {
      await arena.due()
      const { row } = await arena.grant()
      expect(await arena.renew(heldBy({ row }))).toMatchObject({ cancelled: false })
      await arena.control({ kind: 'cancel', rowId: row.id })
      for (let i = 0; i < 2; i++) expect(await arena.renew(heldBy({ row }))).toMatchObject({ state: 'held', cancelled: true })
    })
  })
}
