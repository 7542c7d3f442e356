import { OnetickError } from '../../domain/errors.ts'
import type { Held } from '../store.ts'
import type { Database } from './database.ts'
import type { ClientLike } from './driver.ts'
import { explained } from './failure.ts'
import type { Tables } from './tables.ts'

/** The statement that locks the row where the fence is current. */
interface Hold {
  readonly text: string
  readonly values: readonly unknown[]
}

/**
 * S6: a transaction of the user's own, in which the row is locked `for key share` where the fence is current. A takeover passes such a row by
 * until the transaction ends; the heartbeat of its own lease goes through. It is bounded by what remained of the lease when it began: on the
 * server by time-outs, so that a process that stands still lets the row go, and here by the connection's end.
 */
export function fencing(database: Database): <T>(held: Held, body: (connection: unknown) => Promise<T>) => Promise<T> {
  const text = holdSql(database.tables)
  /** Onetick's own part of the transaction. What the body throws stays as it is. */
  const own = <T>(work: Promise<T>): Promise<T> =>
    database.bounded(work, database.callTimeoutMs).catch((error: unknown) => {
      throw explained(error, database.location)
    })
  return async (held, body) => {
    const client = await database.connect()
    const hold: Hold = { text, values: [held.rowId, held.owner, held.fence, String(database.lockTimeoutMs), database.namespace] }
    let isOpen = true
    try {
      const beganMs = database.clock.elapsedMs()
      const remainingMs = await own(begun(client, hold))
      const leftMs = beganMs + remainingMs - database.clock.elapsedMs()
      const late = () => new OnetickError('ONETICK_FENCED_OFF', `The lease on row ${held.rowId} ran out during the transaction.`)
      const result = await database.bounded(body(client), leftMs, late)
      await own(committed(client, hold))
      isOpen = false
      return result
    } catch (error) {
      await own(client.query({ text: 'rollback' })).then(
        () => {
          isOpen = false
        },
        () => undefined,
      )
      throw error
    } finally {
      database.giveBack(client, !isOpen)
    }
  }
}

/** What remains of the lease, in ms. */
async function begun(client: ClientLike, hold: Hold): Promise<number> {
  await client.query({ text: 'begin isolation level read committed' })
  const remainingMs = await locked(client, hold)
  await client.query({ text: limitSql, values: [String(Math.max(1, Math.floor(remainingMs)))] })
  return remainingMs
}

/** S5: nothing is committed once the lease has run out. */
async function committed(client: ClientLike, hold: Hold): Promise<void> {
  await locked(client, hold)
  await client.query({ text: 'commit' })
}

async function locked(client: ClientLike, { text, values }: Hold): Promise<number> {
  const { rows } = await client.query({ text, values: [...values], rowMode: 'array' })
  const [[remainingMs] = []] = rows as readonly (readonly unknown[])[]
  if (Number(remainingMs) > 0) return Number(remainingMs)
  throw new OnetickError('ONETICK_FENCED_OFF', `The lease on row ${values[0]} is not held under fence ${values[2]}.`)
}

/** $1 row, $2 owner, $3 fence, $4 lock time-out, $5 namespace. */
const holdSql = (t: Tables): string => `
with held as materialized (
  select j.*
  from ${t.jobs} j
  where j.id = $1
    and j.fence = $3
    and (select set_config('lock_timeout', $4, true)) is not null
  for key share
)
select date_part('epoch', h.due_at - clock_timestamp()) * 1000
from held h
where h.namespace = $5
  and h.owner = $2
  and h.may_start`

/** $1 what remains of the lease. */
const limitSql = `
select set_config('statement_timeout', $1, true),
       set_config('lock_timeout', $1, true),
       set_config('idle_in_transaction_session_timeout', $1, true)`
