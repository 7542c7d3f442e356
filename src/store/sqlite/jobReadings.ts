import { type JobRow, leaseTask } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { LeaseView, Readings } from '../store.ts'
import type { Database } from './database.ts'
import { columns, type RowColumns, rowOf } from './row.ts'

/** So many rows are read in one turn of the loop. A long answer is put together from several looks, each consistent in itself. */
const rowsAtOnce = 500

export async function readJobs(
  database: Database,
  namespace: string,
  { name, removed = false, all = false }: Readings['jobs']['filter'],
): Promise<Readings['jobs']['answer']> {
  const own = name === undefined ? await allJobs(database, namespace) : await oneJob(database, namespace, name)
  const extra = all ? await extraRows(database, namespace) : []
  const jobs = [...own.rows, ...extra].filter(
    row => (removed || row.removedAt === null) && (all || row.task !== leaseTask) && (name === undefined || row.name === name),
  )
  if (extra.length > 0) jobs.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id - b.id))
  return { now: own.now, jobs }
}

export async function readLeases(database: Database, namespace: string): Promise<Readings['leases']['answer']> {
  const { now, rows } = await paged<LeaseView>(last =>
    database.read((db, at) => ({
      now: at,
      rows: db
        .all<Omit<LeaseView, 'held'> & { readonly held: number }>(
          `select name as "jobId", coalesce(owner, last_owner) as owner, acquired_at as "acquiredAt",
  case when owner is null then ended_at else due_at end as "expiredAt", owner is not null as held, fence
from onetick_jobs
where namespace = ?
  and parent is null
  and name > ?
order by name
limit ?`,
          namespace,
          last?.jobId ?? '',
          rowsAtOnce,
        )
        .map(({ jobId, owner, acquiredAt, expiredAt, held, fence }) => ({ jobId, owner, acquiredAt, expiredAt, held: held === 1, fence })),
    })),
  )
  return { now, leases: rows }
}

interface Page<Row> {
  readonly now: Instant
  readonly rows: readonly Row[]
}

function oneJob(database: Database, namespace: string, name: string): Promise<Page<JobRow>> {
  return database.read((db, now) => ({
    now,
    rows: db
      .all<RowColumns>(`select ${columns} from onetick_jobs where namespace = ? and name = ? and parent is null`, namespace, name)
      .map(rowOf),
  }))
}

function allJobs(database: Database, namespace: string): Promise<Page<JobRow>> {
  return paged<JobRow>(last =>
    database.read((db, now) => ({
      now,
      rows: db
        .all<RowColumns>(
          `select ${columns}
from onetick_jobs
where namespace = ?
  and parent is null
  and name > ?
order by name
limit ?`,
          namespace,
          last?.name ?? '',
          rowsAtOnce,
        )
        .map(rowOf),
    })),
  )
}

/** Those of overlap `allow`: as many as run just now. */
function extraRows(database: Database, namespace: string): Promise<JobRow[]> {
  return database.read(db =>
    db
      .all<RowColumns>(
        `select ${columns} from onetick_jobs indexed by onetick_jobs_parent where namespace = ? and parent is not null order by id`,
        namespace,
      )
      .map(rowOf),
  )
}

async function paged<Row>(page: (last: Row | undefined) => Promise<Page<Row>>): Promise<Page<Row>> {
  const all: Row[] = []
  for (;;) {
    const { now, rows } = await page(all.at(-1))
    for (const row of rows) all.push(row)
    if (rows.length < rowsAtOnce) return { now, rows: all }
  }
}
