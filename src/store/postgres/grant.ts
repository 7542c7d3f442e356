import type { Ask, JobRow } from '../../domain/job.ts'
import type { Grant } from '../store.ts'
import { oldestAsksSql } from './claim.sql.ts'
import type { Database } from './database.ts'
import { numbers } from './parameter.ts'
import { askFrom } from './row.ts'
import { statement } from './tables.ts'

/**
 * What a plan needs beside the row: read after the lease is had, and only where something waits. Whatever is asked for meanwhile raises
 * the row's own count, so a plan made of less than that is answered `stale`.
 */
export function granting(database: Database): (rows: readonly JobRow[]) => Promise<readonly Grant[]> {
  const oldestAsks = statement('asked', oldestAsksSql(database.tables))
  return async rows => {
    const jobs = rows.filter(({ asked, parent }) => asked > 0 && parent === null).map(({ id }) => id)
    const answer = jobs.length === 0 ? [] : await database.query(oldestAsks, [numbers(jobs, id => id)])
    const asks = new Map<string, Ask | null>(answer.map(values => [`${values[0]} ${values[2]}`, askFrom(values, 1)]))
    return rows.map(row => ({ row, manual: asks.get(`${row.id} manual`) ?? null, backfill: asks.get(`${row.id} backfill`) ?? null }))
  }
}
