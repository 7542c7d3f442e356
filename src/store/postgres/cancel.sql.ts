import type { Tables } from './tables.ts'

/**
 * $1 namespace, $2 row, $3 lock time-out, $4 channel. A waiting occurrence ends on the spot; of a running one the holder is told when it
 * renews its lease.
 */
export const cancelSql = (t: Tables): string => `
with job as materialized (
  select j.*
  from ${t.jobs} j
  where j.namespace = $1
    and j.id = $2
    and j.task <> '@lease'
    and (select set_config('lock_timeout', $3, true)) is not null
  for no key update
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as jobs
  from job
),
written as (
  insert into ${t.runs} (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, ended_at, outcome, final, reason)
  select job.namespace, job.id, coalesce(job.parent, job.id), job.cause, job.scheduled_at, job.scheduled_at, 1, job.attempt, job.fence,
         job.last_owner, c.now, 'cancelled', true, 'byHand'
  from job
  cross join clock c
  where job.scheduled_at is not null
    and job.owner is null
  on conflict (job, scheduled_at, cause) where final do nothing
),
gone as (
  delete from ${t.jobs} j
  where j.id = (select job.id from job where job.scheduled_at is not null and job.owner is null and job.parent is not null)
  returning pg_notify($4, '')
),
changed as (
  update ${t.jobs} j
  set cancel_fence = case when j.owner is not null then j.fence end,
      scheduled_at = case when j.owner is not null then j.scheduled_at end,
      opened_at = case when j.owner is not null then j.opened_at end,
      cause = case when j.owner is not null then j.cause end,
      attempt = case when j.owner is not null then j.attempt else 0 end,
      failures = case when j.owner is not null then j.failures else 0 end,
      checkpoint = case when j.owner is not null then j.checkpoint end,
      last_cause = case when j.owner is not null then j.last_cause else j.cause end,
      last_at = case when j.owner is not null or j.cause <> '' then j.last_at else greatest(j.last_at, j.scheduled_at) end,
      ended_at = case when j.owner is not null then j.ended_at else c.now end,
      due_at = case
        when j.owner is not null then j.due_at
        when j.removed_at is not null then 'infinity'
        when j.asked > 0 then c.now
        else greatest(j.next_at + j.jitter_ms * interval '1 millisecond', j.paused_until)
      end
  from clock c
  where j.id = (select job.id from job where job.scheduled_at is not null and (job.owner is not null or job.parent is null))
  returning pg_notify($4, '')
)
select c.now,
       c.jobs > 0 as is_there,
       true as is_as_seen,
       exists (select from changed) or exists (select from gone) as did
from clock c`

/** As in pause.sql.ts, but nobody is woken. $4 rev, $5 asked, $6 next, $7 cause and $8 instant of the open occurrence, all as seen; the cursor's $9 next and $10 after. */
export const skipNextSql = (t: Tables): string => `
with job as materialized (
  select j.*,
         j.rev = $4::bigint
           and j.asked = $5::bigint
           and j.next_at = to_timestamp($6::float8 / 1000)::timestamptz(3)
           and (case when j.scheduled_at is not null then j.cause end) is not distinct from $7
           and j.scheduled_at is not distinct from to_timestamp($8::float8 / 1000)::timestamptz(3) as is_as_seen
  from ${t.jobs} j
  where j.namespace = $1
    and j.name = $2
    and j.parent is null
    and j.task <> '@lease'
    and j.removed_at is null
    and (select set_config('lock_timeout', $3, true)) is not null
  for no key update
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         to_timestamp($9::float8 / 1000)::timestamptz(3) as next_at,
         to_timestamp($10::float8 / 1000)::timestamptz(3) as after_at,
         count(*) as jobs,
         bool_and(is_as_seen) as is_as_seen
  from job
),
written as (
  insert into ${t.runs} (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, ended_at, outcome, final, reason)
  select job.namespace, job.id, job.id, '', job.next_at, job.next_at, 1, 0, job.fence, job.owner, c.now, 'skipped', true, 'byHand'
  from job
  cross join clock c
  where job.is_as_seen
    and job.next_at < 'infinity'
  on conflict (job, scheduled_at, cause) where final do nothing
),
changed as (
  update ${t.jobs} j
  set next_at = c.next_at,
      after_at = c.after_at,
      last_at = greatest(j.last_at, j.next_at),
      rev = j.rev + 1,
      old_schedules = (
        select coalesce(json_agg(old.value order by old.ordinality), '[]')
        from json_array_elements(j.old_schedules) with ordinality as old
        where (old.value ->> 'until')::float8 >= round(date_part('epoch', c.next_at) * 1000)
      ),
      due_at = case
        when j.owner is not null or j.scheduled_at is not null then j.due_at
        when j.asked > 0 then c.now
        else greatest(c.next_at + j.jitter_ms * interval '1 millisecond', j.paused_until)
      end
  from clock c
  where j.id = (select job.id from job where job.is_as_seen and job.next_at < 'infinity')
  returning true
)
select c.now,
       c.jobs > 0 as is_there,
       c.is_as_seen,
       exists (select from changed) as did
from clock c`
