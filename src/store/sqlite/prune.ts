import type { Instant } from '../../domain/timetable.ts'
import type { Connection } from './connection.ts'

/** So much stands in one transaction: a few milliseconds. */
const jobsAtOnce = 200
const linesAtOnce = 500

interface Pruning {
  readonly namespace: string
  /** Lines that ended, and replicas last seen, before are dropped. */
  readonly before: Instant
  readonly keepLines: number
  /** The job after which this step begins. */
  readonly after: number
}

/** One step through the ledger, job by job. Returns where the next one begins; null: this was the last. */
export function prune(db: Connection, { namespace, before, keepLines, after }: Pruning): number | null {
  if (after === 0) db.run('delete from onetick_replicas where namespace = ? and seen_at < ?', namespace, before)
  const last = db.get<{ id: number | null }>(
    'select max(id) as id from (select id from onetick_jobs where id > ? order by id limit ?)',
    after,
    jobsAtOnce,
  )?.id
  if (last === null || last === undefined) return null
  // most jobs have nothing to drop, and to see so is cheap
  const jobs = db.all<{ id: number }>(
    `select id
from onetick_jobs j not indexed
where id > ?
  and id <= ?
  and namespace = ?
  and parent is null
  and (select ended_at from onetick_runs where job = j.id order by id limit 1) < ?
  and exists (select 1 from onetick_runs where job = j.id order by id desc limit 1 offset ?)
order by id`,
    after,
    last,
    namespace,
    before,
    keepLines,
  )
  let left = linesAtOnce
  for (const { id } of jobs) {
    for (let dropped = pruneJob(db, id, before, keepLines); dropped > 0; dropped = pruneJob(db, id, before, keepLines)) {
      left -= dropped
      if (left <= 0) return id - 1
    }
  }
  return last
}

/** Of the job's oldest lines, those that are old enough; never the newest ones and never its last final one. */
function pruneJob(db: Connection, job: number, before: Instant, keepLines: number): number {
  const { changes } = db.run(
    `delete from onetick_runs
where id in (
  select id
  from (select id, ended_at from onetick_runs where job = ? order by id limit ?)
  where ended_at < ?
    and id <= (select id from onetick_runs where job = ? order by id desc limit 1 offset ?)
    and id <> coalesce((select id from onetick_runs where job = ? and final = 1 order by id desc limit 1), 0)
)`,
    job,
    linesAtOnce,
    before,
    job,
    keepLines,
    job,
  )
  return Number(changes)
}
