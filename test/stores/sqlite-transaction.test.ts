// Fenced transactions on SQLite (S6): the handler's own writes, on a connection of its own that holds the writer's lock.
import { expect, test } from 'vitest'
import type { SqliteDatabase } from '../../src/store/sqlite/index.ts'
import { type DatabaseFile, heldLease, longMs, withFile } from './fixtures/sqlite-file.ts'

const fencedOff = { code: 'ONETICK_FENCED_OFF' }

function write(connection: unknown, text: string): void {
  ;(connection as SqliteDatabase).prepare('insert into effects (text) values (?)').run(text)
}

function effects(file: DatabaseFile): string[] {
  return file.raw(database =>
    (database.prepare('select text from effects order by rowid').all() as { text: string }[]).map(({ text }) => text),
  )
}

function withEffects(body: (file: DatabaseFile) => Promise<void>): Promise<void> {
  return withFile(async file => {
    file.raw(database => database.exec('create table effects (text text not null unique)'))
    await body(file)
  })
}

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

test('what a holder writes is there afterwards, and its result comes back', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease')
    const result = await store.transaction(held, async connection => {
      write(connection, 'one')
      await sleep(5)
      write(connection, 'two')
      return 'done'
    })
    expect(result).toBe('done')
    expect(effects(file)).toEqual(['one', 'two'])
  }))

test('a stale fence, another owner and an expired lease are refused before anything is run', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease')
    const brief = await heldLease(store, 'brief', 20)
    await sleep(30)
    for (const of of [{ ...held, fence: held.fence - 1 }, { ...held, owner: 'you' }, { ...held, rowId: 99 }, brief]) {
      await expect(store.transaction(of, async connection => write(connection, 'no'))).rejects.toMatchObject(fencedOff)
    }
    expect(effects(file)).toEqual([])
  }))

test('a body that throws leaves nothing behind, and its error comes back as it is', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease')
    const failure = new Error('mine')
    const failed = store.transaction(held, async connection => {
      write(connection, 'no')
      throw failure
    })
    await expect(failed).rejects.toBe(failure)
    const foreign = store.transaction(held, async connection => (connection as SqliteDatabase).exec('select * from nowhere'))
    await expect(foreign).rejects.toThrow(/^no such table: nowhere$/)
    const twice = store.transaction(held, async connection => {
      write(connection, 'same')
      write(connection, 'same')
    })
    await expect(twice).rejects.toThrow(/UNIQUE/)
    expect(effects(file)).toEqual([])
    await store.transaction(held, async connection => write(connection, 'yes'))
    expect(effects(file)).toEqual(['yes'])
  }))

test('a lease that runs out meanwhile takes the writes with it, however the loop was blocked', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease', 60)
    const late = store.transaction(held, async connection => {
      write(connection, 'no')
      const until = performance.now() + 80
      while (performance.now() < until);
    })
    await expect(late).rejects.toMatchObject(fencedOff)
    expect(effects(file)).toEqual([])
  }))

test('a transaction may last a third of what remains; then it is undone, and nothing gets through its connection any more', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease', 600)
    let connection: SqliteDatabase | null = null
    let statement: ReturnType<SqliteDatabase['prepare']> | null = null
    const started = performance.now()
    const slow = store.transaction(held, async given => {
      connection = given as SqliteDatabase
      statement = connection.prepare("insert into effects (text) values ('through a statement')")
      write(connection, 'no')
      await sleep(500)
      write(connection, 'after its time')
    })
    await expect(slow).rejects.toMatchObject({ ...fencedOff, message: expect.stringContaining('Keep it short') })
    expect(performance.now() - started).toBeLessThan(450)
    expect(() => connection!.exec("insert into effects (text) values ('directly')")).toThrow()
    expect(() => statement!.run()).toThrow()
    // the lock is free again, the lease still held
    expect(await store.renew({ owner: 'me', ttlMs: longMs, leases: [held] })).toMatchObject({ leases: [{ state: 'held' }] })
    await store.transaction(held, async given => write(given, 'yes'))
    await sleep(350)
    expect(effects(file)).toEqual(['yes'])
  }))

test('a transaction lasts no longer than a call may take, however long the lease', () =>
  withEffects(async file => {
    const store = await file.migrated({ callTimeoutMs: 100 })
    const held = await heldLease(store, 'lease')
    await expect(store.transaction(held, () => sleep(400))).rejects.toMatchObject(fencedOff)
  }))

test('whoever renews meanwhile waits for it, and is not taken for lost', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const other = file.open()
    const held = await heldLease(store, 'lease')
    const order: string[] = []
    await Promise.all([
      store
        .transaction(held, async connection => {
          write(connection, 'one')
          await sleep(60)
        })
        .then(() => order.push('transaction')),
      sleep(20)
        .then(() => other.renew({ owner: 'me', ttlMs: longMs, leases: [held] }))
        .then(reply => order.push(reply.leases[0]!.state)),
    ])
    expect(order).toEqual(['transaction', 'held'])
  }))

test('transactions of two holders come one after the other', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const [a, b] = [await heldLease(store, 'a'), await heldLease(store, 'b')]
    const within = async (name: string, connection: unknown): Promise<void> => {
      write(connection, `${name} begins`)
      await sleep(10)
      write(connection, `${name} ends`)
    }
    await Promise.all([
      store.transaction(a, connection => within('a', connection)),
      store.transaction(b, connection => within('b', connection)),
    ])
    const seen = effects(file)
    expect(seen.map(text => text.slice(2))).toEqual(['begins', 'ends', 'begins', 'ends'])
    expect(seen[0]![0]).toBe(seen[1]![0])
  }))

test('close waits for a transaction that is under way', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease')
    const under = store.transaction(held, async connection => {
      await sleep(30)
      write(connection, 'in time')
    })
    await sleep(5)
    await store.close()
    await under
    expect(effects(file)).toEqual(['in time'])
  }))

test('a body that ends the transaction itself is told that this was not its to do', () =>
  withEffects(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease')
    const ended = store.transaction(held, async connection => (connection as SqliteDatabase).exec('rollback'))
    await expect(ended).rejects.toThrow(/no transaction is active/)
  }))
