/** What happens to an occurrence that comes due while the job still runs. */
export type Overlap = 'skip' | 'queue' | 'replace' | 'allow'

/** What happens to occurrences that came due while nobody could run them. */
export type Misfire = 'latest' | 'skip' | 'all'

/** A job's rules, resolved: what `claim` and `plan` read. Stored with the job, so all replicas judge alike. */
export interface Policy {
  readonly overlap: Overlap
  readonly misfire: Misfire
  /** An occurrence later than this is missed, not run. Judges the first start only. */
  readonly windowMs: number
  /** With misfire `all`: how many waiting occurrences are run at most; earlier ones are superseded. */
  readonly misfireLimit: number
  /** Whether an occurrence whose holder vanished is started again. */
  readonly takeOver: boolean
  /** S8: granted starts an occurrence may have, takeovers included. */
  readonly maxAttempts: number
  /** S8: further starts after a throw. */
  readonly retries: number
  /** Who asks; the store still decides who gets. */
  readonly strategy: 'race'
  /** A fixed delay of this job's instants, so that jobs of one minute do not all start at once. */
  readonly jitterMs: number
}
