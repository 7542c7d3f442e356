import type { Readings, RunsFilter, RunView } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'
import { type LineColumns, lineOf } from './line.ts'

/** In one turn of the loop so many lines are searched, as a filter may let few of them pass, and so many are read. */
const searchedAtOnce = 10_000
const readAtOnce = 1000

export async function readRuns(database: Database, namespace: string, filter: RunsFilter): Promise<Readings['runs']['answer']> {
  const runs: RunView[] = []
  for (let before = filter.before ?? Number.MAX_SAFE_INTEGER; ; ) {
    const window = { ...filter, before, limit: Math.min(filter.limit - runs.length, readAtOnce) }
    const { now, lines, lowest } = await database.read((db, at) => ({ now: at, ...windowOf(db, namespace, window) }))
    runs.push(...lines.map(lineOf))
    const next = lines.length === window.limit ? (lines.at(-1)?.id ?? null) : lowest
    if (next === null || runs.length >= filter.limit) return { now, runs }
    before = next
  }
}

/** `lowest`: where the next window ends; null: this was the last. */
interface Window {
  readonly lines: readonly LineColumns[]
  readonly lowest: number | null
}

function windowOf(db: Connection, namespace: string, filter: RunsFilter & { readonly before: number }): Window {
  const { job, before, limit, since = 0, at = null } = filter
  const final = filter.final === undefined ? null : Number(filter.final)
  const below = (seen: { lowest: number; lines: number } | undefined): number | null =>
    seen?.lines === searchedAtOnce ? seen.lowest : null
  if (job === undefined) {
    const lowest = below(
      db.get(
        `select min(id) as lowest, count(*) as lines
from (select id from onetick_runs where id < ? order by id desc limit ?)`,
        before,
        searchedAtOnce,
      ),
    )
    const lines = db.all<LineColumns>(
      `select r.id, r.row_id, r.job, j.name, r.cause, r.scheduled_at, r.until_at, r.count, r.attempt, r.fence, r.owner,
  r.started_at, r.ended_at, r.outcome, r.final, r.reason, r.error, r.result, r.log_tail
from onetick_runs r
cross join onetick_jobs j on j.id = r.job
where r.id < ?
  and r.id >= ?
  and r.ended_at >= ?
  and r.final = coalesce(?, r.final)
  and r.scheduled_at <= coalesce(?, r.scheduled_at)
  and r.until_at >= coalesce(?, r.until_at)
  and j.namespace = ?
order by r.id desc
limit ?`,
      before,
      lowest ?? 0,
      since,
      final,
      at,
      at,
      namespace,
      limit,
    )
    return { lines, lowest }
  }
  const [id] = db.all<{ id: number }>('select id from onetick_jobs where namespace = ? and name = ? and parent is null', namespace, job)
  if (id === undefined) return { lines: [], lowest: null }
  const lowest = below(
    db.get(
      `select min(id) as lowest, count(*) as lines
from (select id from onetick_runs where job = ? and id < ? order by id desc limit ?)`,
      id.id,
      before,
      searchedAtOnce,
    ),
  )
  const lines = db.all<LineColumns>(
    `select id, row_id, job, cast(? as text) as name, cause, scheduled_at, until_at, count, attempt, fence, owner,
  started_at, ended_at, outcome, final, reason, error, result, log_tail
from onetick_runs indexed by onetick_runs_job
where job = ?
  and id < ?
  and id >= ?
  and ended_at >= ?
  and final = coalesce(?, final)
  and scheduled_at <= coalesce(?, scheduled_at)
  and until_at >= coalesce(?, until_at)
order by id desc
limit ?`,
    job,
    id.id,
    before,
    lowest ?? 0,
    since,
    final,
    at,
    at,
    limit,
  )
  return { lines, lowest }
}
