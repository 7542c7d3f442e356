import type { Tables } from './tables.ts'

/** As in pause.sql.ts. $5 rev, $6 asked, $7 next, $8 cause and $9 instant of the open occurrence, all as seen; $10 lines (JSON), $11 what they reach to. */
export const removeSql = (t: Tables): string => `
with job as materialized (
  select j.*,
         j.rev = $5::bigint
           and j.asked = $6::bigint
           and j.next_at = to_timestamp($7::float8 / 1000)::timestamptz(3)
           and (case when j.scheduled_at is not null then j.cause end) is not distinct from $8
           and j.scheduled_at is not distinct from to_timestamp($9::float8 / 1000)::timestamptz(3) as is_as_seen
  from ${t.jobs} j
  where j.namespace = $1
    and j.name = $2
    and j.parent is null
    and j.task <> '@lease'
    and j.removed_at is null
    and (select set_config('lock_timeout', $3, true)) is not null
  for no key update
),
waiting as materialized (
  select a.id, a.next_at
  from ${t.asked} a
  where a.job = (select job.id from job)
  for update
),
uncovered as materialized (
  select
  from waiting w
  full join (
    select l.cause, to_timestamp(l.scheduled_at / 1000)::timestamptz(3) as scheduled_at
    from json_to_recordset($10::json) as l (cause text, scheduled_at float8)
    where l.cause <> ''
  ) l on l.cause = w.id and l.scheduled_at = w.next_at
  where w.id is null or l.cause is null
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as jobs,
         bool_and(is_as_seen)
           and not exists (select from uncovered)
           and to_timestamp($11::float8 / 1000)::timestamptz(3) > date_trunc('milliseconds', clock_timestamp()) as is_as_seen
  from job
),
line as materialized (
  select job.namespace, l.row_id, l.job, l.cause, to_timestamp(l.scheduled_at / 1000) as scheduled_at, to_timestamp(l.until_at / 1000) as until_at,
         l.count, l.attempt, l.fence, l.owner, to_timestamp(l.started_at / 1000) as started_at, to_timestamp(l.ended_at / 1000) as ended_at,
         l.outcome, l.final, l.reason
  from job
  cross join json_to_recordset($10::json) as l (
    row_id bigint, job bigint, cause text, scheduled_at float8, until_at float8, count bigint, attempt bigint, fence bigint,
    owner text, started_at float8, ended_at float8, outcome text, final boolean, reason text
  )
  union all
  select job.namespace, job.id, job.id, job.cause, job.scheduled_at, job.scheduled_at,
         1, job.attempt, job.fence, job.last_owner, null, c.now,
         'abandoned', true, 'removed'
  from job
  cross join clock c
  where job.scheduled_at is not null
    and job.owner is null
),
written as (
  insert into ${t.runs} (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, started_at, ended_at, outcome, final, reason)
  select line.*
  from line
  cross join clock c
  where c.is_as_seen
  on conflict (job, scheduled_at, cause) where final do nothing
),
dropped as (
  delete from ${t.asked} a
  using clock c
  where c.is_as_seen
    and a.job = (select job.id from job)
),
changed as (
  update ${t.jobs} j
  set asked = 0,
      removed_at = c.now,
      rev = j.rev + 1,
      next_at = 'infinity',
      after_at = 'infinity',
      old_schedules = '[]',
      paused_at = null,
      paused_until = null,
      paused_by = null,
      paused_why = null,
      scheduled_at = case when j.owner is not null then j.scheduled_at end,
      opened_at = case when j.owner is not null then j.opened_at end,
      cause = case when j.owner is not null then j.cause end,
      attempt = case when j.owner is not null then j.attempt else 0 end,
      failures = case when j.owner is not null then j.failures else 0 end,
      checkpoint = case when j.owner is not null then j.checkpoint end,
      last_cause = case when j.owner is not null then j.last_cause else coalesce(j.cause, j.last_cause) end,
      last_at = case when j.owner is not null or j.cause <> '' then j.last_at else greatest(j.last_at, j.scheduled_at) end,
      cancel_fence = case when j.owner is not null or j.scheduled_at is null then j.cancel_fence end,
      due_at = case when j.owner is not null then j.due_at else 'infinity' end
  from clock c
  where c.is_as_seen
    and j.id = (select job.id from job)
  returning pg_notify($4, '')
)
select c.now,
       c.jobs > 0 as is_there,
       c.is_as_seen,
       exists (select from changed) as did
from clock c`
