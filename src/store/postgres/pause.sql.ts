import type { Tables } from './tables.ts'

/**
 * What people do to a job, here and in the files beside: a statement each, its row locked `for no key update`. Each answers with the store's
 * now, whether the job is there, whether it stands as it was seen, and whether anything was done. Where nothing else is said, $1 is the
 * namespace, $2 the job's name, $3 the lock time-out and $4 the channel of wake-ups.
 */

/** $4 until, $5 by, $6 why. Nothing becomes due by it, so nobody is woken. */
export const pauseSql = (t: Tables): string => `
with job as materialized (
  select j.*
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
         to_timestamp($4::float8 / 1000)::timestamptz(3) as until,
         count(*) as jobs
  from job
),
changed as (
  update ${t.jobs} j
  set paused_at = case when j.paused_until > c.now then j.paused_at else c.now end,
      paused_until = c.until,
      paused_by = $5,
      paused_why = $6,
      held_from = case
        when j.paused_until > c.now or j.paused_until is null then j.held_from
        when j.next_at <= j.held_until then least(j.held_from, j.paused_at)
        else j.paused_at
      end,
      held_until = case
        when j.paused_until > c.now or j.paused_until is null then j.held_until
        when j.next_at <= j.held_until then greatest(j.held_until, j.paused_until)
        else j.paused_until
      end,
      due_at = case
        when j.owner is not null then j.due_at
        when j.scheduled_at is null and j.asked > 0 then c.now
        when j.scheduled_at is null then greatest(j.next_at + j.jitter_ms * interval '1 millisecond', c.until)
        when j.cause <> '' or j.misfire = 'all' then greatest(j.due_at, c.until)
        else greatest(least(j.due_at, j.next_at + j.jitter_ms * interval '1 millisecond'), c.until)
      end
  from clock c
  where j.id = (select job.id from job)
  returning true
)
select c.now,
       c.jobs > 0 as is_there,
       true as is_as_seen,
       exists (select from changed) as did
from clock c`

export const resumeSql = (t: Tables): string => `
with job as materialized (
  select j.*
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
         count(*) as jobs
  from job
),
changed as (
  update ${t.jobs} j
  set paused_at = null,
      paused_until = null,
      paused_by = null,
      paused_why = null,
      held_from = case when j.next_at <= j.held_until then least(j.held_from, j.paused_at) else j.paused_at end,
      held_until = case
        when j.next_at <= j.held_until then greatest(j.held_until, least(c.now, j.paused_until))
        else least(c.now, j.paused_until)
      end,
      due_at = case
        when j.owner is not null then j.due_at
        when j.scheduled_at is null and j.asked > 0 then c.now
        when j.scheduled_at is null then j.next_at + j.jitter_ms * interval '1 millisecond'
        when j.cause <> '' or j.misfire = 'all' then c.now
        else least(c.now, j.next_at + j.jitter_ms * interval '1 millisecond')
      end
  from clock c
  where j.id = (select job.id from job)
    and j.paused_until is not null
  returning pg_notify($4, '')
)
select c.now,
       c.jobs > 0 as is_there,
       true as is_as_seen,
       exists (select from changed) as did
from clock c`

/** $5 id, $6 kind, $7 at and $8 until (null: now), $9 schedule. An id asks once, as long as it waits, runs or stands in the ledger. */
export const askSql = (t: Tables): string => `
with job as materialized (
  select j.*
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
         count(*) as jobs
  from job
),
fresh as (
  insert into ${t.asked} (job, id, kind, next_at, until_at, schedule)
  select job.id, $5, $6, coalesce(to_timestamp($7::float8 / 1000), c.now), coalesce(to_timestamp($8::float8 / 1000), c.now), $9::json
  from job
  cross join clock c
  where job.cause is distinct from $5
    and job.last_cause <> $5
    and not exists (
      select
      from ${t.jobs} x
      where x.parent = job.id
        and x.cause = $5
    )
    and not exists (
      select
      from ${t.runs} r
      where r.job = job.id
        and r.cause = $5
        and r.final
    )
  on conflict (job, id) do nothing
  returning job
),
changed as (
  update ${t.jobs} j
  set asked = j.asked + 1,
      due_at = case when j.owner is null and j.scheduled_at is null then least(j.due_at, c.now) else j.due_at end
  from clock c
  where j.id = (select fresh.job from fresh)
  returning pg_notify($4, '')
)
select c.now,
       c.jobs > 0 as is_there,
       true as is_as_seen,
       exists (select from changed) as did
from clock c`
