import type { Instant } from '../../domain/timetable.ts'
import type { Grant, PlanSettlement, SettleResult } from '../store.ts'
import type { Placed } from './batch.ts'
import type { Database } from './database.ts'
import { granting } from './grant.ts'
import { lineParameters } from './line.ts'
import { instant, numbers, texts } from './parameter.ts'
import { plannedBeforeSql, settlePlansSql } from './planned.sql.ts'
import { jobRowFrom, type Values } from './row.ts'
import { statement } from './tables.ts'

/** Where the job's columns begin in the answers. */
const rowAt = 3
const rowBeforeAt = 2

type Step = 'before' | 'stale' | 'gone' | 'idle' | 'again' | 'open' | 'spawn'

const resultOf: Readonly<Record<Step, 'settled' | 'granted' | 'stale'>> = {
  before: 'granted',
  stale: 'stale',
  gone: 'settled',
  idle: 'settled',
  again: 'granted',
  open: 'granted',
  spawn: 'granted',
}

/** Notes the results of the plans that were written down, now or before. */
export function planSettling(
  database: Database,
): (owner: string, plans: readonly Placed<PlanSettlement>[], results: SettleResult[]) => Promise<Instant> {
  const settlePlans = statement('plan', settlePlansSql(database.tables))
  const plannedBefore = statement('planned', plannedBeforeSql(database.tables))
  const grantsOf = granting(database)
  return async (owner, plans, results) => {
    const items = JSON.stringify(plans.map(({ item }, place) => planParameters(item, place + 1)))
    const answer = await database.query(settlePlans, [owner, items, String(database.lockTimeoutMs), database.namespace])
    const rows = await grantsOf(answer.filter(values => values[rowAt] != null).map(values => jobRowFrom(values, rowAt)))
    const grants = rows[Symbol.iterator]()
    for (const values of answer) {
      const plan = plans[Number(values[1] ?? 0) - 1]
      const kind = resultOf[values[2] as Step]
      if (plan !== undefined) results[plan.index] = kind === 'settled' ? { kind } : { kind, grant: grants.next().value as Grant }
    }
    const unsure = plans.filter(({ index }) => results[index]?.kind === 'lost')
    if (unsure.length > 0) {
      const written = unsure.flatMap(({ item }, place) => item.plan.lines.map(line => ({ ...line, n: place + 1 })))
      const before = await database.query(plannedBefore, [
        owner,
        numbers(unsure, ({ item }) => item.rowId),
        numbers(unsure, ({ item }) => item.fence),
        numbers(written, ({ n }) => n),
        texts(written, ({ cause }) => cause),
        numbers(written, ({ scheduledAt }) => scheduledAt),
        database.namespace,
        texts(unsure, ({ item }) => item.claimId),
      ])
      for (const values of before) {
        const plan = unsure[Number(values[0]) - 1]
        if (plan !== undefined) results[plan.index] = resultBefore(values)
      }
    }
    return answer[0]?.[0] as Instant
  }
}

function resultBefore(values: Values): SettleResult {
  if (values[rowBeforeAt] === null) return { kind: values[1] === true ? 'already' : 'lost' }
  return { kind: 'granted', grant: { row: jobRowFrom(values, rowBeforeAt), manual: null, backfill: null } }
}

function planParameters({ rowId, fence, claimId, ttlMs, plan }: PlanSettlement, n: number): object {
  const { seen, closes, cursor, pauseEnds, then } = plan
  return {
    n,
    row_id: rowId,
    held_fence: fence,
    new_claim_id: claimId,
    ttl_ms: ttlMs,
    seen_rev: seen.rev,
    seen_asked: seen.asked,
    seen_next: instant(seen.nextAt),
    ...(seen.open !== null && { seen_cause: seen.open.cause, seen_open: instant(seen.open.scheduledAt) }),
    closes,
    moves: cursor !== null,
    ...(cursor !== null && {
      then_next: instant(cursor.nextAt),
      then_after: instant(cursor.afterAt),
      then_old: JSON.stringify(cursor.oldSchedules),
    }),
    ...(pauseEnds !== null && { quiet_from: instant(pauseEnds.from), quiet_until: instant(pauseEnds.until) }),
    kind: then.kind,
    ...(then.kind === 'open' && { then_cause: then.cause, then_open: instant(then.scheduledAt) }),
    ...(then.kind === 'open' && then.ask !== null && { ask_id: then.ask.id }),
    ...(then.kind === 'open' && then.ask !== null && then.ask.nextAt !== null && { ask_next: instant(then.ask.nextAt) }),
    lines: JSON.stringify(plan.lines.map(lineParameters)),
  }
}
