import type { Tables } from './tables.ts'

/**
 * The short way for leases that stand for no occurrence: let go, and no line in the ledger. What comes back was let go.
 *
 * $1 owner; of each item, in the order of the rows' ids, $2 row and $3 fence; $4 lock time-out, $5 namespace.
 */
export const releaseSql = (t: Tables): string => `
with held as materialized (
  select j.id,
         i.n
  from unnest($2::bigint[], $3::bigint[]) with ordinality as i (row_id, held_fence, n)
  cross join lateral (
    select j.id
    from ${t.jobs} j
    where j.id = i.row_id
      and j.fence = i.held_fence
      and (select set_config('lock_timeout', $4, true)) is not null
    for no key update
  ) j
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as held
  from held
)
update ${t.jobs} j
set owner = null,
    claim_id = null,
    may_start = false,
    last_owner = j.owner,
    ended_at = c.now,
    due_at = c.now
from held h
cross join clock c
where j.id = h.id
  and j.namespace = $5
  and j.owner = $1
  and j.may_start
  and j.scheduled_at is null
  and j.task = '@lease'
returning c.now,
          h.n`

/**
 * Ends runs: row and ledger in one statement. The items come in the order of their rows' ids, and so the rows are locked, `for no key update`:
 * a holder's own fenced transaction does not stand in the way. By id and fence only: the planner thinks that few rows have an owner, and
 * would look through all of those for each item. What comes back are the items whose lease was current; of the others nothing was changed (S4).
 *
 * $1 owner; of each item $2 row, $3 fence, $4 kind, $5 verdict, $6 started, $7 back-off in ms, the successor's $8 rev, $9 next and $10 after,
 * $11 reason, $12 error, $13 result, $14 log tail; $15 lock time-out, $16 channel of wake-ups, $17 namespace.
 */
export const settleRunsSql = (t: Tables): string => `
with held as materialized (
  select j.*,
         i.*
  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::boolean[], $7::float8[], $8::bigint[], $9::float8[], $10::float8[],
              $11::text[], $12::text[], $13::text[], $14::text[])
    with ordinality as i (row_id, held_fence, kind, verdict, started, backoff_ms, then_rev, then_next, then_after, reason, error, result, log_tail, n)
  cross join lateral (
    select j.id,
           j.namespace,
           j.parent,
           j.task,
           j.retries,
           j.max_attempts,
           j.take_over,
           j.scheduled_at,
           j.cause,
           j.attempt,
           j.failures,
           j.owner,
           j.fence,
           j.acquired_at,
           j.may_start
    from ${t.jobs} j
    where j.id = i.row_id
      and j.fence = i.held_fence
      and (select set_config('lock_timeout', $15, true)) is not null
    for no key update
  ) j
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as held
  from held
),
ended as materialized (
  select h.*,
         h.task = '@lease' as is_lease,
         c.now,
         case when h.kind = 'retry' then c.now + h.backoff_ms * interval '1 millisecond' else c.now end as retry_at,
         case
           when h.scheduled_at is null then 'free'
           when h.kind = 'handBack' and not h.started then 'back'
           when h.task = '@lease' then h.kind
           when h.kind = 'retry' and (h.failures >= h.retries or h.attempt >= h.max_attempts) then 'final'
           when h.kind = 'handBack' and (not h.take_over or h.attempt >= h.max_attempts) then 'final'
           else h.kind
         end as step
  from held h
  cross join clock c
  where h.namespace = $17
    and h.owner = $1
    and h.may_start
    and (h.scheduled_at is not null or h.task = '@lease')
),
written as (
  insert into ${t.runs} (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, started_at, ended_at, outcome, final,
                         reason, error, result, log_tail)
  select e.namespace, e.id, coalesce(e.parent, e.id), e.cause, e.scheduled_at, e.scheduled_at, 1, e.attempt, e.fence, e.owner, e.acquired_at, e.now,
         case e.kind
           when 'final' then e.verdict
           when 'retry' then 'failed'
           else case when e.step = 'final' then 'abandoned' else 'handedBack' end
         end,
         e.step = 'final',
         case when e.step = 'final' and e.kind = 'handBack' then 'handedBack' else e.reason end,
         e.error::json, e.result::json, e.log_tail
  from ended e
  where e.step in ('final', 'retry', 'handBack')
  on conflict (job, scheduled_at, cause) where final do nothing
),
gone as (
  delete from ${t.jobs} j
  where j.id = any (array(select e.id from ended e where e.step = 'final' and e.parent is not null))
),
freed as (
  update ${t.jobs} j
  set owner = null,
      claim_id = null,
      may_start = false,
      last_owner = j.owner,
      ended_at = e.now,
      scheduled_at = case when e.step = 'final' then null else j.scheduled_at end,
      opened_at = case when e.step = 'final' then null else j.opened_at end,
      cause = case when e.step = 'final' then null else j.cause end,
      attempt = case e.step when 'final' then 0 when 'back' then j.attempt - 1 else j.attempt end,
      failures = case e.step when 'final' then 0 when 'retry' then j.failures + 1 else j.failures end,
      checkpoint = case when e.step = 'final' then null else j.checkpoint end,
      last_cause = case when e.step = 'final' and not e.is_lease then j.cause else j.last_cause end,
      last_at = case
        when e.step <> 'final' then j.last_at
        when e.is_lease then j.scheduled_at
        when j.cause <> '' then j.last_at
        else greatest(j.last_at, j.scheduled_at)
      end,
      cancel_fence = case when e.step = 'final' and not e.is_lease then null else j.cancel_fence end,
      busy_from = case
        when e.step <> 'final' or e.is_lease or j.overlap <> 'skip' then j.busy_from
        when j.next_at <= j.busy_until then j.busy_from
        else j.opened_at
      end,
      busy_until = case when e.step <> 'final' or e.is_lease or j.overlap <> 'skip' then j.busy_until else e.now end,
      after_at = case
        when e.step in ('final', 'retry') and not e.is_lease and j.after_at is null and j.rev = e.then_rev
          and j.next_at = to_timestamp(e.then_next / 1000)::timestamptz(3) then to_timestamp(e.then_after / 1000)
        else j.after_at
      end,
      due_at = case
        when e.is_lease then e.now
        else greatest(
          case
            when e.step = 'final' and j.removed_at is not null then 'infinity'
            when e.step = 'final' and j.asked > 0 then e.now
            when e.step = 'final' then j.next_at + j.jitter_ms * interval '1 millisecond'
            when j.cause <> '' or j.misfire = 'all' then e.retry_at
            else least(e.retry_at, j.next_at + j.jitter_ms * interval '1 millisecond')
          end,
          case when e.step <> 'final' or j.asked = 0 then j.paused_until end
        )
      end
  from ended e
  where j.id = e.id
    and (e.step <> 'final' or e.parent is null)
)
select c.now,
       e.n,
       case when e.kind = 'handBack' then pg_notify($16, '') end
from clock c
left join ended e on true`

/**
 * S7: which of these settles were carried out before. Asked in a statement of its own, which sees what the first one's locks waited for.
 *
 * Of each $1 row, $2 fence, $3 cause, $4 instant; $5 namespace.
 */
export const settledBeforeSql = (t: Tables): string => `
select i.n
from unnest($1::bigint[], $2::bigint[], $3::text[], $4::float8[]) with ordinality as i (row_id, fence, cause, scheduled_at, n)
where exists (
  select
  from (
    select *
    from ${t.runs} r
    where r.job = i.row_id
    union all
    select *
    from ${t.runs} r
    where r.row_id = i.row_id
      and r.row_id <> r.job
  ) r
  where r.row_id = i.row_id
    and r.fence = i.fence
    and r.cause = i.cause
    and r.scheduled_at = to_timestamp(i.scheduled_at / 1000)::timestamptz(3)
    and r.outcome <> 'leaseLost'
    and r.namespace = $5
)`
