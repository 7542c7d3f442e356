import type { Tables } from './tables.ts'

/**
 * Everything due that the caller has room for, in one statement whatever the number of due jobs; 1,000 at most.
 *
 * - `due_at <= statement_timestamp()` is stable, so it bounds the index; what is written down is `clock_timestamp()`, read after the locks (S1).
 * - A locked row is passed by: nobody waits here, and a fenced transaction (`for key share`) keeps its row from being taken over (S6).
 * - With nothing due only indexes are looked at, and nothing is written but the sign of life, which may as well be forgotten in a crash:
 *   such a call does not wait for the disk. One that takes something does (S7).
 * - Parameters stand in sub-selects where their size would make the planner think every call worth a plan of its own.
 *
 * $1 namespace, $2 owner, $3 claim id, $4 tasks, $5 limit, $6 ttl, $7 not after, $8 rows left out, $9 live for; of presence $10 running, $11 draining,
 * $12 clock offset, $13 loop lag. Times in milliseconds.
 */
export const claimSql = (t: Tables): string => `
with seen as (
  update ${t.replicas} r
  set running = $10::bigint,
      draining = $11::boolean,
      clock_offset_ms = $12::float8,
      loop_lag_ms = $13::float8,
      seen_at = statement_timestamp()
  where r.namespace = $1
    and r.id = (
      select x.id
      from ${t.replicas} x
      where x.namespace = $1
        and x.id = $2
      for no key update skip locked
    )
),
live as materialized (
  select greatest(count(*), 1) as replicas
  from ${t.replicas} r
  where r.namespace = $1
    and (r.id = $2 or r.seen_at >= statement_timestamp() - $9::float8 * interval '1 millisecond')
    and not case when r.id = $2 then $11::boolean else r.draining end
    and r.tasks && $4::text[]
),
due as materialized (
  select d.id,
         d.due_at
  from unnest((select $4::text[])) as mine (task)
  cross join lateral (
    select *
    from (
      select j.id,
             j.due_at
      from ${t.jobs} j
      where j.namespace = $1
        and j.task = mine.task
        and j.due_at <= (select statement_timestamp())
        and j.id <> all (array(select unnest($8::bigint[])))
      order by j.due_at
      limit (select $5::bigint * l.replicas + 1 from live l)
    ) j
    limit 1000
  ) d
  order by d.due_at
  limit (select least($5::bigint * l.replicas + 1, 1000) from live l)
),
share as materialized (
  select exists (
           select
           from ${t.jobs} j
           where j.namespace = $1
             and j.owner = $2
             and j.claim_id = $3
             and j.due_at > statement_timestamp()
         ) as is_again,
         least(
           $5::bigint,
           greatest(
             1,
             ceil(count(d.id)::float8 / min(l.replicas)),
             count(*) filter (where d.due_at <= statement_timestamp() - interval '50 milliseconds')
           )
         )::bigint as jobs,
         count(d.id) as due
  from live l
  left join due d on true
),
locked as materialized (
  select j.*
  from due d
  cross join lateral (
    select j.id, j.namespace, j.parent, j.task, j.overlap, j.misfire, j.window_ms, j.take_over, j.max_attempts, j.jitter_ms, j.next_at, j.after_at,
           j.scheduled_at, j.cause, j.attempt, j.failures, j.due_at, j.owner, j.fence, j.acquired_at, j.may_start,
           j.busy_until, j.held_until, j.paused_until, j.removed_at, j.asked, j.cancel_fence
    from ${t.jobs} j
    where j.id = d.id
      and j.task = any (array(select unnest($4::text[])))
      and j.due_at <= (select statement_timestamp())
    for update skip locked
  ) j
  limit (
    select case when s.is_again or clock_timestamp() > to_timestamp($7::float8 / 1000) then 0 else s.jobs end
    from share s
  )
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as locked
  from locked
),
judged as materialized (
  select l.id,
         c.now,
         case
           when l.paused_until > c.now
             and not (l.scheduled_at is null and l.asked > 0) then 'park'
           when l.task = '@lease'
             or l.removed_at is not null
             or l.cancel_fence = l.fence then 'plan'
           when l.scheduled_at is null then
             case
               when l.asked > 0
                 or l.next_at + l.jitter_ms * interval '1 millisecond' > c.now
                 or l.after_at is null
                 or l.after_at <= c.now
                 or l.next_at < c.now - l.window_ms * interval '1 millisecond'
                 or l.next_at <= l.busy_until
                 or l.next_at <= l.held_until
                 or l.paused_until is not null
                 or l.overlap = 'allow' then 'plan'
               else 'open'
             end
           when l.attempt >= l.max_attempts
             or (not l.take_over and l.attempt > l.failures)
             or (l.attempt = 0 and l.cause = '' and l.scheduled_at < c.now - l.window_ms * interval '1 millisecond')
             or (l.cause = '' and l.next_at <= c.now
               and (l.overlap = 'replace' or (l.failures > 0 and l.misfire <> 'all'))) then 'plan'
           else 'again'
         end as step
  from locked l
  cross join clock c
),
lost as (
  insert into ${t.runs} (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, started_at, ended_at, outcome, final)
  select l.namespace, l.id, coalesce(l.parent, l.id), l.cause, l.scheduled_at, l.scheduled_at, 1, l.attempt, l.fence, l.owner, l.acquired_at,
         l.due_at, 'leaseLost', false
  from locked l
  where l.may_start
    and l.scheduled_at is not null
),
taken as (
  update ${t.jobs} j
  set fence = greatest(j.fence + 1, (date_part('epoch', g.now) * 1000)::bigint * 1000),
      cancel_fence = case when j.cancel_fence = j.fence then greatest(j.fence + 1, (date_part('epoch', g.now) * 1000)::bigint * 1000) end,
      last_owner = coalesce(j.owner, j.last_owner),
      owner = case when g.step <> 'park' then $2 end,
      claim_id = case when g.step <> 'park' then $3 end,
      may_start = g.step in ('open', 'again'),
      acquired_at = case when g.step = 'park' then j.acquired_at else g.now end,
      due_at = case when g.step = 'park' then j.paused_until else g.now + $6::float8 * interval '1 millisecond' end,
      scheduled_at = case when g.step = 'open' then j.next_at else j.scheduled_at end,
      opened_at = case when g.step = 'open' then g.now else j.opened_at end,
      cause = case when g.step = 'open' then '' else j.cause end,
      attempt = case g.step when 'open' then 1 when 'again' then j.attempt + 1 else j.attempt end,
      failures = case when g.step = 'open' then 0 else j.failures end,
      checkpoint = case when g.step = 'open' then null else j.checkpoint end,
      next_at = case when g.step = 'open' then j.after_at else j.next_at end,
      after_at = case when g.step = 'open' then null else j.after_at end
  from judged g
  where j.id = g.id
  returning j.id, j.name, j.task, j.definition, j.hash, j.rev, j.next_at, j.after_at, j.old_schedules,
            j.scheduled_at, j.opened_at, j.cause, j.attempt, j.failures, j.checkpoint,
            j.due_at, j.fence, j.owner, j.claim_id, j.may_start, j.acquired_at,
            j.busy_from, j.busy_until, j.held_from, j.held_until, j.paused_at, j.paused_until, j.paused_by, j.paused_why,
            j.removed_at, j.asked, j.last_cause, j.last_at, j.last_owner, j.ended_at, j.cancel_fence, j.parent, j.parent_fence,
            j.next_at + j.jitter_ms * interval '1 millisecond' as follows_at
),
leased as materialized (
  select j.id,
         j.task,
         j.next_at + j.jitter_ms * interval '1 millisecond' as follows_at
  from ${t.jobs} j
  where j.namespace = $1
    and j.owner is not null
  order by j.owner, j.claim_id
  limit 500
),
others as materialized (
  select count(*) filter (where l.task = any ($4::text[]) and l.id <> all (array(select g.id from judged g))) as jobs,
         count(*) = 500 as is_cut,
         min(l.follows_at) filter (
           where l.task = any ($4::text[]) and l.id <> all (array(select g.id from judged g)) and l.follows_at > statement_timestamp()
         ) as follows_at
  from leased l
),
told as materialized (
  select c.now,
         least(
           (
             select min(n.due_at)
             from unnest((select $4::text[])) as mine (task)
             cross join lateral (
               select j.due_at
               from ${t.jobs} j
               where j.namespace = $1
                 and j.task = mine.task
                 and j.due_at > (select statement_timestamp())
               order by j.due_at
               limit 1
             ) n
           ),
           o.follows_at,
           (
             select min(least(x.due_at, case when x.owner is not null and x.follows_at > statement_timestamp() then x.follows_at end))
             from taken x
           ),
           'infinity'
         ) as next_due_at,
         s.due > c.locked as is_more_due,
         o.jobs > 0 or o.is_cut or exists (select from taken x where x.owner is not null) as is_any_leased,
         s.is_again,
         case when c.locked = 0 then set_config('synchronous_commit', 'off', true) end as commits
  from clock c
  cross join share s
  cross join others o
)
select w.now, w.next_due_at, w.is_more_due, w.is_any_leased, w.is_again,
       g.id, g.name, g.task, g.definition, g.hash, g.rev, g.next_at, g.after_at, g.old_schedules,
       g.scheduled_at, g.opened_at, g.cause, g.attempt, g.failures, g.checkpoint,
       g.due_at, g.fence, g.owner, g.claim_id, g.may_start, g.acquired_at,
       g.busy_from, g.busy_until, g.held_from, g.held_until, g.paused_at, g.paused_until, g.paused_by, g.paused_why,
       g.removed_at, g.asked, g.last_cause, g.last_at, g.last_owner, g.ended_at, g.cancel_fence, g.parent, g.parent_fence
from told w
left join taken g on g.owner is not null`

/** S7: what an earlier ask under the same id was given and still holds. $1 namespace, $2 owner, $3 claim id. */
export const claimedSql = (t: Tables): string => `
select j.id, j.name, j.task, j.definition, j.hash, j.rev, j.next_at, j.after_at, j.old_schedules,
       j.scheduled_at, j.opened_at, j.cause, j.attempt, j.failures, j.checkpoint,
       j.due_at, j.fence, j.owner, j.claim_id, j.may_start, j.acquired_at,
       j.busy_from, j.busy_until, j.held_from, j.held_until, j.paused_at, j.paused_until, j.paused_by, j.paused_why,
       j.removed_at, j.asked, j.last_cause, j.last_at, j.last_owner, j.ended_at, j.cancel_fence, j.parent, j.parent_fence
from ${t.jobs} j
where j.namespace = $1
  and j.owner = $2
  and j.claim_id = $3
  and j.due_at > statement_timestamp()`

/** The oldest manual ask and the oldest backfill of each job. $1 jobs. */
export const oldestAsksSql = (t: Tables): string => `
select distinct on (a.job, a.kind) a.job, a.id, a.kind, a.next_at, a.until_at, a.schedule
from ${t.asked} a
where a.job = any ($1::bigint[])
order by a.job, a.kind, a.seq`
