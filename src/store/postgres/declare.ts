import type { Declaration } from '../../domain/declare.ts'
import { OnetickError, quoted } from '../../domain/errors.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { DeclareReply, DeclareRequest } from '../store.ts'
import type { Database } from './database.ts'
import { declareSql, saveReplicaSql } from './declare.sql.ts'
import { instant, texts } from './parameter.ts'
import { statement } from './tables.ts'

/** Jobs in one statement. */
const batchLimit = 1000

/** A job that another replica inserted meanwhile is declared again. Once is enough, unless somebody deletes rows. */
const againLimit = 5

type Result = DeclareReply['results'][number]

export function declaring(database: Database): (request: DeclareRequest) => Promise<DeclareReply> {
  const declare = statement('declare', declareSql(database.tables))
  const saveReplica = statement('replica', saveReplicaSql(database.tables))

  /** Notes the results; returns the jobs that are to be declared again. */
  const declareBatch = async (request: DeclareRequest, jobs: readonly Declaration[], results: Map<Declaration, Result>) => {
    const { replica, liveForMs, atRunTime = false } = request
    const items = JSON.stringify(jobs.map((job, index) => jobParameters(job, index + 1)))
    const head = [database.namespace, replica.release, liveForMs, atRunTime]
    const answer = await database.query(declare, [...head, items, String(database.lockTimeoutMs), database.channel])
    const again: Declaration[] = []
    for (const [, n, result] of answer as [Instant, number, Result | 'again' | 'taken'][]) {
      const job = jobs[n - 1]
      if (job === undefined) continue
      if (result === 'taken') throw new OnetickError('ONETICK_NAME_TAKEN', `${quoted(job.name)} is a lease by name.`)
      if (result === 'again') again.push(job)
      else results.set(job, result)
    }
    return { now: answer[0]?.[0] as Instant, again }
  }

  return async request => {
    const { id, host, version, release, role, tasks, capacity } = request.replica
    const [[savedAt] = []] = await database.query(saveReplica, [
      database.namespace,
      id,
      host,
      version,
      release,
      role,
      texts(tasks, task => task),
      capacity,
    ])
    let now = savedAt as Instant
    const results = new Map<Declaration, Result>()
    // in one order everywhere, so that replicas that start together queue up behind each other
    let waiting = [...request.jobs].sort((a, b) => (a.name < b.name ? -1 : 1))
    for (let round = 0; waiting.length > 0 && round < againLimit; round++) {
      const again: Declaration[] = []
      for (let start = 0; start < waiting.length; start += batchLimit) {
        const done = await declareBatch(request, waiting.slice(start, start + batchLimit), results)
        now = done.now
        again.push(...done.again)
      }
      waiting = again
    }
    return { now, results: request.jobs.map(job => results.get(job) ?? 'late') }
  }
}

/** Back to the age of the dinosaurs would leave PostgreSQL's calendar. */
const longestWindowMs = 100_000_000_000_000

/** The policy beside the definition, for the statements that read it. */
function jobParameters({ name, task, definition, hash, upcoming }: Declaration, n: number): object {
  const { overlap, misfire, windowMs, takeOver, maxAttempts, retries, jitterMs } = definition.policy
  return {
    n,
    name,
    task,
    hash,
    definition: JSON.stringify(definition),
    upcoming: upcoming.map(instant),
    overlap,
    misfire,
    window_ms: Math.min(windowMs, longestWindowMs),
    take_over: takeOver,
    max_attempts: maxAttempts,
    retries,
    jitter_ms: jitterMs,
  }
}
