import { OnetickError, quoted } from '../../domain/errors.ts'
import { leaseTask } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { AcquireReply, AcquireRequest } from '../store.ts'
import { acquireSql, leaseSql, takeSql } from './acquire.sql.ts'
import type { Database } from './database.ts'
import { jobRowFrom, type Values } from './row.ts'
import { statement } from './tables.ts'

/** Where the job's columns begin in an answer. */
const rowAt = 4

export function acquiring(database: Database): (request: AcquireRequest) => Promise<AcquireReply> {
  const take = statement('take', takeSql(database.tables))
  const acquire = statement('acquire', acquireSql(database.tables))
  const makeLease = statement('lease', leaseSql(database.tables))
  return async request => {
    const { owner, claimId, name, ttlMs, notAfter, at } = request
    const values = [database.namespace, owner, claimId, name, ttlMs, notAfter]
    const [taken] = at === undefined ? await database.query(take, values) : []
    if (taken !== undefined) return { now: taken[0] as Instant, kind: 'granted', row: jobRowFrom(taken, 1) }
    const ask = () => database.query(acquire, [...values, at ?? null])
    const first = replyFrom(await ask(), name)
    if (first !== null) return first
    await database.query(makeLease, [database.namespace, name, JSON.stringify(definition)])
    const second = replyFrom(await ask(), name)
    if (second === null) throw new TypeError(`the lease ${quoted(name)} was made and is not there`)
    return second
  }
}

/** Null: nobody has asked for this name before. */
function replyFrom([values = []]: readonly Values[], name: string): AcquireReply | null {
  const [now, isLate, step, lastAt] = values as [Instant, boolean, 'granted' | 'held' | 'done' | 'refused', Instant]
  if (isLate) return { now, kind: 'refused' }
  if (values[rowAt] === null) return null
  const row = jobRowFrom(values, rowAt)
  if (row.task !== leaseTask) throw new OnetickError('ONETICK_JOB_SCHEDULED', `${quoted(name)} is a scheduled job.`)
  switch (step) {
    case 'granted':
      return { now, kind: step, row }
    case 'held':
      return { now, kind: step, owner: row.lease?.owner ?? null, until: Math.max(row.dueAt, now) }
    case 'done':
      return { now, kind: step, lastAt }
    case 'refused':
      return { now, kind: step }
  }
}

/** A lease by name has no schedule and is never planned. */
const definition = {
  schedule: null,
  policy: {
    overlap: 'skip',
    misfire: 'latest',
    windowMs: 0,
    misfireLimit: 1,
    takeOver: true,
    maxAttempts: Number.MAX_SAFE_INTEGER,
    retries: 0,
    strategy: 'race',
    jitterMs: 0,
  },
  backoffMs: 0,
  backoffMaxMs: 0,
  data: null,
}
