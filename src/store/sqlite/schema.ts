/**
 * The schema, as the steps that lead to it. A step is never changed once released: it is followed by another, and only adds,
 * so that code works one version back and ahead. Instants are epoch milliseconds, `Inf` for never; JSON is text.
 */
export interface SchemaStep {
  readonly version: number
  readonly statements: readonly string[]
}

/** The row of onetick_meta that holds the version. */
export const versionKey = 'schema_version'

export const steps: readonly SchemaStep[] = [
  {
    version: 1,
    statements: [
      `create table onetick_meta (
  key text primary key,
  value not null
) without rowid`,

      // autoincrement: the id of an extra row that is gone must not come back, the ledger still names it
      `create table onetick_jobs (
  id integer primary key autoincrement,
  namespace text not null,
  name text not null,
  task text not null,
  definition text not null,
  hash text not null,
  rev integer not null,
  jitter_ms integer not null,
  next_at integer not null,
  after_at integer,
  old_schedules text not null,
  scheduled_at integer,
  opened_at integer,
  cause text,
  attempt integer,
  failures integer,
  checkpoint text,
  due_at integer not null,
  owner text,
  claim_id text,
  fence integer not null,
  acquired_at integer,
  may_start integer not null,
  busy_from integer,
  busy_until integer,
  held_from integer,
  held_until integer,
  paused_at integer,
  paused_until integer,
  paused_by text,
  paused_why text,
  removed_at integer,
  asked integer not null,
  last_cause text not null,
  last_at integer,
  last_owner text,
  ended_at integer,
  cancel_fence integer,
  parent integer,
  parent_fence integer
)`,
      'create unique index onetick_jobs_name on onetick_jobs (namespace, name) where parent is null',
      'create unique index onetick_jobs_parent on onetick_jobs (namespace, parent, parent_fence) where parent is not null',
      // leases by name are never claimed: they stay out of the indexes, and cost one page to take and one to let go
      "create index onetick_jobs_due on onetick_jobs (namespace, task, due_at) where task <> '@lease'",
      "create index onetick_jobs_leased on onetick_jobs (namespace, task) where owner is not null and task <> '@lease'",
      "create index onetick_jobs_claimed on onetick_jobs (owner, claim_id) where owner is not null and task <> '@lease'",

      `create table onetick_asked (
  seq integer primary key autoincrement,
  job integer not null,
  id text not null,
  kind text not null,
  next_at integer not null,
  until_at integer not null,
  schedule text
)`,
      'create unique index onetick_asked_id on onetick_asked (job, id)',

      `create table onetick_definitions (
  job integer not null,
  release text not null,
  hash text not null,
  first_seen_at integer not null,
  primary key (job, release)
) without rowid`,

      `create table onetick_runs (
  id integer primary key autoincrement,
  row_id integer not null,
  job integer not null,
  cause text not null,
  scheduled_at integer not null,
  until_at integer not null,
  count integer not null,
  attempt integer not null,
  fence integer not null,
  owner text,
  started_at integer,
  ended_at integer not null,
  outcome text not null,
  final integer not null,
  reason text,
  error text,
  result text,
  log_tail text
)`,
      'create unique index onetick_runs_final on onetick_runs (job, cause, scheduled_at) where final = 1',
      'create index onetick_runs_fence on onetick_runs (row_id, fence)',
      'create index onetick_runs_job on onetick_runs (job)',

      `create table onetick_replicas (
  namespace text not null,
  id text not null,
  host text not null,
  version text not null,
  release text not null,
  role text not null,
  tasks text not null,
  capacity integer not null,
  running integer not null,
  draining integer not null,
  clock_offset_ms integer not null,
  loop_lag_ms integer not null,
  started_at integer not null,
  seen_at integer not null,
  primary key (namespace, id)
) without rowid`,
    ],
  },
  {
    version: 2,
    statements: [
      `create view cron_with_leases as
select
  name as "jobId",
  coalesce(owner, last_owner) as owner,
  strftime('%Y-%m-%dT%H:%M:%fZ', acquired_at / 1000.0, 'unixepoch') as "acquiredAt",
  strftime('%Y-%m-%dT%H:%M:%fZ', case when owner is null then ended_at else due_at end / 1000.0, 'unixepoch') as "expiredAt",
  namespace
from onetick_jobs
where parent is null`,
    ],
  },
]

/** What this code was written for. */
export const schemaVersion = 2
