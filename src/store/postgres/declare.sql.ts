import type { Tables } from './tables.ts'

/**
 * What a replica says of some of its jobs, in one statement. D1: a row that stands as declared is not even locked; of the others the old
 * definition goes on up to now. In force is the newest first-seen definition that a live release declares.
 * Rows are locked in the order of their ids before any is inserted, in the order of their names: replicas that start together wait, and
 * do not deadlock. A job that another replica inserts meanwhile comes back as `again`.
 *
 * $1 namespace, $2 release, $3 how long releases live in ms, $4 made at run time, $5 jobs (JSON), $6 lock time-out, $7 channel.
 */
export const declareSql = (t: Tables): string => `
with known as materialized (
  select i.*,
         j.id,
         j.task = '@lease' as is_lease,
         j.id is not null and j.hash = i.hash and j.removed_at is null as is_same
  from json_to_recordset($5::json) as i (
    n bigint, name text, task text, definition text, hash text, upcoming float8[], overlap text, misfire text, window_ms float8,
    take_over boolean, max_attempts bigint, retries bigint, jitter_ms float8
  )
  left join lateral (
    select j.id,
           j.task,
           j.hash,
           j.removed_at
    from ${t.jobs} j
    where j.namespace = $1
      and j.name = i.name
      and j.parent is null
    limit 1
  ) j on true
),
held as materialized (
  select j.*
  from ${t.jobs} j
  where j.id = any (array(select k.id from known k where not k.is_same))
    and not exists (select from known k where k.is_lease)
    and (select set_config('lock_timeout', $6, true)) is not null
  order by j.id
  for no key update
),
clock as materialized (
  select c.now,
         round(date_part('epoch', c.now) * 1000) as now_ms
  from (
    select date_trunc('milliseconds', clock_timestamp()) as now,
           count(*) as held
    from held
  ) c
),
live as materialized (
  select distinct r.release
  from ${t.replicas} r
  cross join clock c
  where r.namespace = $1
    and r.release <> $2
    and r.seen_at >= c.now - $3::float8 * interval '1 millisecond'
),
judged as materialized (
  select k.*,
         c.now,
         c.now_ms,
         case
           when k.is_lease then 'taken'
           when k.is_same or (h.hash = k.hash and h.removed_at is null) then 'unchanged'
           when u.next_ms is null then 'late'
           when k.id is null then 'new'
           else 'edited'
         end as step,
         not $4::boolean
           and exists (
             select
             from ${t.definitions} d
             join live on live.release = d.release
             where d.job = k.id
               and d.hash <> coalesce(mine.hash, k.hash)
               and d.first_seen_at > coalesce(mine.first_seen_at, c.now)
           ) as is_overruled,
         mine.first_seen_at is not null as is_seen,
         h.removed_at is null and h.next_at <= c.now as keeps_due,
         to_timestamp(u.next_ms / 1000)::timestamptz(3) as next_at,
         to_timestamp(u.after_ms / 1000)::timestamptz(3) as after_at
  from known k
  cross join clock c
  left join held h on h.id = k.id
  left join lateral (
    select d.hash,
           d.first_seen_at
    from ${t.definitions} d
    where d.job = k.id
      and d.release = $2
    limit 1
  ) mine on true
  cross join lateral (
    select min(at) as next_ms
    from unnest(k.upcoming) as at
    where at > greatest(c.now_ms, round(date_part('epoch', h.last_at) * 1000))
  ) first
  cross join lateral (
    select first.next_ms,
           case when first.next_ms = 'infinity' then first.next_ms else min(at) end as after_ms
    from unnest(k.upcoming) as at
    where at > first.next_ms
  ) u
),
inserted as (
  insert into ${t.jobs} (namespace, name, task, definition, hash, rev, overlap, misfire, window_ms, take_over, max_attempts, retries, jitter_ms,
                         next_at, after_at, due_at)
  select $1, g.name, g.task, g.definition::json, g.hash, 1, g.overlap, g.misfire, g.window_ms::bigint, g.take_over, g.max_attempts, g.retries,
         g.jitter_ms::bigint, g.next_at, g.after_at, g.next_at + g.jitter_ms * interval '1 millisecond'
  from judged g
  where g.step = 'new'
    and not exists (select from judged x where x.step = 'taken')
  order by g.name
  on conflict (namespace, name) where parent is null do nothing
  returning id, name, hash
),
edited as (
  update ${t.jobs} j
  set task = g.task,
      definition = g.definition::json,
      hash = g.hash,
      rev = j.rev + 1,
      overlap = g.overlap,
      misfire = g.misfire,
      window_ms = g.window_ms::bigint,
      take_over = g.take_over,
      max_attempts = g.max_attempts,
      retries = g.retries,
      jitter_ms = g.jitter_ms::bigint,
      next_at = case when g.keeps_due then j.next_at else g.next_at end,
      after_at = case when g.keeps_due then null else g.after_at end,
      old_schedules = case
        when not g.keeps_due then '[]'
        else (
          select json_agg(old.value order by old.place)
          from (
            select o.value,
                   o.ordinality as place
            from json_array_elements(j.old_schedules) with ordinality as o
            where (o.value ->> 'until')::float8 <= g.now_ms
            union all
            select json_build_object('schedule', j.definition -> 'schedule', 'until', g.now_ms::bigint),
                   9223372036854775807
          ) old
        )
      end,
      removed_at = null,
      busy_from = case when j.removed_at is null then j.busy_from end,
      busy_until = case when j.removed_at is null then j.busy_until end,
      held_from = case when j.removed_at is null then j.held_from end,
      held_until = case when j.removed_at is null then j.held_until end,
      due_at = case
        when j.owner is not null or j.scheduled_at is not null then j.due_at
        when j.asked > 0 then g.now
        else greatest(case when g.keeps_due then j.next_at else g.next_at end + g.jitter_ms * interval '1 millisecond', j.paused_until)
      end
  from judged g
  where j.id = g.id
    and g.step = 'edited'
    and not g.is_overruled
    and exists (select from held)
  returning j.id
),
seen as (
  insert into ${t.definitions} (job, release, hash, first_seen_at)
  select g.id, $2, g.hash, g.now
  from judged g
  where not $4::boolean
    and not g.is_seen
    and g.step in ('edited', 'unchanged')
  union all
  select n.id, $2, n.hash, c.now
  from inserted n
  cross join clock c
  where not $4::boolean
  on conflict (job, release) do nothing
)
select c.now,
       g.n,
       case
         when g.step = 'new' and n.id is null then 'again'
         when g.step in ('edited', 'unchanged') and g.is_overruled then 'overruled'
         else g.step
       end as result,
       case when n.id is not null or e.id is not null then pg_notify($7, '') end
from clock c
left join judged g on true
left join inserted n on n.name = g.name
left join edited e on e.id = g.id`

/** $1 namespace, $2 id, $3 host, $4 version, $5 release, $6 role, $7 tasks, $8 capacity. */
export const saveReplicaSql = (t: Tables): string => `
insert into ${t.replicas} as r (namespace, id, host, version, release, role, tasks, capacity, started_at, seen_at)
values ($1, $2, $3, $4, $5, $6, $7::text[], $8, date_trunc('milliseconds', clock_timestamp()), date_trunc('milliseconds', clock_timestamp()))
on conflict (namespace, id) do update
set host = excluded.host,
    version = excluded.version,
    release = excluded.release,
    role = excluded.role,
    tasks = excluded.tasks,
    capacity = excluded.capacity,
    seen_at = excluded.seen_at
returning r.seen_at`
