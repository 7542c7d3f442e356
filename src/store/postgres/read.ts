import type { Ask } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { LeaseView, Readings, ReplicaView } from '../store.ts'
import type { Database } from './database.ts'
import { runFrom } from './line.ts'
import { asksSql, jobSql, jobsSql, leasesSql, replicasSql, runsOfJobSql, runsSql, statusSql } from './read.sql.ts'
import { askFrom, jobRowFrom, type Values } from './row.ts'
import { statement } from './tables.ts'
import { traits } from './traits.ts'

type Readers = { readonly [K in keyof Readings]: (filter: Readings[K]['filter']) => Promise<Readings[K]['answer']> }

export function reading(database: Database): Readers {
  const { tables, namespace } = database
  const jobs = statement('jobs', jobsSql(tables))
  const job = statement('job', jobSql(tables))
  const asks = statement('asks', asksSql(tables))
  const leases = statement('leases', leasesSql(tables))
  const runs = statement('runs', runsSql(tables))
  const runsOfJob = statement('runs_of_job', runsOfJobSql(tables))
  const replicas = statement('replicas', replicasSql(tables))
  const status = statement('status', statusSql(tables))
  return {
    jobs: async ({ name, removed = false, all = false }) => {
      const values = [namespace, removed, all]
      const answer = await (name === undefined ? database.query(jobs, values) : database.query(job, [...values, name]))
      return { now: nowOf(answer), jobs: present(answer).map(row => jobRowFrom(row, 1)) }
    },
    asks: async ({ name }) => {
      const answer = await database.query(asks, [namespace, name])
      return { now: nowOf(answer), asks: present(answer).map(row => askFrom(row, 1) as Ask) }
    },
    leases: async () => {
      const answer = await database.query(leases, [namespace])
      return { now: nowOf(answer), leases: present(answer).map(leaseFrom) }
    },
    runs: async ({ job: name, since = 0, before = Number.MAX_SAFE_INTEGER, limit, final = null, at = null }) => {
      const values = [namespace, since, before, limit, final, at]
      const answer = await (name === undefined ? database.query(runs, values) : database.query(runsOfJob, [...values, name]))
      return { now: nowOf(answer), runs: present(answer).map(runFrom) }
    },
    replicas: async () => {
      const answer = await database.query(replicas, [namespace])
      return { now: nowOf(answer), replicas: present(answer).map(replicaFrom) }
    },
    status: async () => {
      const answer = await database.query(status, [])
      return { now: nowOf(answer), schemaVersion: Number(answer[0]?.[1] ?? 0) }
    },
    fitness: () => traits(database),
  }
}

function nowOf([first = []]: readonly Values[]): Instant {
  return first[0] as Instant
}

/** Where nothing was found, one row still tells the time. */
function present(answer: readonly Values[]): readonly Values[] {
  return answer.filter(values => values[1] !== null)
}

function leaseFrom([, jobId, owner, acquiredAt, expiredAt, held, fence]: Values): LeaseView {
  return { jobId, owner, acquiredAt, expiredAt, held, fence } as LeaseView
}

function replicaFrom([, id, host, version, release, role, tasks, capacity, ...rest]: Values): ReplicaView {
  const [running, draining, clockOffsetMs, loopLagMs, startedAt, seenAt] = rest
  return {
    id,
    host,
    version,
    release,
    role,
    tasks,
    capacity,
    running,
    draining,
    clockOffsetMs,
    loopLagMs,
    startedAt,
    seenAt,
  } as ReplicaView
}
