import type { Release } from '../../domain/declare.ts'
import type { Ask } from '../../domain/job.ts'
import type { LedgerLine } from '../../domain/run.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { Book } from '../book.ts'
import type { Presence, Replica } from '../store.ts'
import { JobTable } from './jobs.ts'
import { lineColumns } from './line.ts'
import { prune } from './prune.ts'
import { type AskColumns, askOf, textOf } from './row.ts'

/** A namespace's Book inside one transaction of one connection: its rows, and what stands beside them. */
export class SqliteBook extends JobTable implements Book {
  append(line: LedgerLine): void {
    this.db.run(
      `insert into onetick_runs (
  row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, started_at, ended_at,
  outcome, final, reason, error, result, log_tail
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...lineColumns(line),
    )
  }

  isSettled(of: { readonly rowId: number; readonly fence: number; readonly cause: string; readonly scheduledAt: Instant }): boolean {
    return this.has(
      `select exists (
  select 1
  from onetick_runs
  where row_id = ?
    and fence = ?
    and cause = ?
    and scheduled_at = ?
    and outcome <> 'leaseLost'
) as value`,
      of.rowId,
      of.fence,
      of.cause,
      of.scheduledAt,
    )
  }

  isCauseSettled(jobId: number, cause: string): boolean {
    return this.has('select exists (select 1 from onetick_runs where job = ? and cause = ? and final = 1) as value', jobId, cause)
  }

  asks(jobId: number): readonly Ask[] {
    return this.db
      .all<AskColumns>('select id, kind, next_at, until_at, schedule from onetick_asked where job = ? order by seq', jobId)
      .map(askOf)
  }

  ask(jobId: number, id: string): Ask | undefined {
    const ask = this.db.get<AskColumns>(
      'select id, kind, next_at, until_at, schedule from onetick_asked where job = ? and id = ?',
      jobId,
      id,
    )
    return ask === undefined ? undefined : askOf(ask)
  }

  oldestAsk(jobId: number, kind: Ask['kind']): Ask | null {
    const ask = this.db.get<AskColumns>(
      `select id, kind, next_at, until_at, schedule
from onetick_asked
where job = ?
  and kind = ?
order by seq
limit 1`,
      jobId,
      kind,
    )
    return ask === undefined ? null : askOf(ask)
  }

  insertAsk(jobId: number, { id, kind, at, until, schedule }: Ask): void {
    this.db.run(
      'insert into onetick_asked (job, id, kind, next_at, until_at, schedule) values (?, ?, ?, ?, ?, ?)',
      jobId,
      id,
      kind,
      at,
      until,
      textOf(schedule),
    )
  }

  moveAsk(jobId: number, id: string, at: Instant): void {
    this.db.run('update onetick_asked set next_at = ? where job = ? and id = ?', at, jobId, id)
  }

  deleteAsk(jobId: number, id: string): void {
    this.db.run('delete from onetick_asked where job = ? and id = ?', jobId, id)
  }

  saveReplica(replica: Replica, now: Instant): void {
    this.db.run(
      `insert into onetick_replicas (
  namespace, id, host, version, release, role, tasks, capacity,
  running, draining, clock_offset_ms, loop_lag_ms, started_at, seen_at
)
values (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?)
on conflict (namespace, id) do update
set host = excluded.host,
  version = excluded.version,
  release = excluded.release,
  role = excluded.role,
  tasks = excluded.tasks,
  capacity = excluded.capacity,
  seen_at = excluded.seen_at`,
      this.namespace,
      replica.id,
      replica.host,
      replica.version,
      replica.release,
      replica.role,
      JSON.stringify(replica.tasks),
      replica.capacity,
      now,
      now,
    )
  }

  seeReplica(id: string, { running, draining, clockOffsetMs, loopLagMs }: Presence, now: Instant): void {
    this.db.run(
      `update onetick_replicas
set running = ?, draining = ?, clock_offset_ms = ?, loop_lag_ms = ?, seen_at = ?
where namespace = ?
  and id = ?`,
      running,
      draining ? 1 : 0,
      clockOffsetMs,
      loopLagMs,
      now,
      this.namespace,
      id,
    )
  }

  forgetReplica(id: string): void {
    this.db.run('delete from onetick_replicas where namespace = ? and id = ?', this.namespace, id)
  }

  countLive(tasks: readonly string[], since: Instant): number {
    return this.number(
      `select count(*) as value
from onetick_replicas r
where r.namespace = ?
  and r.seen_at >= ?
  and r.draining = 0
  and exists (select 1 from json_each(r.tasks) where value in (select value from json_each(?)))`,
      this.namespace,
      since,
      this.tasksText(tasks),
    )
  }

  liveReleases(since: Instant): ReadonlySet<string> {
    const releases = this.db.all<{ release: string }>(
      'select distinct release from onetick_replicas where namespace = ? and seen_at >= ?',
      this.namespace,
      since,
    )
    return new Set(releases.map(({ release }) => release))
  }

  seeRelease(jobId: number, { release, hash, firstSeenAt }: Release): readonly Release[] {
    this.db.run(
      `insert into onetick_definitions (job, release, hash, first_seen_at)
values (?, ?, ?, ?)
on conflict do nothing`,
      jobId,
      release,
      hash,
      firstSeenAt,
    )
    return this.db.all<Release>(
      'select release, hash, first_seen_at as "firstSeenAt" from onetick_definitions where job = ? order by first_seen_at',
      jobId,
    )
  }

  prune(of: { readonly before: Instant; readonly keepLines: number; readonly after: number }): number | null {
    return prune(this.db, { ...of, namespace: this.namespace })
  }
}
