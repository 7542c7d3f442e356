import type { Tables } from './tables.ts'

/**
 * Moves the expiry of all leases named. A row that somebody locks just now is not waited for; one whose lock is had is judged on the time
 * after that. `for no key update` goes through where the holder's own fenced transaction locks the row `for key share`.
 *
 * $1 owner, $2 rows, $3 their fences, $4 ttl in milliseconds, $5 namespace.
 */
export const renewSql = (t: Tables): string => `
with held as materialized (
  select l.*,
         j.id,
         case when j.owner = $1 and j.namespace = $5 then j.due_at end as due_at,
         j.rev,
         j.next_at,
         j.cancel_fence
  from unnest($2::bigint[], $3::bigint[]) with ordinality as l (row_id, fence, n)
  left join lateral (
    select *
    from ${t.jobs} j
    where j.id = l.row_id
      and j.fence = l.fence
    for no key update skip locked
  ) j on true
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as held
  from held
),
renewed as (
  update ${t.jobs} j
  set due_at = c.now + $4::float8 * interval '1 millisecond'
  from held h
  cross join clock c
  where j.id = h.id
    and h.due_at > c.now
)
select c.now,
       h.row_id,
       h.fence,
       case
         when h.due_at > c.now then 'held'
         when b.due_at > c.now then 'busy'
         else 'lost'
       end as state,
       case when h.due_at > c.now then c.now + $4::float8 * interval '1 millisecond' else coalesce(b.due_at, c.now) end,
       coalesce(h.rev, b.rev, 0),
       coalesce(h.next_at, b.next_at, 'infinity'),
       coalesce(h.cancel_fence, b.cancel_fence) = h.fence
from clock c
left join held h on true
left join lateral (
  select *
  from ${t.jobs} j
  where h.id is null
    and j.id = h.row_id
    and j.fence = h.fence
  limit 1
) b on b.owner = $1
  and b.namespace = $5
order by h.n`

/**
 * Keeps a value with the open occurrence. The expiry is looked at after the lock is had.
 *
 * $1 row, $2 owner, $3 fence, $4 value, $5 lock time-out, $6 namespace.
 */
export const checkpointSql = (t: Tables): string => `
with held as materialized (
  select j.*
  from ${t.jobs} j
  where j.id = $1
    and j.fence = $3
    and (select set_config('lock_timeout', $5, true)) is not null
  for no key update
),
clock as materialized (
  select date_trunc('milliseconds', clock_timestamp()) as now,
         count(*) as held
  from held
)
update ${t.jobs} j
set checkpoint = $4::json
from held h
cross join clock c
where j.id = h.id
  and h.namespace = $6
  and h.owner = $2
  and h.may_start
  and h.scheduled_at is not null
  and h.due_at > c.now
returning true`
