import type { Tables } from './tables.ts'

/**
 * Writes plans down, each while its lease lasts and only where the row stands as it was planned for. A row that may start already was answered
 * before, and is returned as it is.
 *
 * $1 owner, $2 plans (JSON) in the order of their rows' ids, so that the rows are locked in it; $3 lock time-out, $4 namespace.
 */
export const settlePlansSql = (t: Tables): string => `
with held as materialized (
  select j.*,
         i.*
  from json_to_recordset($2::json) as i (
    n bigint, row_id bigint, held_fence bigint, new_claim_id text, ttl_ms float8, seen_rev bigint, seen_asked bigint, seen_next float8,
    seen_cause text, seen_open float8, closes boolean, moves boolean, then_next float8, then_after float8, then_old text,
    quiet_from float8, quiet_until float8, kind text, then_cause text, then_open float8, ask_id text, ask_next float8, lines text
  )
  cross join lateral (
    select j as job,
           j.*
    from ${t.jobs} j
    where j.id = i.row_id
      and j.fence = i.held_fence
      and (select set_config('lock_timeout', $3, true)) is not null
    for no key update
  ) j
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as held
  from held
),
judged as materialized (
  select h.*,
         c.now,
         c.now + h.ttl_ms * interval '1 millisecond' as expires_at,
         greatest(h.fence + 1, (date_part('epoch', c.now) * 1000)::bigint * 1000) as next_fence,
         h.kind = 'open' and h.ask_id is not null and h.ask_next is null as uses_ask,
         to_timestamp(h.ask_next / 1000)::timestamptz(3) as ask_next_at,
         to_timestamp(h.then_open / 1000)::timestamptz(3) as open_at,
         to_timestamp(h.then_next / 1000)::timestamptz(3) as then_next_at,
         to_timestamp(h.then_after / 1000)::timestamptz(3) as then_after_at,
         to_timestamp(h.quiet_from / 1000)::timestamptz(3) as quiet_from_at,
         to_timestamp(h.quiet_until / 1000)::timestamptz(3) as quiet_until_at,
         h.paused_at = to_timestamp(h.quiet_from / 1000)::timestamptz(3)
           and h.paused_until = to_timestamp(h.quiet_until / 1000)::timestamptz(3) as ends_pause,
         case
           when h.may_start then 'before'
           when h.rev <> h.seen_rev
             or h.asked <> h.seen_asked
             or h.next_at <> to_timestamp(h.seen_next / 1000)::timestamptz(3)
             or (case when h.scheduled_at is not null then h.cause end) is distinct from h.seen_cause
             or h.scheduled_at is distinct from to_timestamp(h.seen_open / 1000)::timestamptz(3) then 'stale'
           when h.closes and h.parent is not null then 'gone'
           when h.kind = 'open' and h.overlap = 'allow' then 'spawn'
           else h.kind
         end as step
  from held h
  cross join clock c
  where h.owner = $1
    and h.namespace = $4
    and (h.may_start or h.due_at > c.now)
),
written as (
  insert into ${t.runs} (namespace, row_id, job, cause, scheduled_at, until_at, count, attempt, fence, owner, started_at, ended_at, outcome, final,
                         reason, error, result, log_tail)
  select g.namespace, l.row_id, l.job, l.cause, to_timestamp(l.scheduled_at / 1000), to_timestamp(l.until_at / 1000), l.count, l.attempt, l.fence,
         l.owner, to_timestamp(l.started_at / 1000), to_timestamp(l.ended_at / 1000), l.outcome, l.final,
         l.reason, l.error::json, l.result::json, l.log_tail
  from judged g
  cross join lateral json_to_recordset(g.lines::json) as l (
    row_id bigint, job bigint, cause text, scheduled_at float8, until_at float8, count bigint, attempt bigint, fence bigint,
    owner text, started_at float8, ended_at float8, outcome text, final boolean, reason text, error text, result text, log_tail text
  )
  where g.step in ('gone', 'idle', 'again', 'open', 'spawn')
  on conflict (job, scheduled_at, cause) where final do nothing
),
used as (
  delete from ${t.asked} a
  using judged g
  where g.step in ('open', 'spawn')
    and g.uses_ask
    and a.job = g.id
    and a.id = g.ask_id
),
moved as (
  update ${t.asked} a
  set next_at = g.ask_next_at
  from judged g
  where g.step in ('open', 'spawn')
    and g.ask_next is not null
    and a.job = g.id
    and a.id = g.ask_id
),
gone as (
  delete from ${t.jobs} j
  where j.id = any (array(select g.id from judged g where g.step = 'gone'))
),
extra as (
  insert into ${t.jobs} (namespace, name, task, definition, hash, rev, overlap, misfire, window_ms, take_over, max_attempts, retries, jitter_ms,
                         next_at, after_at, scheduled_at, opened_at, cause, attempt, due_at, fence, owner, claim_id, may_start, acquired_at,
                         removed_at, parent, parent_fence)
  select g.namespace, g.name, g.task, g.definition, g.hash, g.rev, g.overlap, g.misfire, g.window_ms, g.take_over, g.max_attempts, g.retries, g.jitter_ms,
         'infinity', 'infinity', g.open_at, g.now, g.then_cause, 1, g.expires_at, g.next_fence, $1, g.new_claim_id, true, g.now,
         g.removed_at, g.id, g.fence
  from judged g
  where g.step = 'spawn'
  returning *
),
changed as (
  update ${t.jobs} j
  set owner = case when g.step in ('again', 'open') then j.owner end,
      claim_id = case when g.step in ('again', 'open') then j.claim_id end,
      may_start = g.step in ('again', 'open'),
      acquired_at = case when g.step in ('again', 'open') then g.now else j.acquired_at end,
      last_owner = case when g.step in ('idle', 'spawn') then j.owner else j.last_owner end,
      ended_at = case when g.step in ('idle', 'spawn') then g.now else j.ended_at end,
      fence = case when g.step = 'spawn' then g.next_fence else j.fence end,
      scheduled_at = case when g.step = 'open' then g.open_at when g.closes then null else j.scheduled_at end,
      cause = case when g.step = 'open' then g.then_cause when g.closes then null else j.cause end,
      opened_at = case when g.step = 'open' then g.now when g.closes then null else j.opened_at end,
      attempt = case when g.step = 'open' then 1 when g.step = 'again' then j.attempt + 1 when g.closes then 0 else j.attempt end,
      failures = case when g.step = 'open' or g.closes then 0 else j.failures end,
      checkpoint = case when g.step = 'open' or g.closes then null else j.checkpoint end,
      last_cause = case
        when g.step = 'spawn' then g.then_cause
        when g.closes and j.scheduled_at is not null then j.cause
        else j.last_cause
      end,
      last_at = greatest(
        j.last_at,
        case when g.closes and j.cause = '' then j.scheduled_at end,
        case when g.step = 'spawn' and g.then_cause = '' then g.open_at end
      ),
      cancel_fence = case when g.closes then null else j.cancel_fence end,
      asked = case when g.step in ('open', 'spawn') and g.uses_ask then j.asked - 1 else j.asked end,
      next_at = case when g.moves then g.then_next_at else j.next_at end,
      after_at = case when g.moves then g.then_after_at else j.after_at end,
      old_schedules = case when g.moves then g.then_old::json else j.old_schedules end,
      held_from = case when j.next_at <= j.held_until then least(j.held_from, g.quiet_from_at) else coalesce(g.quiet_from_at, j.held_from) end,
      held_until = case when j.next_at <= j.held_until then greatest(j.held_until, g.quiet_until_at) else coalesce(g.quiet_until_at, j.held_until) end,
      paused_at = case when g.ends_pause is not true then j.paused_at end,
      paused_until = case when g.ends_pause is not true then j.paused_until end,
      paused_by = case when g.ends_pause is not true then j.paused_by end,
      paused_why = case when g.ends_pause is not true then j.paused_why end,
      due_at = case
        when g.step in ('again', 'open') then j.due_at
        when j.scheduled_at is not null and not g.closes then
          greatest(
            case
              when j.cause <> '' or j.misfire = 'all' then g.now
              else least(g.now, coalesce(g.then_next_at, j.next_at) + j.jitter_ms * interval '1 millisecond')
            end,
            case when g.ends_pause is not true then j.paused_until end
          )
        when j.removed_at is not null then 'infinity'
        when j.asked > case when g.uses_ask then 1 else 0 end then g.now
        else greatest(
          coalesce(g.then_next_at, j.next_at) + j.jitter_ms * interval '1 millisecond',
          case when g.ends_pause is not true then j.paused_until end
        )
      end
  from judged g
  where j.id = g.id
    and g.step in ('idle', 'again', 'open', 'spawn')
  returning j.*
),
granted as materialized (
  select id as planned,
         *
  from changed
  where owner is not null
  union all
  select parent as planned,
         *
  from extra
  union all
  select g.row_id as planned,
         (g.job).*
  from judged g
  where g.step in ('before', 'stale')
)
select c.now,
       g.n,
       g.step,
       j.id, j.name, j.task, j.definition, j.hash, j.rev, j.next_at, j.after_at, j.old_schedules,
       j.scheduled_at, j.opened_at, j.cause, j.attempt, j.failures, j.checkpoint,
       j.due_at, j.fence, j.owner, j.claim_id, j.may_start, j.acquired_at,
       j.busy_from, j.busy_until, j.held_from, j.held_until, j.paused_at, j.paused_until, j.paused_by, j.paused_why,
       j.removed_at, j.asked, j.last_cause, j.last_at, j.last_owner, j.ended_at, j.cancel_fence, j.parent, j.parent_fence
from clock c
left join judged g on true
left join granted j on j.planned = g.id`

/**
 * S7: what became of plans whose lease is gone: the extra rows they made, and which of their lines stand in the ledger. Asked in a statement
 * of its own, which sees what the first one's locks waited for.
 *
 * $1 owner; of each $2 row, $3 fence, $8 claim id; of each line $4 plan, $5 cause, $6 instant; $7 namespace.
 */
export const plannedBeforeSql = (t: Tables): string => `
with line as materialized (
  select *
  from unnest($4::bigint[], $5::text[], $6::float8[]) as l (n, cause, scheduled_at)
)
select i.n,
       exists (
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
         join line l on l.n = i.n
           and l.cause = r.cause
           and r.scheduled_at = to_timestamp(l.scheduled_at / 1000)::timestamptz(3)
         where r.row_id = i.row_id
           and r.fence = i.fence
           and r.outcome <> 'leaseLost'
           and r.namespace = $7
       ) as is_written,
       j.id, j.name, j.task, j.definition, j.hash, j.rev, j.next_at, j.after_at, j.old_schedules,
       j.scheduled_at, j.opened_at, j.cause, j.attempt, j.failures, j.checkpoint,
       j.due_at, j.fence, j.owner, j.claim_id, j.may_start, j.acquired_at,
       j.busy_from, j.busy_until, j.held_from, j.held_until, j.paused_at, j.paused_until, j.paused_by, j.paused_why,
       j.removed_at, j.asked, j.last_cause, j.last_at, j.last_owner, j.ended_at, j.cancel_fence, j.parent, j.parent_fence
from unnest($2::bigint[], $3::bigint[], $8::text[]) with ordinality as i (row_id, fence, claim_id, n)
left join lateral (
  select *
  from ${t.jobs} j
  where j.parent = i.row_id
    and j.parent_fence = i.fence
  limit 1
) j on j.owner = $1
  and j.claim_id = i.claim_id
  and j.may_start
  and j.namespace = $7`
