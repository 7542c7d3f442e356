import type { JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { DueFilter } from '../book.ts'
import type { Connection } from './connection.ts'
import type { SqlValue } from './driver.ts'
import { columns, hasSameSettings, type RowColumns, rowOf, settingsOf, stateOf } from './row.ts'

/** A namespace's rows of onetick_jobs inside one transaction of one connection. */
export class JobTable {
  protected readonly db: Connection
  protected readonly namespace: string
  /** Rows as they stand, so that an update writes only what has changed. */
  readonly #read: Map<number, JobRow> = new Map()
  /** What was asked for last and was not due: an idle claim need not look for it three times more. */
  #idle: DueFilter | null = null
  #tasks: { readonly of: readonly string[]; readonly text: string } | null = null

  constructor(db: Connection, namespace: string) {
    this.db = db
    this.namespace = namespace
  }

  row(id: number): JobRow | undefined {
    return this.#row(`select ${columns} from onetick_jobs where id = ? and namespace = ?`, id, this.namespace)
  }

  rowNamed(name: string): JobRow | undefined {
    return this.#row(
      `select ${columns}
from onetick_jobs
where namespace = ?
  and name = ?
  and parent is null`,
      this.namespace,
      name,
    )
  }

  childOf(parentId: number, fence: number): JobRow | undefined {
    return this.#row(
      `select ${columns}
from onetick_jobs
where namespace = ?
  and parent = ?
  and parent_fence = ?`,
      this.namespace,
      parentId,
      fence,
    )
  }

  isCauseOpen(parentId: number, cause: string): boolean {
    const found = this.db.all<{ id: number }>(
      `select id
from onetick_jobs
where namespace = ?
  and parent = ?
  and cause = ?
limit 1`,
      this.namespace,
      parentId,
      cause,
    )
    return found.length > 0
  }

  insert(row: Omit<JobRow, 'id'>): JobRow {
    this.#idle = null
    const { lastInsertRowid } = this.db.run(
      `insert into onetick_jobs (
  namespace, parent, parent_fence,
  name, task, definition, hash, rev, jitter_ms, old_schedules, held_from, held_until,
  paused_at, paused_until, paused_by, paused_why, removed_at,
  next_at, after_at, scheduled_at, opened_at, cause, attempt, failures, checkpoint, due_at, fence,
  owner, claim_id, may_start, acquired_at, busy_from, busy_until, asked, last_cause, last_at, last_owner, ended_at, cancel_fence
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.namespace,
      row.parent?.id ?? null,
      row.parent?.fence ?? null,
      ...settingsOf(row),
      ...stateOf(row),
    )
    const made = { ...row, id: Number(lastInsertRowid) }
    this.#read.set(made.id, made)
    return made
  }

  update(row: JobRow): void {
    this.#idle = null
    const before = this.#read.get(row.id)
    if (before === undefined || !hasSameSettings(before, row)) {
      this.db.run(
        `update onetick_jobs
set (name, task, definition, hash, rev, jitter_ms, old_schedules, held_from, held_until, paused_at, paused_until, paused_by, paused_why, removed_at)
  = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
where id = ?`,
        ...settingsOf(row),
        row.id,
      )
    }
    this.db.run(
      `update onetick_jobs
set (next_at, after_at, scheduled_at, opened_at, cause, attempt, failures, checkpoint, due_at, fence, owner, claim_id, may_start,
    acquired_at, busy_from, busy_until, asked, last_cause, last_at, last_owner, ended_at, cancel_fence)
  = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
where id = ?`,
      ...stateOf(row),
      row.id,
    )
    this.#read.set(row.id, row)
  }

  delete(id: number): void {
    this.db.run('delete from onetick_jobs where id = ?', id)
    this.#read.delete(id)
  }

  #isIdle({ tasks, now, except }: DueFilter): boolean {
    return this.#idle !== null && this.#idle.tasks === tasks && this.#idle.except === except && now <= this.#idle.now
  }

  // cross join: for each task a range of the index (namespace, task, due_at), whatever the planner thinks of json_each
  due(of: DueFilter & { readonly limit: number }): readonly JobRow[] {
    if (this.#isIdle(of)) return []
    const { tasks, now, except, limit } = of
    const ids = this.db.all<{ id: number }>(
      `select j.id
from json_each(?) t
cross join onetick_jobs j
where j.namespace = ?
  and j.task = t.value
  and j.task <> '@lease'
  and j.due_at <= ?
  and j.id not in (select value from json_each(?))
order by j.due_at, j.id
limit ?`,
      this.tasksText(tasks),
      this.namespace,
      now,
      JSON.stringify(except),
      limit,
    )
    return ids.flatMap(({ id }) => this.row(id) ?? [])
  }

  countDue(of: DueFilter & { readonly cap: number }): number {
    if (this.#isIdle(of)) return 0
    const { tasks, now, except, cap } = of
    const count = this.number(
      `select count(*) as value
from (
  select 1
  from json_each(?) t
  cross join onetick_jobs j
  where j.namespace = ?
    and j.task = t.value
    and j.task <> '@lease'
    and j.due_at <= ?
    and j.id not in (select value from json_each(?))
  limit ?
)`,
      this.tasksText(tasks),
      this.namespace,
      now,
      JSON.stringify(except),
      cap,
    )
    if (count === 0 && cap > 0) this.#idle = { tasks, now, except }
    return count
  }

  nextDueAt(tasks: readonly string[], now: Instant): Instant {
    const dueAt = this.db.get<{ value: number | null }>(
      `select min(due_at) as value
from (
  select (select min(j.due_at) from onetick_jobs j where j.namespace = ? and j.task = t.value and j.task <> '@lease' and j.due_at > ?) as due_at
  from json_each(?) t
)`,
      this.namespace,
      now,
      this.tasksText(tasks),
    )
    const leased = this.db.get<{ value: number | null }>(
      `select min(next_at + jitter_ms) as value
from onetick_jobs indexed by onetick_jobs_leased
where namespace = ?
  and task in (select value from json_each(?))
  and task <> '@lease'
  and owner is not null
  and next_at + jitter_ms > ?`,
      this.namespace,
      this.tasksText(tasks),
      now,
    )
    const never = Number.POSITIVE_INFINITY
    return Math.min(dueAt?.value ?? never, leased?.value ?? never)
  }

  anyLeased(tasks: readonly string[], _now: Instant): boolean {
    return this.has(
      `select exists (
  select 1
  from onetick_jobs indexed by onetick_jobs_leased
  where namespace = ?
    and task in (select value from json_each(?))
    and task <> '@lease'
    and owner is not null
) as value`,
      this.namespace,
      this.tasksText(tasks),
    )
  }

  claimedBy(owner: string, claimId: string, now: Instant): readonly JobRow[] {
    const rows = this.db.all<RowColumns>(
      `select ${columns}
from onetick_jobs
where owner = ?
  and claim_id = ?
  and task <> '@lease'
  and namespace = ?
  and due_at > ?
order by id`,
      owner,
      claimId,
      this.namespace,
      now,
    )
    return rows.map(row => this.#remember(row))
  }

  /** A list of texts as one value, for json_each. Each verb asks with one list several times. */
  protected tasksText(tasks: readonly string[]): string {
    if (this.#tasks?.of !== tasks) this.#tasks = { of: tasks, text: JSON.stringify([...new Set(tasks)]) }
    return this.#tasks.text
  }

  protected number(sql: string, ...parameters: readonly SqlValue[]): number {
    return this.db.get<{ value: number }>(sql, ...parameters)?.value ?? 0
  }

  protected has(sql: string, ...parameters: readonly SqlValue[]): boolean {
    return this.number(sql, ...parameters) === 1
  }

  #row(sql: string, ...parameters: readonly SqlValue[]): JobRow | undefined {
    const row = this.db.get<RowColumns>(sql, ...parameters)
    return row === undefined ? undefined : this.#remember(row)
  }

  #remember(columnsRead: RowColumns): JobRow {
    const row = rowOf(columnsRead)
    this.#read.set(row.id, row)
    return row
  }
}
