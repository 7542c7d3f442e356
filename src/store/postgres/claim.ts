import type { Instant } from '../../domain/timetable.ts'
import type { ClaimReply, ClaimRequest } from '../store.ts'
import { claimedSql, claimSql } from './claim.sql.ts'
import type { Database } from './database.ts'
import { granting } from './grant.ts'
import { numbers, texts } from './parameter.ts'
import { jobRowFrom } from './row.ts'
import { statement } from './tables.ts'

/** Where the job's columns begin in an answer. */
const rowAt = 5

export function claiming(database: Database): (request: ClaimRequest) => Promise<ClaimReply> {
  const claim = statement('claim', claimSql(database.tables))
  const claimed = statement('claimed', claimedSql(database.tables))
  const grantsOf = granting(database)
  return async request => {
    const { owner, claimId, tasks, limit, ttlMs, notAfter, except, liveForMs, presence } = request
    const answer = await database.query(claim, [
      ...[
        database.namespace,
        owner,
        claimId,
        texts([...new Set(tasks)], task => task),
        limit,
        ttlMs,
        notAfter,
        numbers(except, id => id),
        liveForMs,
      ],
      ...[presence.running, presence.draining, presence.clockOffsetMs, presence.loopLagMs],
    ])
    const [now, nextDueAt, moreDue, anyLeased, isAgain] = (answer[0] ?? []) as [Instant, Instant, boolean, boolean, boolean]
    const rows = isAgain
      ? (await database.query(claimed, [database.namespace, owner, claimId])).map(values => jobRowFrom(values, 0))
      : answer.filter(values => values[rowAt] !== null).map(values => jobRowFrom(values, rowAt))
    return { now, nextDueAt, moreDue, anyLeased: anyLeased || isAgain, grants: await grantsOf(rows) }
  }
}
