import type { Tables } from './tables.ts'

/**
 * The short way to a lease that stands for no occurrence: where it is free, it is had. No row: look closer, with the statement below.
 *
 * $1 namespace, $2 owner, $3 claim id, $4 name, $5 ttl, $6 not after. Times in milliseconds.
 */
export const takeSql = (t: Tables): string => `
update ${t.jobs} j
set fence = greatest(j.fence + 1, (date_part('epoch', f.now) * 1000)::bigint * 1000),
    last_owner = coalesce(j.owner, j.last_owner),
    owner = $2,
    claim_id = $3,
    may_start = true,
    acquired_at = f.now,
    due_at = f.now + $5::float8 * interval '1 millisecond'
from (
  select free.id,
         date_trunc('milliseconds', clock_timestamp()) as now
  from (
    select j.id
    from ${t.jobs} j
    where j.namespace = $1
      and j.name = $4
      and j.parent is null
      and j.task = '@lease'
      and j.scheduled_at is null
      and (j.owner is null or j.due_at <= statement_timestamp())
    for update skip locked
  ) free
) f
where j.id = f.id
  and f.now <= to_timestamp($6::float8 / 1000)
returning f.now,
          j.id, j.name, j.task, j.definition, j.hash, j.rev, j.next_at, j.after_at, j.old_schedules,
          j.scheduled_at, j.opened_at, j.cause, j.attempt, j.failures, j.checkpoint,
          j.due_at, j.fence, j.owner, j.claim_id, j.may_start, j.acquired_at,
          j.busy_from, j.busy_until, j.held_from, j.held_until, j.paused_at, j.paused_until, j.paused_by, j.paused_why,
          j.removed_at, j.asked, j.last_cause, j.last_at, j.last_owner, j.ended_at, j.cancel_fence, j.parent, j.parent_fence`

/**
 * One lease by name. Free or run out: taken; else what stands there is told. A row that somebody locks is not waited for:
 * it is held. Absent: no row comes back but the look at it, all null.
 *
 * $1 namespace, $2 owner, $3 claim id, $4 name, $5 ttl, $6 not after, $7 at. Times in milliseconds.
 */
export const acquireSql = (t: Tables): string => `
with free as materialized (
  select j.*
  from ${t.jobs} j
  where j.namespace = $1
    and j.name = $4
    and j.parent is null
    and j.task = '@lease'
    and (j.owner is null or j.due_at <= statement_timestamp())
  for update skip locked
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as free
  from free
),
judged as materialized (
  select f.id,
         c.now,
         p.at,
         p.last_at,
         greatest(f.fence + 1, (date_part('epoch', c.now) * 1000)::bigint * 1000) as next_fence,
         case
           when c.now > to_timestamp($6::float8 / 1000) then 'refused'
           when p.at > c.now + interval '2 seconds' then 'refused'
           when p.at <= p.last_at then 'done'
           else 'granted'
         end as step,
         f.scheduled_at is distinct from p.at as anew
  from free f
  cross join clock c
  cross join lateral (
    select to_timestamp($7::float8 / 1000)::timestamptz(3) as at,
           greatest(f.last_at, f.scheduled_at - interval '1 millisecond') as last_at
  ) p
),
written as (
  insert into ${t.runs} (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, started_at, ended_at, outcome, final, reason)
  select f.namespace, f.id, f.id, f.cause, f.scheduled_at, f.scheduled_at, 1, f.attempt, l.fence, coalesce(f.owner, f.last_owner),
         case when f.may_start then f.acquired_at end,
         l.ended_at, l.outcome, l.final, l.reason
  from free f
  join judged g on g.id = f.id
  cross join lateral (
    select f.fence, f.due_at as ended_at, 'leaseLost' as outcome, false as final, null as reason
    where f.owner is not null
    union all
    select g.next_fence, g.now, 'abandoned', true, 'takeover'
    where g.anew
  ) l
  where g.step = 'granted'
    and f.scheduled_at is not null
  order by l.final
  on conflict (job, scheduled_at, cause) where final do nothing
),
taken as (
  update ${t.jobs} j
  set fence = g.next_fence,
      last_owner = coalesce(j.owner, j.last_owner),
      owner = $2,
      claim_id = $3,
      may_start = true,
      acquired_at = g.now,
      due_at = g.now + $5::float8 * interval '1 millisecond',
      last_at = case when g.anew and j.scheduled_at is not null then j.scheduled_at else j.last_at end,
      scheduled_at = g.at,
      cause = case when g.at is not null then coalesce(case when not g.anew then j.cause end, '') end,
      opened_at = case when g.at is not null then coalesce(case when not g.anew then j.opened_at end, g.now) end,
      attempt = case when g.at is null then 0 when g.anew then 1 else j.attempt + 1 end,
      failures = case when g.anew or g.at is null then 0 else j.failures end,
      checkpoint = case when g.anew then null else j.checkpoint end
  from judged g
  where j.id = g.id
    and g.step = 'granted'
  returning j.*
),
seen as materialized (
  select *
  from taken
  union all
  select *
  from ${t.jobs} j
  where j.namespace = $1
    and j.name = $4
    and j.parent is null
    and not exists (select from judged g where g.step = 'granted')
)
select c.now,
       c.now > to_timestamp($6::float8 / 1000) as is_late,
       coalesce(g.step, case when s.owner = $2 and s.claim_id = $3 and s.due_at > c.now then 'granted' else 'held' end) as step,
       g.last_at,
       s.id, s.name, s.task, s.definition, s.hash, s.rev, s.next_at, s.after_at, s.old_schedules,
       s.scheduled_at, s.opened_at, s.cause, s.attempt, s.failures, s.checkpoint,
       s.due_at, s.fence, s.owner, s.claim_id, s.may_start, s.acquired_at,
       s.busy_from, s.busy_until, s.held_from, s.held_until, s.paused_at, s.paused_until, s.paused_by, s.paused_why,
       s.removed_at, s.asked, s.last_cause, s.last_at, s.last_owner, s.ended_at, s.cancel_fence, s.parent, s.parent_fence
from clock c
left join seen s on true
left join judged g on true`

/** The row of a lease that nobody has asked for before. $1 namespace, $2 name, $3 definition. */
export const leaseSql = (t: Tables): string => `
insert into ${t.jobs} (namespace, name, task, definition, hash, rev, overlap, misfire, window_ms, take_over, max_attempts, retries, jitter_ms,
                       next_at, after_at, due_at)
values ($1, $2, '@lease', $3, '', 1, 'skip', 'latest', 0, true, ${Number.MAX_SAFE_INTEGER}, 0, 0,
        'infinity', 'infinity', date_trunc('milliseconds', clock_timestamp()))
on conflict (namespace, name) where parent is null do nothing`
