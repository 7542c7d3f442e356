import type { Tables } from './tables.ts'

/** What brought the schema from one version to the next. Only ever added to: the code of the version before goes on working. */
export interface Version {
  readonly version: number
  readonly statements: (tables: Tables) => readonly string[]
}

export const versions: readonly Version[] = [
  { version: 1, statements: first },
  { version: 2, statements: second },
]

/**
 * Instants are whole milliseconds, as in JavaScript, so that they can be compared for equality. What stands in an index compares byte by
 * byte: fast, and the same whatever the server's locale is or becomes. What is always there and of one width stands first in a row.
 */
function first(t: Tables): readonly string[] {
  return [
    `create table if not exists ${t.meta} (
  key text primary key,
  value text not null
)`,

    `create table if not exists ${t.jobs} (
  id bigint generated always as identity primary key,
  fence bigint not null default 0,
  due_at timestamptz(3) not null,
  next_at timestamptz(3) not null,
  rev bigint not null,
  window_ms bigint not null,
  max_attempts bigint not null,
  retries bigint not null,
  jitter_ms bigint not null,
  asked bigint not null default 0,
  attempt bigint not null default 0,
  failures bigint not null default 0,
  take_over boolean not null,
  may_start boolean not null default false,
  namespace text collate "C" not null,
  task text collate "C" not null,
  name text collate "C" not null,
  hash text not null,
  overlap text not null,
  misfire text not null,
  last_cause text not null default '',
  definition json not null,
  old_schedules json not null default '[]',
  after_at timestamptz(3),
  scheduled_at timestamptz(3),
  opened_at timestamptz(3),
  cause text collate "C",
  checkpoint json,
  owner text collate "C",
  claim_id text collate "C",
  acquired_at timestamptz(3),
  busy_from timestamptz(3),
  busy_until timestamptz(3),
  held_from timestamptz(3),
  held_until timestamptz(3),
  paused_at timestamptz(3),
  paused_until timestamptz(3),
  paused_by text,
  paused_why text,
  removed_at timestamptz(3),
  last_at timestamptz(3),
  last_owner text,
  ended_at timestamptz(3),
  cancel_fence bigint,
  parent bigint,
  parent_fence bigint
) with (autovacuum_vacuum_scale_factor = 0.02)`,

    `create unique index if not exists ${t.index('jobs_name')}
  on ${t.jobs} (namespace, name) where parent is null`,
    `create index if not exists ${t.index('jobs_due')}
  on ${t.jobs} (namespace, task, due_at)`,
    `create index if not exists ${t.index('jobs_leased')}
  on ${t.jobs} (namespace, owner, claim_id) where owner is not null`,
    `create unique index if not exists ${t.index('jobs_parent')}
  on ${t.jobs} (parent, parent_fence) where parent is not null`,

    `create table if not exists ${t.asked} (
  seq bigint generated always as identity,
  job bigint not null,
  id text collate "C" not null,
  kind text not null,
  next_at timestamptz(3) not null,
  until_at timestamptz(3) not null,
  schedule json,
  primary key (job, id)
)`,

    `create table if not exists ${t.definitions} (
  job bigint not null,
  release text collate "C" not null,
  hash text not null,
  first_seen_at timestamptz(3) not null,
  primary key (job, release)
)`,

    `create table if not exists ${t.runs} (
  id bigint generated always as identity primary key,
  row_id bigint not null,
  job bigint not null,
  scheduled_at timestamptz(3) not null,
  until_at timestamptz(3) not null,
  count bigint not null,
  attempt bigint not null,
  fence bigint not null,
  ended_at timestamptz(3) not null,
  final boolean not null,
  namespace text collate "C" not null,
  cause text collate "C" not null,
  outcome text not null,
  owner text,
  started_at timestamptz(3),
  reason text,
  error json,
  result json,
  log_tail text
)`,

    `create unique index if not exists ${t.index('runs_final')}
  on ${t.runs} (job, scheduled_at, cause) where final`,
    `create index if not exists ${t.index('runs_job')}
  on ${t.runs} (job, id)`,
    `create index if not exists ${t.index('runs_extra')}
  on ${t.runs} (row_id) where row_id <> job`,

    `create table if not exists ${t.replicas} (
  namespace text collate "C" not null,
  id text collate "C" not null,
  host text not null,
  version text not null,
  release text not null,
  role text not null,
  tasks text[] not null,
  capacity bigint not null,
  running bigint not null default 0,
  draining boolean not null default false,
  clock_offset_ms double precision not null default 0,
  loop_lag_ms double precision not null default 0,
  started_at timestamptz(3) not null,
  seen_at timestamptz(3) not null,
  primary key (namespace, id)
)`,
  ]
}

function second(t: Tables): readonly string[] {
  return [
    `create or replace view ${t.leasesView} as
select name as "jobId",
       coalesce(owner, last_owner) as owner,
       acquired_at as "acquiredAt",
       case when owner is null then ended_at else due_at end as "expiredAt",
       namespace
from ${t.jobs}
where parent is null`,
  ]
}

/** What the user that Onetick runs as needs, where it is not the one that migrates. ROLE stands for it. */
export function grants(t: Tables): readonly string[] {
  const tables = [t.meta, t.jobs, t.asked, t.definitions, t.runs, t.replicas]
  return [
    `-- grant usage on schema "${t.schema}" to ROLE`,
    `-- grant select, insert, update, delete on ${tables.join(', ')} to ROLE`,
    `-- grant select on ${t.leasesView} to ROLE`,
  ]
}
