import { describe, expect, test as vitest } from 'vitest'
import { testsOf } from './driver.ts'
import { aReplica, longMs } from './requests.ts'
import type { Subject } from './subject.ts'

export function migrating(subject: Subject): void {
  const test = testsOf(subject)

  describe('migrate', () => {
    test('on a store that is up to date does nothing, planned or applied, ten at once', async arena => {
      const row = await arena.job()
      const plan = await arena.store.migrate('plan')
      expect(plan.from).toBe(plan.to)
      // the grants for another user, where a store has any
      expect(plan.statements.filter(statement => !statement.startsWith('-- grant'))).toEqual([])
      const stores = await Promise.all(Array.from({ length: 10 }, () => arena.connect()))
      const done = await Promise.all(stores.map(store => store.migrate('apply')))
      for (const migration of done) expect(migration).toEqual({ from: plan.to, to: plan.to, statements: [] })
      expect(await arena.row()).toEqual(row)
      expect((await arena.store.read('status', {})).schemaVersion).toBe(plan.to)
    })

    const { empty } = subject
    if (empty === undefined) return
    const timeout = { timeout: 60_000 }

    vitest('of an empty database is told first, then done', timeout, async () => {
      const database = await empty()
      const store = await database.open()
      try {
        const plan = await store.migrate('plan')
        expect(plan.from).toBe(0)
        expect(plan.to).toBeGreaterThan(0)
        expect(plan.statements.length).toBeGreaterThan(0)
        expect((await store.read('fitness', {})).schema).toEqual({ found: 0, wanted: plan.to })
        await expect(store.read('jobs', {})).rejects.toMatchObject({ code: 'ONETICK_STORE_NOT_MIGRATED' })
        expect(await store.migrate('apply')).toMatchObject({ from: 0, to: plan.to })
        expect(await store.migrate('apply')).toEqual({ from: plan.to, to: plan.to, statements: [] })
        expect((await store.read('jobs', {})).jobs).toEqual([])
      } finally {
        await store.close()
        await database.remove()
      }
    })

    vitest('of an empty database by ten replicas at once makes it once', timeout, async () => {
      const database = await empty()
      const stores = await Promise.all(Array.from({ length: 10 }, () => database.open()))
      try {
        const done = await Promise.all(stores.map(store => store.migrate('apply')))
        expect(new Set(done.map(({ to }) => to)).size).toBe(1)
        const replies = await Promise.all(
          stores.map((store, i) => store.declare({ replica: aReplica({ id: `${i}` }), jobs: [], liveForMs: longMs })),
        )
        expect(replies).toHaveLength(10)
      } finally {
        await Promise.all(stores.map(store => store.close()))
        await database.remove()
      }
    })

    vitest('is asked for by every verb, with the remedy', timeout, async () => {
      const database = await empty()
      const store = await database.open()
      try {
        const missing = { code: 'ONETICK_STORE_NOT_MIGRATED' }
        await expect(store.declare({ replica: aReplica(), jobs: [], liveForMs: longMs })).rejects.toMatchObject(missing)
        await expect(store.renew({ owner: 'a', ttlMs: 1000, leases: [{ rowId: 1, fence: 1 }] })).rejects.toMatchObject(missing)
        await expect(store.control({ kind: 'resume', name: 'job' })).rejects.toMatchObject(missing)
      } finally {
        await store.close()
        await database.remove()
      }
    })
  })
}
