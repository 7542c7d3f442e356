import { describe, expect } from 'vitest'
import type { Grant } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { heldBy, longMs } from './requests.ts'
import type { Effects, Subject } from './subject.ts'

export function fencing(subject: Subject): void {
  const test = testsOf(subject)

  describe('a fenced transaction', () => {
    if (!subject.capabilities.transactions) {
      test('is refused with a code by a store that has none, and its body is not run', async arena => {
        await arena.due()
        const grant = await arena.grant()
        let ran = false
        const body = async () => {
          ran = true
        }
        await expect(arena.store.transaction(heldBy(grant), body)).rejects.toMatchObject({ code: 'ONETICK_STORE_UNSUPPORTED' })
        expect(ran).toBe(false)
        expect(await arena.row()).toEqual(grant.row)
      })
      return
    }

    const fencedOff = { code: 'ONETICK_FENCED_OFF' }
    const started = async (arena: Arena): Promise<readonly [Effects, Grant]> => {
      await arena.due()
      return [await effects(subject), await arena.grant()]
    }

    test('commits what its body wrote, and returns what it returned', async arena => {
      const [table, grant] = await started(arena)
      const value = await arena.store.transaction(heldBy(grant), async connection => {
        await table.write(connection, `${arena.namespace} a`)
        await table.write(connection, `${arena.namespace} b`)
        return 42
      })
      expect(value).toBe(42)
      expect(await mine(arena, table)).toEqual(['a', 'b'])
      expect((await arena.renew(heldBy(grant))).state).toBe('held')
    })

    test('commits nothing where its body throws, and throws the same', async arena => {
      const [table, grant] = await started(arena)
      const error = new Error('no')
      const body = async (connection: unknown) => {
        await table.write(connection, `${arena.namespace} a`)
        throw error
      }
      await expect(arena.store.transaction(heldBy(grant), body)).rejects.toBe(error)
      expect(await mine(arena, table)).toEqual([])
      expect(await arena.store.checkpoint(heldBy(grant), 1)).toBe(true)
    })

    test('is refused for an old fence, before its body runs', async arena => {
      await arena.due()
      const table = await effects(subject)
      const old = await arena.vanish({ owner: 'a' })
      const { row } = await arena.grant({ owner: 'a' })
      const body = (connection: unknown) => table.write(connection, `${arena.namespace} zombie`)
      for (const held of [heldBy(old), { ...heldBy({ row }), owner: 'b' }, { ...heldBy({ row }), fence: row.fence + 1 }]) {
        await expect(arena.store.transaction(held, body)).rejects.toMatchObject(fencedOff)
      }
      expect(await mine(arena, table)).toEqual([])
    })

    test('is refused after the lease has expired, or the run has ended', async arena => {
      await arena.due()
      const table = await effects(subject)
      const body = (connection: unknown) => table.write(connection, `${arena.namespace} late`)
      const late = await arena.vanish()
      await expect(arena.store.transaction(heldBy(late), body)).rejects.toMatchObject(fencedOff)
      const next = await arena.grant()
      await arena.succeed(next)
      await expect(arena.store.transaction(heldBy(next), body)).rejects.toMatchObject(fencedOff)
      expect(await mine(arena, table)).toEqual([])
    })

    test('commits nothing once its lease has run out, and then another takes over', async arena => {
      await arena.due()
      const table = await effects(subject)
      const grant = await arena.grant({ ttlMs: 400 })
      const body = async (connection: unknown) => {
        await table.write(connection, `${arena.namespace} first`)
        await arena.sleep(600)
        await table.write(connection, `${arena.namespace} second`)
      }
      await expect(arena.store.transaction(heldBy(grant), body)).rejects.toBeDefined()
      expect(await mine(arena, table)).toEqual([])
      await arena.until(grant.row.dueAt)
      expect((await arena.grant({ owner: 'b' })).row.open?.attempt).toBe(2)
    })

    test('keeps takeover out while it lasts, so that effects come in the order of the fences', async arena => {
      const [table, grant] = await started(arena)
      const other = await arena.connect()
      let taken: Promise<unknown> = Promise.resolve()
      await arena.store.transaction(heldBy(grant), async connection => {
        await table.write(connection, `${arena.namespace} old`)
        // asked for while the transaction is open: passed by, or made to wait
        taken = arena.claim({ owner: 'b' }, other)
        await arena.sleep(50)
      })
      await taken
      expect(await mine(arena, table)).toEqual(['old'])
      expect((await arena.row()).lease?.owner).toBe('a')
    })

    if (subject.capabilities.renewsInTransaction) {
      test('does not keep its own heartbeat out', async arena => {
        const [table, grant] = await started(arena)
        const other = await arena.connect()
        await arena.store.transaction(heldBy(grant), async connection => {
          await table.write(connection, `${arena.namespace} a`)
          expect((await arena.renew(heldBy(grant), longMs, other)).state).toBe('held')
        })
        expect(await mine(arena, table)).toEqual(['a'])
      })
    }

    test('of two runs at once neither waits for ever', async arena => {
      await arena.manyDue(2)
      const table = await effects(subject)
      const { grants } = await arena.claim()
      const body = (name: string) => (connection: unknown) => table.write(connection, `${arena.namespace} ${name}`)
      await Promise.all(grants.map(grant => arena.store.transaction(heldBy(grant), body(grant.row.name))))
      expect((await mine(arena, table)).sort()).toEqual(['job-0000', 'job-0001'])
    })
  })
}

async function effects(subject: Subject): Promise<Effects> {
  if (subject.effects === undefined) throw new Error(`${subject.name} has transactions, but no table to write to`)
  return subject.effects()
}

async function mine(arena: Arena, table: Effects): Promise<string[]> {
  const prefix = `${arena.namespace} `
  return (await table.read()).filter(text => text.startsWith(prefix)).map(text => text.slice(prefix.length))
}
