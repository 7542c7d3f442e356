// The SQLite store keeps the promises: a real file, a connection a store.
import { afterAll, describe } from 'vitest'
import { isBusy } from '../../src/store/sqlite/failure.ts'
import type { SqliteDatabase } from '../../src/store/sqlite/index.ts'
import { conformance } from '../conformance/index.ts'
import { chosenStores } from '../servers/chosen.ts'
import { DatabaseFile, quickFolder } from './fixtures/sqlite-file.ts'

describe.skipIf(!chosenStores.includes('sqlite'))('SQLite', () => {
  const file = new DatabaseFile(quickFolder)
  let tables = 0
  afterAll(() => file.remove())

  conformance({
    name: 'sqlite',
    open: options => file.migrated(options),
    // one writer at a time: the renewal waits for the transaction, which lasts a third of the lease at most
    capabilities: { transactions: true, renewsInTransaction: false },
    empty: async () => {
      const database = new DatabaseFile()
      return { open: async () => database.open(), remove: () => database.remove() }
    },
    effects: async () => {
      const table = `effects_${++tables}`
      await unlocked(() => file.raw(database => database.exec(`create table ${table} (text text not null)`)))
      return {
        write: async (connection, text) => {
          ;(connection as SqliteDatabase).prepare(`insert into ${table} (text) values (?)`).run(text)
        },
        read: async () =>
          file.raw(database =>
            (database.prepare(`select text from ${table} order by rowid`).all() as { text: string }[]).map(({ text }) => text),
          ),
      }
    },
  })
})

/** Tests run beside each other, and one of them may just hold the writer's lock. */
async function unlocked(write: () => void): Promise<void> {
  for (;;) {
    try {
      return write()
    } catch (error) {
      if (!isBusy(error)) throw error
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  }
}
