import type { PostgresFitness } from '../fitness.ts'
import type { Database } from './database.ts'
import type { ClientLike } from './driver.ts'

/**
 * Whether a pooler that shares the server's processes among connections stands between. Nothing says so, but two connections
 * show it: one process answers both while the second is inside a transaction, or the first is answered by another than before.
 * Null: there were no two connections to be had.
 */
export async function poolerOf(database: Database): Promise<PostgresFitness['pooler']> {
  const first = await database.connect()
  let isDone = false
  try {
    const pooler = await beside(database, first)
    isDone = true
    return pooler ?? (database.takesSettings ? 'none' : 'settings')
  } catch {
    return null
  } finally {
    database.giveBack(first, isDone)
  }
}

/** Null: nothing was seen of one. */
async function beside(database: Database, first: ClientLike): Promise<'transaction' | null> {
  const limitMs = database.callTimeoutMs
  const second = await database.connect()
  let isDone = false
  try {
    const process = await database.bounded(processOf(first), limitMs)
    await database.bounded(second.query({ text: 'begin read only' }), limitMs)
    const other = await database.bounded(processOf(second), limitMs)
    // one process for both is occupied by the transaction: the first would wait for it
    const again = other === process ? process : await database.bounded(processOf(first), limitMs)
    await database.bounded(second.query({ text: 'rollback' }), limitMs)
    isDone = true
    return other === process || again !== process ? 'transaction' : null
  } finally {
    database.giveBack(second, isDone)
  }
}

async function processOf(client: ClientLike): Promise<unknown> {
  const { rows } = await client.query({ text: 'select pg_backend_pid()', rowMode: 'array' })
  return (rows as readonly unknown[][])[0]?.[0]
}
