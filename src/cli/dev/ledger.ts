import type { Clock } from '../../domain/clock.ts'
import type { JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { RunView, Store } from '../../store/store.ts'
import type { Session } from '../session.ts'
import type { Unsettled } from './audit.ts'

const pageSize = 1000
const mostPages = 1000

/** All of the ledger, page by page. */
export async function wholeLedger(session: Session, store: Store): Promise<RunView[]> {
  const lines: RunView[] = []
  for (let page = 0; page < mostPages; page++) {
    const before = lines.at(-1)?.id
    const filter = { limit: pageSize, ...(before === undefined ? {} : { before }) }
    const { runs } = await session.bounded('runs', () => store.read('runs', filter))
    lines.push(...runs)
    if (runs.length < pageSize) break
  }
  return lines
}

/** What has no verdict yet, of each job. */
export async function unsettledIn(session: Session, store: Store): Promise<Unsettled[]> {
  const { jobs: rows } = await session.bounded('jobs', () => store.read('jobs', { all: true }))
  return rows
    .filter(row => row.parent === null)
    .map(job => {
      const own = rows.filter(row => row.id === job.id || row.parent?.id === job.id)
      return { job: job.name, nextAt: job.nextAt, open: own.flatMap(({ open }) => (open?.cause === '' ? [open.scheduledAt] : [])) }
    })
}

const lookAgainMs = 200

export interface SettledOptions {
  readonly clock: Clock
  readonly until: Instant
  readonly limitMs: number
  /** What they run is left to their drain. */
  readonly isLive: (replicaId: string) => boolean
}

/** Waits until what came due by then has ended, or runs on a live replica; takeovers of the killed take a while. Not longer than the limit. */
export async function settled(session: Session, store: Store, { clock, until, limitMs, isLive }: SettledOptions): Promise<void> {
  const giveUpMs = clock.elapsedMs() + limitMs
  for (;;) {
    const { now, jobs } = await session.bounded('jobs', () => store.read('jobs', { all: true }))
    if (!jobs.some(row => isPending(row, until, now, isLive))) return
    if (clock.elapsedMs() >= giveUpMs) return
    await new Promise<void>(resolve => clock.after(lookAgainMs, resolve))
  }
}

function isPending({ nextAt, open, lease, dueAt }: JobRow, until: Instant, now: Instant, isLive: (replicaId: string) => boolean): boolean {
  if (nextAt <= until) return true
  if (open === null || open.scheduledAt > until) return false
  return lease === null || dueAt <= now || !isLive(lease.owner)
}
