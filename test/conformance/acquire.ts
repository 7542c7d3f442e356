import { describe, expect } from 'vitest'
import type { JobRow } from '../../src/domain/job.ts'
import type { AcquireRequest } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { aDeclaration, handedBack, heldBy, longMs, runSettlement, succeeded, threw } from './requests.ts'
import type { Subject } from './subject.ts'

export function acquiring(subject: Subject): void {
  const test = testsOf(subject)

  describe('a lease by name', () => {
    test('is granted where nobody holds it', async arena => {
      const row = await granted(arena, { owner: 'a', claimId: 'c1', ttlMs: 5000 })
      expect(row).toMatchObject({ name: 'lease', lease: { owner: 'a', claimId: 'c1', mayStart: true }, open: null })
      expect(row.dueAt - (row.acquiredAt ?? 0)).toBe(5000)
      expect(await arena.row('lease')).toEqual(row)
    })

    test('is refused to others while it is held, who are told by whom and until when', async arena => {
      const row = await granted(arena, { owner: 'a' })
      for (const owner of ['b', 'a']) expect(await arena.acquire({ owner })).toMatchObject({ kind: 'held', owner: 'a', until: row.dueAt })
      expect(await arena.row('lease')).toEqual(row)
    })

    test('of a lost ask is found again by its id', async arena => {
      const row = await granted(arena, { claimId: 'lost' })
      expect(await granted(arena, { claimId: 'lost' })).toEqual(row)
      expect(await arena.acquire({ claimId: 'lost', owner: 'b' })).toMatchObject({ kind: 'held', owner: 'a' })
    })

    test('is granted to the next under a higher fence once it is let go', async arena => {
      const row = await granted(arena)
      expect(await letGo(arena, row)).toEqual({ kind: 'settled' })
      const free = await arena.row('lease')
      expect(free).toMatchObject({ lease: null, lastOwner: 'a', dueAt: free.endedAt, fence: row.fence })
      const next = await granted(arena, { owner: 'b' })
      expect(next.fence).toBeGreaterThan(row.fence)
      expect(await letGo(arena, row)).toEqual({ kind: 'lost' })
      expect(await arena.row('lease')).toEqual(next)
    })

    test('is granted to the next once it has expired', async arena => {
      const row = await granted(arena, { ttlMs: 1 })
      await arena.until(row.dueAt + 1)
      const next = await granted(arena, { owner: 'b' })
      expect(next.fence).toBeGreaterThan(row.fence)
      expect(next.lastOwner).toBe('a')
      expect((await arena.renew(heldBy({ row }))).state).toBe('lost')
    })

    test('is renewed as any other', async arena => {
      const row = await granted(arena, { ttlMs: 60_000 })
      const renewed = await arena.renew(heldBy({ row }), longMs)
      expect(renewed.state).toBe('held')
      expect(await arena.row('lease')).toEqual({ ...row, dueAt: renewed.dueAt })
    })

    test('asked for too late is refused, held or not', async arena => {
      const notAfter = (await arena.now()) - 1
      expect(await arena.acquire({ notAfter })).toMatchObject({ kind: 'refused' })
      await granted(arena)
      expect(await arena.acquire({ owner: 'b', notAfter })).toMatchObject({ kind: 'refused' })
    })

    test('is never claimed by a replica', async arena => {
      await granted(arena, { ttlMs: 1 })
      await arena.sleep(5)
      expect(await arena.claim({ tasks: ['task', 'lease'] })).toMatchObject({ grants: [], anyLeased: false })
    })

    test('may not have the name of a scheduled job, nor the other way round', async arena => {
      const job = await arena.job({ name: 'job' })
      await expect(arena.acquire({ name: 'job' })).rejects.toMatchObject({ code: 'ONETICK_JOB_SCHEDULED' })
      expect(await arena.row('job')).toEqual(job)
      const lease = await granted(arena, { name: 'lease' })
      await expect(arena.declare(aDeclaration({ name: 'lease' }, await arena.now()))).rejects.toMatchObject({ code: 'ONETICK_NAME_TAKEN' })
      expect(await arena.row('lease')).toEqual(lease)
    })

    test('is granted to one of sixteen who ask at once', async arena => {
      const stores = await Promise.all(Array.from({ length: 4 }, () => arena.connect()))
      const asks = Array.from({ length: 16 }, (_, i) => arena.acquire({ owner: `owner ${i}` }, stores[i % 4]))
      const kinds = (await Promise.all(asks)).map(({ kind }) => kind)
      expect(kinds.filter(kind => kind === 'granted')).toHaveLength(1)
      expect(kinds.filter(kind => kind === 'held')).toHaveLength(15)
    })
  })

  describe('a lease for an instant', () => {
    test('stands for it, and once settled it is done, as are earlier ones', async arena => {
      const at = await arena.now()
      const row = await granted(arena, { at })
      expect(row.open).toMatchObject({ cause: '', scheduledAt: at, attempt: 1 })
      expect(await letGo(arena, row)).toEqual({ kind: 'settled' })
      for (const instant of [at, at - 1])
        expect(await arena.acquire({ at: instant, owner: 'b' })).toMatchObject({ kind: 'done', lastAt: at })
      expect(await arena.acquire({ at: at + 1, owner: 'b' })).toMatchObject({ kind: 'granted' })
      expect(await arena.verdicts('lease')).toEqual(['= succeeded'])
    })

    test('settled twice is settled once, whoever has it by then', async arena => {
      const at = await arena.now()
      const row = await granted(arena, { at })
      expect([await letGo(arena, row), await letGo(arena, row)]).toEqual([{ kind: 'settled' }, { kind: 'already' }])
      const next = await granted(arena, { at: at + 1, owner: 'b' })
      expect(await letGo(arena, row)).toEqual({ kind: 'already' })
      expect(await arena.row('lease')).toEqual(next)
    })

    test('lies at most two seconds ahead', async arena => {
      expect(await arena.acquire({ at: (await arena.now()) + 60_000 })).toMatchObject({ kind: 'refused' })
      expect(await arena.acquire({ at: (await arena.now()) + 1900 })).toMatchObject({ kind: 'granted' })
    })

    test('of a vanished holder is its next attempt', async arena => {
      const at = await arena.now()
      const gone = await vanished(arena, at)
      const row = await granted(arena, { at, owner: 'b' })
      expect(row.open).toMatchObject({ scheduledAt: at, attempt: 2 })
      expect(await arena.verdicts('lease')).toEqual(['leaseLost'])
      expect(await letGo(arena, gone)).toEqual({ kind: 'lost' })
      expect(await letGo(arena, row)).toEqual({ kind: 'settled' })
    })

    test('gives an earlier one up whose holder has vanished, who then finds it lost', async arena => {
      const at = await arena.now()
      const gone = await vanished(arena, at)
      const row = await granted(arena, { at: at + 1, owner: 'b' })
      expect(row).toMatchObject({ lastAt: at, open: { scheduledAt: at + 1, attempt: 1 } })
      expect(await arena.verdicts('lease')).toEqual(['leaseLost', '= abandoned takeover'])
      expect(await letGo(arena, gone)).toEqual({ kind: 'lost' })
      expect(await arena.row('lease')).toEqual(row)
    })

    test('that threw or was handed back is open for another attempt', async arena => {
      const at = await arena.now()
      const first = await granted(arena, { at })
      await arena.settle(runSettlement({ row: first }, threw({ row: first })))
      const second = await granted(arena, { at })
      expect(second.open).toMatchObject({ attempt: 2, failures: 1 })
      await arena.settle(runSettlement({ row: second }, handedBack({ row: second })))
      const third = await granted(arena, { at })
      expect(third.open).toMatchObject({ attempt: 3, failures: 1 })
      await letGo(arena, third)
      expect(await arena.verdicts('lease')).toEqual(['failed', 'handedBack', '= succeeded'])
    })

    test('handed on with a checkpoint keeps it', async arena => {
      const at = await arena.now()
      const first = await granted(arena, { at })
      expect(await arena.store.checkpoint(heldBy({ row: first }), { page: 3 })).toBe(true)
      await arena.settle(runSettlement({ row: first }, handedBack({ row: first })))
      expect((await granted(arena, { at })).open?.checkpoint).toEqual({ page: 3 })
    })
  })
}

async function granted(arena: Arena, parts: Partial<AcquireRequest> = {}): Promise<JobRow> {
  const reply = await arena.acquire(parts)
  if (reply.kind !== 'granted') throw new Error(`the lease is ${reply.kind}`)
  return reply.row
}

async function vanished(arena: Arena, at: number): Promise<JobRow> {
  const row = await granted(arena, { at, owner: 'gone', ttlMs: 1 })
  await arena.until(row.dueAt + 1)
  return row
}

function letGo(arena: Arena, row: JobRow) {
  return arena.settle(runSettlement({ row }, succeeded({ row })))
}
