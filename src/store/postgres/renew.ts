import type { Json } from '../../domain/json.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { Held, Renewed, RenewReply, RenewRequest } from '../store.ts'
import type { Database } from './database.ts'
import { numbers } from './parameter.ts'
import { checkpointSql, renewSql } from './renew.sql.ts'
import { statement } from './tables.ts'

export function renewing(database: Database): (request: RenewRequest) => Promise<RenewReply> {
  const renew = statement('renew', renewSql(database.tables))
  return async ({ owner, ttlMs, leases }) => {
    const rows = numbers(leases, ({ rowId }) => rowId)
    const answer = await database.query(renew, [owner, rows, numbers(leases, ({ fence }) => fence), ttlMs, database.namespace])
    const [now] = (answer[0] ?? []) as [Instant]
    return { now, leases: leases.length === 0 ? [] : answer.map(([, ...lease]) => renewedFrom(lease)) }
  }
}

function renewedFrom(values: readonly unknown[]): Renewed {
  const [rowId, fence, state, dueAt, rev, nextAt, cancelled] = values as [
    number,
    number,
    Renewed['state'],
    Instant,
    number,
    Instant,
    boolean | null,
  ]
  return { rowId, fence, state, dueAt, rev, nextAt, cancelled: cancelled === true }
}

export function checkpointing(database: Database): (held: Held, value: Json) => Promise<boolean> {
  const checkpoint = statement('checkpoint', checkpointSql(database.tables))
  return async ({ rowId, owner, fence }, value) => {
    const text = JSON.stringify(value)
    const answer = await database.query(checkpoint, [rowId, owner, fence, text, String(database.lockTimeoutMs), database.namespace])
    return answer.length > 0
  }
}
