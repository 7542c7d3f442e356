import type { Instant } from '../../domain/timetable.ts'
import type { RunSettlement, SettleReply, SettleRequest, SettleResult } from '../store.ts'
import { batchesOf, type Placed } from './batch.ts'
import type { Database } from './database.ts'
import { json, numbers, printable, texts } from './parameter.ts'
import { planSettling } from './planned.ts'
import { releaseSql, settledBeforeSql, settleRunsSql } from './settle.sql.ts'
import { statement } from './tables.ts'

/** One result an item, in order. Runs go in one statement, plans in another, unless a row comes twice. */
export function settling(database: Database): (request: SettleRequest) => Promise<SettleReply> {
  const release = releasing(database)
  const settleRuns = runSettling(database)
  const settlePlans = planSettling(database)
  return async ({ owner, items }) => {
    const results: SettleResult[] = items.map(() => ({ kind: 'lost' }))
    let now: Instant = Number.NEGATIVE_INFINITY
    for (const { leases, runs, plans } of batchesOf(items)) {
      if (leases.length > 0) now = (await release(owner, leases, results)) ?? now
      const rest = [...leases.filter(({ index }) => results[index]?.kind === 'lost'), ...runs]
      // an empty request still tells the time
      if (rest.length > 0 || items.length === 0) now = await settleRuns(owner, rest, results)
      if (plans.length > 0) now = await settlePlans(owner, plans, results)
    }
    return { now, results }
  }
}

/** Notes which leases without an occurrence were let go. */
function releasing(
  database: Database,
): (owner: string, leases: readonly Placed<RunSettlement>[], results: SettleResult[]) => Promise<Instant | null> {
  const release = statement('release', releaseSql(database.tables))
  return async (owner, leases, results) => {
    const rows = numbers(leases, ({ item }) => item.rowId)
    const fences = numbers(leases, ({ item }) => item.fence)
    const answer = await database.query(release, [owner, rows, fences, String(database.lockTimeoutMs), database.namespace])
    for (const [, n] of answer) {
      const lease = leases[Number(n) - 1]
      if (lease !== undefined) results[lease.index] = { kind: 'settled' }
    }
    return (answer[0]?.[0] as Instant | undefined) ?? null
  }
}

/** Notes the results of the settles that were carried out, now or before. */
function runSettling(
  database: Database,
): (owner: string, runs: readonly Placed<RunSettlement>[], results: SettleResult[]) => Promise<Instant> {
  const settleRuns = statement('settle', settleRunsSql(database.tables))
  const settledBefore = statement('settled', settledBeforeSql(database.tables))
  return async (owner, runs, results) => {
    const items = runs.map(({ item }) => item)
    const { lockTimeoutMs, channel, namespace } = database
    const answer = await database.query(settleRuns, [owner, ...parametersOf(items), String(lockTimeoutMs), channel, namespace])
    for (const [, n] of answer) {
      const run = runs[Number(n ?? 0) - 1]
      if (run !== undefined) results[run.index] = { kind: 'settled' }
    }
    const unsure = runs.flatMap(({ item, index }) =>
      results[index]?.kind === 'settled' || item.occurrence === null ? [] : [{ ...item, ...item.occurrence, index }],
    )
    if (unsure.length > 0) {
      const before = await database.query(settledBefore, [
        numbers(unsure, ({ rowId }) => rowId),
        numbers(unsure, ({ fence }) => fence),
        texts(unsure, ({ cause }) => cause),
        numbers(unsure, ({ scheduledAt }) => scheduledAt),
        namespace,
      ])
      for (const [n] of before) {
        const found = unsure[Number(n) - 1]
        if (found !== undefined) results[found.index] = { kind: 'already' }
      }
    }
    return answer[0]?.[0] as Instant
  }
}

function parametersOf(items: readonly RunSettlement[]): readonly string[] {
  const ends = items.map(({ end }) => end)
  return [
    numbers(items, ({ rowId }) => rowId),
    numbers(items, ({ fence }) => fence),
    texts(ends, ({ kind }) => kind),
    texts(ends, end => (end.kind === 'final' ? end.verdict : null)),
    numbers(ends, end => (end.kind === 'handBack' ? end.started : null)),
    numbers(ends, end => (end.kind === 'retry' ? end.backoffMs : null)),
    numbers(ends, ({ successor }) => successor?.rev ?? null),
    numbers(ends, ({ successor }) => successor?.nextAt ?? null),
    numbers(ends, ({ successor }) => successor?.afterAt ?? null),
    texts(ends, ({ reason }) => reason),
    texts(ends, ({ error }) => json(error)),
    texts(ends, ({ result }) => json(result)),
    texts(ends, ({ logTail }) => printable(logTail)),
  ]
}
