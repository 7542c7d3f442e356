import type { Instant } from '../domain/timetable.ts'

/** What a store is like, whether or not promises can be kept on it: for `onetick doctor`. Asked without a schema, and without rights. */
export type Fitness = MemoryFitness | SqliteFitness | PostgresFitness

/** Why a replica refuses to start here, and what to do. Of PostgreSQL the text goes on behind the name of the server. */
export interface Refusal {
  readonly what: string
  readonly remedy: string
}

interface Common {
  readonly now: Instant
  readonly refusals: readonly Refusal[]
  /** `found` 0: no tables; null: this user may not look. */
  readonly schema: { readonly found: number | null; readonly wanted: number }
  /** Median of a few calls. */
  readonly latencyMs: number
  /** How far the store's clock is ahead of this host's, and how sure that is. */
  readonly clock: { readonly aheadMs: number; readonly withinMs: number }
}

export interface MemoryFitness extends Common {
  readonly kind: 'memory'
}

export interface SqliteFitness extends Common {
  readonly kind: 'sqlite'
  readonly isThere: boolean
  readonly version: string | null
  readonly journalMode: string | null
  readonly synchronous: 'full' | 'normal'
  /** Null: this host does not tell. */
  readonly fileSystem: { readonly type: string; readonly mountedAt: string } | null
  readonly freeBytes: number | null
}

export interface PostgresFitness extends Common {
  readonly kind: 'postgres'
  readonly user: string
  /** As `pg_settings` has them; times in milliseconds. */
  readonly settings: Readonly<Record<string, string>>
  readonly callTimeoutMs: number
  /** `insert on onetick_jobs`, …; `usage on schema public`. */
  readonly missingRights: readonly string[]
  readonly isEncrypted: boolean
  /** The server sees us on its own host. */
  readonly isLocal: boolean
  readonly standbys: number
  readonly connections: number
  /** `settings`: takes no settings at the start of a connection. Null: could not be found out. */
  readonly pooler: 'none' | 'transaction' | 'settings' | null
}

/** So many calls are timed. */
const timedCalls = 5

/** Times a call that answers with the store's now. */
export async function timed(
  clock: { now(): Instant; elapsedMs(): number },
  call: () => Promise<Instant>,
): Promise<Pick<Common, 'now' | 'latencyMs' | 'clock'>> {
  const looks: { readonly now: Instant; readonly tookMs: number; readonly aheadMs: number }[] = []
  for (let i = 0; i < timedCalls; i++) {
    const [sentAt, startMs] = [clock.now(), clock.elapsedMs()]
    const now = await call()
    const tookMs = clock.elapsedMs() - startMs
    looks.push({ now, tookMs, aheadMs: now - (sentAt + tookMs / 2) })
  }
  looks.sort((a, b) => a.tookMs - b.tookMs)
  const { aheadMs = 0, tookMs = 0 } = looks[0] ?? {}
  return {
    now: Math.max(...looks.map(({ now }) => now)),
    latencyMs: looks[Math.floor(timedCalls / 2)]?.tookMs ?? 0,
    // instants are whole milliseconds
    clock: { aheadMs, withinMs: tookMs / 2 + 1 },
  }
}
