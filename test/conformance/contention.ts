import { describe, expect } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import { Chance } from './chance.ts'
import { testsOf } from './driver.ts'
import { aReplica, handedBack, heldBy, longMs, runSettlement, succeeded } from './requests.ts'
import type { Subject } from './subject.ts'

export function contending(subject: Subject): void {
  const test = testsOf(subject, 120_000)

  const connections = (arena: Arena, count: number): Promise<Store[]> => Promise.all(Array.from({ length: count }, () => arena.connect()))

  describe('contention', () => {
    test('of sixteen who claim one job at once, one gets it', async arena => {
      const stores = await connections(arena, 4)
      for (let round = 0; round < 5; round++) {
        await arena.due({ name: `job ${round}`, task: `task ${round}` })
        const replies = await Promise.all(
          Array.from({ length: 16 }, (_, i) => arena.claim({ owner: `owner ${i}`, tasks: [`task ${round}`] }, stores[i % 4])),
        )
        expect(replies.flatMap(({ grants }) => grants)).toHaveLength(1)
      }
    })

    test('of sixteen who take an expired lease over at once, one gets it', async arena => {
      const stores = await connections(arena, 4)
      await arena.due({ policy: { maxAttempts: 20 } })
      for (let attempt = 1; attempt <= 5; attempt++) {
        const replies = await Promise.all(
          Array.from({ length: 16 }, (_, i) => arena.claim({ owner: `owner ${i}`, ttlMs: 1 }, stores[i % 4])),
        )
        const grants = replies.flatMap(reply => reply.grants)
        // with a lease of a millisecond some may follow each other, never two at once
        expect(new Set(grants.map(({ row }) => row.fence)).size).toBe(grants.length)
        expect(grants.length).toBeGreaterThanOrEqual(1)
        await arena.sleep(5)
        if ((await arena.row()).open?.attempt === 20) break
      }
    })

    test('ten replicas claim a thousand due jobs: each once, in few calls', async arena => {
      const stores = await connections(arena, 5)
      const replicas = Array.from({ length: 10 }, (_, i) => `replica ${i}`)
      for (const id of replicas)
        await arena.store.declare({ replica: aReplica({ id, tasks: ['task'], role: 'all' }), jobs: [], liveForMs: longMs })
      await arena.manyDue(1000)
      let calls = 0
      const claimed = await Promise.all(
        replicas.map(async (owner, i) => {
          const ids: number[] = []
          for (;;) {
            calls++
            const { grants, moreDue } = await arena.claim({ owner, limit: 200, liveForMs: longMs }, stores[i % 5])
            ids.push(...grants.map(({ row }) => row.id))
            if (!moreDue) return ids
            // what is left after a while is anyone's
            await arena.sleep(60)
          }
        }),
      )
      expect(claimed.flat()).toHaveLength(1000)
      expect(new Set(claimed.flat()).size).toBe(1000)
      expect(calls).toBeLessThanOrEqual(30)
      const rows = await arena.rows()
      expect(rows.every(row => row.open?.attempt === 1 && row.lease?.mayStart)).toBe(true)
    })

    test('a thousand rounds of renewing and settling in random order: no deadlock, every call answered', async arena => {
      const [jobs, workers, rounds] = [12, 4, 250]
      const stores = await connections(arena, workers)
      await arena.manyDue(jobs, { policy: { maxAttempts: 1_000_000 } })
      const held = new Map((await arena.claim({ limit: jobs })).grants.map(grant => [grant.row.id, grant]))
      expect(held.size).toBe(jobs)
      const ids = [...held.keys()]
      await Promise.all(
        stores.map(async (store, worker) => {
          const chance = new Chance(worker + 1)
          const own = ids.filter((_, i) => i % workers === worker)
          for (let round = 0; round < rounds; round++) {
            const grants = own.map(id => held.get(id)!)
            const renewed = await store.renew({
              owner: 'a',
              ttlMs: longMs,
              leases: chance.shuffled([...held.values()].map(({ row }) => ({ rowId: row.id, fence: row.fence }))),
            })
            // what others hold may have been settled and claimed again meanwhile
            for (const { rowId, state } of renewed.leases) if (own.includes(rowId)) expect(state).toMatch(/held|busy/)
            const items = chance.shuffled([
              ...grants.map(grant => ({ ...runSettlement(grant, handedBack(grant, false)), isMine: true })),
              ...ids
                .filter(id => !own.includes(id))
                .map(id => ({ ...runSettlement(grants[0]!, succeeded(grants[0]!)), rowId: id, fence: 1, isMine: false })),
            ])
            const { results } = await store.settle({
              owner: 'a',
              items: items.map(({ kind, rowId, fence, occurrence, end }) => ({ kind, rowId, fence, occurrence, end })),
            })
            expect(results.map(({ kind }) => kind)).toEqual(items.map(({ isMine }) => (isMine ? 'settled' : 'lost')))
            while (own.some(id => held.get(id)!.row.fence === grants.find(({ row }) => row.id === id)!.row.fence)) {
              const except = ids.filter(id => !own.includes(id))
              for (const grant of (await arena.claim({ limit: jobs, except }, store)).grants) held.set(grant.row.id, grant)
            }
          }
        }),
      )
      expect((await arena.rows()).every(row => row.open?.attempt === 1)).toBe(true)
      expect(await arena.runs()).toEqual([])
    })

    test('of sixteen who settle one run at once, one ends it and the others find it done', async arena => {
      const stores = await connections(arena, 4)
      await arena.due()
      const grant = await arena.grant()
      const item = runSettlement(grant, succeeded(grant))
      const kinds = await Promise.all(Array.from({ length: 16 }, async (_, i) => (await arena.settle(item, 'a', stores[i % 4])).kind))
      expect(kinds.filter(kind => kind === 'settled')).toHaveLength(1)
      expect(kinds.filter(kind => kind === 'already')).toHaveLength(15)
      expect(await arena.verdicts()).toEqual(['= succeeded'])
    })

    test('a late settle and a takeover at once: one of them wins, and both are told', async arena => {
      const [first, second] = await connections(arena, 2)
      for (let round = 0; round < 20; round++) {
        const task = `task ${round}`
        await arena.due({ name: `job ${round}`, task })
        const late = await arena.vanish({ tasks: [task] })
        const [settled, { grants }] = await Promise.all([
          arena.settle(runSettlement(late, succeeded(late)), 'gone', first),
          arena.claim({ owner: 'b', tasks: [task] }, second),
        ])
        expect([settled.kind, grants.length]).toEqual(settled.kind === 'settled' ? ['settled', 0] : ['lost', 1])
        for (const grant of grants) await arena.succeed(grant)
        expect((await arena.verdicts(`job ${round}`)).filter(line => line.startsWith('='))).toEqual(['= succeeded'])
      }
    })

    test('a renewal and a takeover at once: one of them wins', async arena => {
      const [first, second] = await connections(arena, 2)
      for (let round = 0; round < 10; round++) {
        const task = `task ${round}`
        await arena.due({ name: `job ${round}`, task })
        const { row } = await arena.grant({ tasks: [task], ttlMs: 30 })
        await arena.until(row.dueAt - 2)
        for (;;) {
          const [renewed, { grants }] = await Promise.all([
            arena.renew(heldBy({ row }), 3, first),
            arena.claim({ owner: 'b', tasks: [task] }, second),
          ])
          const taken = grants[0]?.row
          // S1: where both were granted, the taker came after the renewed lease had run out
          if (taken !== undefined && renewed.state === 'held') expect(taken.acquiredAt).toBeGreaterThanOrEqual(renewed.dueAt)
          if (taken !== undefined) break
          await arena.sleep(3)
        }
      }
    })

    test('the row lock is short: while a handler runs its row can be locked by others', async arena => {
      if (subject.lockProbe === undefined) return
      await arena.due()
      const { row } = await arena.grant()
      const { namespace } = arena
      expect(await subject.lockProbe({ namespace, id: row.id })).toBe(true)
      await arena.renew(heldBy({ row }))
      expect(await subject.lockProbe({ namespace, id: row.id })).toBe(true)
    })
  })
}
