import type { Tables } from './tables.ts'

/**
 * A step through the ledger: drops lines that ended before the horizon, of the jobs from one id on, but for the newest of each and its last
 * final one. Answers with the last job looked at, how many jobs that were, and how many lines were dropped.
 *
 * $1 namespace, $2 keep for ms, $3 keep lines, $4 after this job, $5 jobs, $6 lines.
 */
export const pruneRunsSql = (t: Tables): string => `
with job as materialized (
  select j.id
  from ${t.jobs} j
  where j.namespace = $1
    and j.id > $4::bigint
    and j.parent is null
  order by j.id
  limit $5::bigint
),
old as materialized (
  select r.id
  from job
  cross join lateral (
    select x.id
    from ${t.runs} x
    where x.job = job.id
    order by x.id desc
    offset $3::bigint
    limit 1
  ) oldest
  cross join lateral (
    select x.id
    from ${t.runs} x
    where x.job = job.id
      and x.id <= oldest.id
      and x.ended_at < statement_timestamp() - $2::float8 * interval '1 millisecond'
      and x.id is distinct from (
        select y.id
        from ${t.runs} y
        where y.job = job.id
          and y.final
        order by y.id desc
        limit 1
      )
    order by x.id
    limit $6::bigint
  ) r
  limit $6::bigint
),
dropped as (
  delete from ${t.runs} r
  where r.id = any (array(select old.id from old))
  returning true
)
select max(job.id),
       count(*),
       (select count(*) from dropped)
from job`

/** $1 namespace, $2 keep for ms. */
export const pruneReplicasSql = (t: Tables): string => `
with dropped as (
  delete from ${t.replicas} r
  where r.namespace = $1
    and r.seen_at < statement_timestamp() - $2::float8 * interval '1 millisecond'
)
select date_trunc('milliseconds', clock_timestamp())`

/** The replica is gone for good. $1 namespace, $2 id. */
export const leaveSql = (t: Tables): string => `
with gone as (
  delete from ${t.replicas} r
  where r.namespace = $1
    and r.id = $2
)
select date_trunc('milliseconds', clock_timestamp())`
