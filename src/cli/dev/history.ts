import type { HandlerRun } from './messages.ts'

/** One start of a handler, as its own process told of it. */
export interface SeenRun extends HandlerRun {
  readonly replicaId: string
  /** Null: it never came back. */
  returned: 'done' | 'threw' | null
  /** Whether its process lived to hear what the store said to its end. */
  isHeard: boolean
  /** Its process was killed before that. */
  isKilled: boolean
}

/** What the handlers did, kept apart from what the ledger says, so that the one can be held against the other. */
export class History {
  readonly #runs: Map<string, SeenRun> = new Map()

  get runs(): readonly SeenRun[] {
    return [...this.#runs.values()]
  }

  started(replicaId: string, { job, cause, scheduledAt, attempt, fence }: HandlerRun): void {
    const run = { replicaId, job, cause, scheduledAt, attempt, fence, returned: null, isHeard: false, isKilled: false }
    this.#runs.set(keyOf(replicaId, run), run)
  }

  returned(replicaId: string, run: HandlerRun & { readonly threw: boolean }): void {
    this.#change(replicaId, run, seen => {
      seen.returned = run.threw ? 'threw' : 'done'
    })
  }

  heard(replicaId: string, run: HandlerRun): void {
    this.#change(replicaId, run, seen => {
      seen.isHeard = true
    })
  }

  killed(replicaId: string): void {
    for (const run of this.#runs.values()) if (run.replicaId === replicaId && !run.isHeard) run.isKilled = true
  }

  /** What that replica is doing just now. */
  runningOn(replicaId: string): readonly SeenRun[] {
    return this.runs.filter(run => run.replicaId === replicaId && run.returned === null && !run.isKilled)
  }

  #change(replicaId: string, run: HandlerRun, change: (seen: SeenRun) => void): void {
    const seen = this.#runs.get(keyOf(replicaId, run))
    if (seen !== undefined) change(seen)
  }
}

function keyOf(replicaId: string, { job, cause, scheduledAt, fence }: HandlerRun): string {
  return JSON.stringify([replicaId, job, cause, scheduledAt, fence])
}
