import type { Readings, ReplicaView } from '../store.ts'
import type { Database } from './database.ts'
import { fitnessOf } from './fitness.ts'
import { readJobs, readLeases } from './jobReadings.ts'
import { type AskColumns, askOf } from './row.ts'
import { readRuns } from './runReadings.ts'
import { schemaVersion, versionKey } from './schema.ts'

type Reader<K extends keyof Readings> = (
  database: Database,
  namespace: string,
  filter: Readings[K]['filter'],
) => Promise<Readings[K]['answer']>

/** All that is read goes around the writers: nobody waits for it. */
export const readers: { readonly [K in keyof Readings]: Reader<K> } = {
  jobs: readJobs,

  leases: readLeases,

  runs: readRuns,

  asks: (database, namespace, { name }) =>
    database.read((db, now) => ({
      now,
      asks: db
        .all<AskColumns>(
          `select a.id, a.kind, a.next_at, a.until_at, a.schedule
from onetick_jobs j
join onetick_asked a on a.job = j.id
where j.namespace = ?
  and j.name = ?
  and j.parent is null
order by a.seq`,
          namespace,
          name,
        )
        .map(askOf),
    })),

  replicas: (database, namespace) =>
    database.read((db, now) => ({
      now,
      replicas: db
        .all<ReplicaColumns>(
          `select id, host, version, release, role, tasks, capacity, running, draining,
  clock_offset_ms as "clockOffsetMs", loop_lag_ms as "loopLagMs", started_at as "startedAt", seen_at as "seenAt"
from onetick_replicas
where namespace = ?
order by started_at, id`,
          namespace,
        )
        .map(replicaOf),
    })),

  fitness: database => fitnessOf(database),

  status: database =>
    database.read((db, now) => ({
      now,
      schemaVersion: db.get<{ value: number }>('select value from onetick_meta where key = ?', versionKey)?.value ?? schemaVersion,
    })),
}

interface ReplicaColumns extends Omit<ReplicaView, 'tasks' | 'draining'> {
  readonly tasks: string
  readonly draining: number
}

function replicaOf({ id, host, version, release, role, tasks, capacity, running, draining, ...rest }: ReplicaColumns): ReplicaView {
  const { clockOffsetMs, loopLagMs, startedAt, seenAt } = rest
  const presence = { running, draining: draining === 1, clockOffsetMs, loopLagMs }
  return { id, host, version, release, role, tasks: JSON.parse(tasks), capacity, ...presence, startedAt, seenAt }
}
