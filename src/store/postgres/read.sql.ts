import type { Tables } from './tables.ts'

/** Each answers with the store's now in the first column, and with one row, else null, where there is nothing. $1 is the namespace. */

/** $2 the removed ones too, $3 extra rows and leases by name too. */
export const jobsSql = (t: Tables): string => `
select c.now,
       j.id, j.name, j.task, j.definition, j.hash, j.rev, j.next_at, j.after_at, j.old_schedules,
       j.scheduled_at, j.opened_at, j.cause, j.attempt, j.failures, j.checkpoint,
       j.due_at, j.fence, j.owner, j.claim_id, j.may_start, j.acquired_at,
       j.busy_from, j.busy_until, j.held_from, j.held_until, j.paused_at, j.paused_until, j.paused_by, j.paused_why,
       j.removed_at, j.asked, j.last_cause, j.last_at, j.last_owner, j.ended_at, j.cancel_fence, j.parent, j.parent_fence
from (select date_trunc('milliseconds', clock_timestamp()) as now) c
left join ${t.jobs} j on j.namespace = $1
  and ($2::boolean or j.removed_at is null)
  and ($3::boolean or (j.parent is null and j.task <> '@lease'))
order by j.name collate "C", j.id`

/** $2 and $3 as above, $4 name. */
export const jobSql = (t: Tables): string => `
with job as materialized (
  select j.id
  from ${t.jobs} j
  where j.namespace = $1
    and j.name = $4
    and j.parent is null
)
select c.now,
       j.id, j.name, j.task, j.definition, j.hash, j.rev, j.next_at, j.after_at, j.old_schedules,
       j.scheduled_at, j.opened_at, j.cause, j.attempt, j.failures, j.checkpoint,
       j.due_at, j.fence, j.owner, j.claim_id, j.may_start, j.acquired_at,
       j.busy_from, j.busy_until, j.held_from, j.held_until, j.paused_at, j.paused_until, j.paused_by, j.paused_why,
       j.removed_at, j.asked, j.last_cause, j.last_at, j.last_owner, j.ended_at, j.cancel_fence, j.parent, j.parent_fence
from (select date_trunc('milliseconds', clock_timestamp()) as now) c
left join ${t.jobs} j on j.id = any (array(
    select job.id
    from job
    union all
    select x.id
    from ${t.jobs} x
    join job on job.id = x.parent
  ))
  and ($2::boolean or j.removed_at is null)
  and ($3::boolean or (j.parent is null and j.task <> '@lease'))
order by j.id`

/** $2 name. */
export const asksSql = (t: Tables): string => `
select c.now, a.id, a.kind, a.next_at, a.until_at, a.schedule
from (select date_trunc('milliseconds', clock_timestamp()) as now) c
left join ${t.asked} a on a.job = (
  select j.id
  from ${t.jobs} j
  where j.namespace = $1
    and j.name = $2
    and j.parent is null
)
order by a.seq`

export const leasesSql = (t: Tables): string => `
select c.now,
       j.name,
       coalesce(j.owner, j.last_owner),
       j.acquired_at,
       case when j.owner is null then j.ended_at else j.due_at end,
       j.owner is not null,
       j.fence
from (select date_trunc('milliseconds', clock_timestamp()) as now) c
left join ${t.jobs} j on j.namespace = $1
  and j.parent is null
order by j.name collate "C"`

/** $2 since, $3 before, $4 limit, $5 final, $6 at. */
export const runsSql = (t: Tables): string => `
select c.now, r.id, j.name, r.row_id, r.job, r.cause, r.scheduled_at, r.until_at, r.count, r.attempt, r.fence, r.owner, r.started_at, r.ended_at,
       r.outcome, r.final, r.reason, r.error, r.result, r.log_tail
from (select date_trunc('milliseconds', clock_timestamp()) as now) c
left join lateral (
  select *
  from ${t.runs} r
  where r.namespace = $1
    and r.ended_at >= to_timestamp($2::float8 / 1000)
    and r.id < $3::bigint
    and r.final = coalesce($5::boolean, r.final)
    and r.scheduled_at <= coalesce(to_timestamp($6::float8 / 1000)::timestamptz(3), r.scheduled_at)
    and r.until_at >= coalesce(to_timestamp($6::float8 / 1000)::timestamptz(3), r.until_at)
  order by r.id desc
  limit $4::bigint
) r on true
left join ${t.jobs} j on j.id = r.job
order by r.id desc`

/** As above; $7 name. */
export const runsOfJobSql = (t: Tables): string => `
select c.now, r.id, $7, r.row_id, r.job, r.cause, r.scheduled_at, r.until_at, r.count, r.attempt, r.fence, r.owner, r.started_at, r.ended_at,
       r.outcome, r.final, r.reason, r.error, r.result, r.log_tail
from (select date_trunc('milliseconds', clock_timestamp()) as now) c
left join lateral (
  select *
  from ${t.runs} r
  where r.job = (
      select j.id
      from ${t.jobs} j
      where j.namespace = $1
        and j.name = $7
        and j.parent is null
    )
    and r.ended_at >= to_timestamp($2::float8 / 1000)
    and r.id < $3::bigint
    and r.final = coalesce($5::boolean, r.final)
    and r.scheduled_at <= coalesce(to_timestamp($6::float8 / 1000)::timestamptz(3), r.scheduled_at)
    and r.until_at >= coalesce(to_timestamp($6::float8 / 1000)::timestamptz(3), r.until_at)
  order by r.id desc
  limit $4::bigint
) r on true
order by r.id desc`

export const replicasSql = (t: Tables): string => `
select c.now, r.id, r.host, r.version, r.release, r.role, to_json(r.tasks), r.capacity,
       r.running, r.draining, r.clock_offset_ms, r.loop_lag_ms, r.started_at, r.seen_at
from (select date_trunc('milliseconds', clock_timestamp()) as now) c
left join ${t.replicas} r on r.namespace = $1
order by r.started_at, r.id`

/** No parameter. */
export const statusSql = (t: Tables): string => `
select date_trunc('milliseconds', clock_timestamp()), m.value
from ${t.meta} m
where m.key = 'schema_version'`
