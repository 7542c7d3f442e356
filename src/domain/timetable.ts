/** An instant: whole milliseconds since the epoch. `Infinity`: never. */
export type Instant = number

/** What to do with local times that a clock change skips or repeats. Defaults: gap `shift`, fold `first`. */
export interface DstPolicy {
  /** A fixed local time that does not exist that day: `shift` to the first instant after the gap (once), or `skip` it. */
  readonly gap?: 'shift' | 'skip'
  /** A fixed local time that comes twice that day: run at the `first` pass, the `last`, or `both`. */
  readonly fold?: 'first' | 'last' | 'both'
}

/** When a job is to run, as text; stored with the job so that replicas of two releases read the same. */
export interface Schedule {
  /** Cron of 5, 6 or 7 fields, a nickname (`@daily`), `every 30s`, or one instant (`2027-01-01T00:00:00Z`). */
  readonly schedule: string
  /** IANA name; default `UTC`, never the host's. */
  readonly timeZone?: string
  readonly dst?: DstPolicy
}

/** A compiled schedule. Its instants are strictly increasing. */
export interface Timetable {
  /** The first instant later than `after` (exclusive, milliseconds honoured), or `Infinity` when there is none. */
  next(after: Instant): Instant
}

/** Compiles what a row stores. */
export type Compile = (schedule: Schedule) => Timetable
