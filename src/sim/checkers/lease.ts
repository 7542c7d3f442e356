import type { Instant } from '../../domain/timetable.ts'
import type { History, Leased } from '../history.ts'

/** A lease from its grant to its end, as the store's answers tell it. */
export interface LeaseSpan {
  readonly granted: Leased
  readonly rowId: number
  readonly job: string
  readonly fence: number
  readonly owner: string
  readonly from: Instant
  /** When it last was granted or renewed, and until when that held. */
  confirmedAt: Instant
  expiresAt: Instant
  /** When its holder let it go; null: it ran out. */
  releasedAt: Instant | null
  /** The occurrence that it was for, once one may start. */
  open: Leased['open']
  /** When it was known to be for that. */
  openedAt: Instant
  mayStart: boolean
}

/** All leases, in the order of their grants. */
export function leasesOf(history: History): LeaseSpan[] {
  const spans: LeaseSpan[] = []
  const current = new Map<number, LeaseSpan>()
  let planning: LeaseSpan | null = null
  for (const event of history.events) {
    switch (event.kind) {
      case 'leased': {
        const span = current.get(event.rowId)
        if (span !== undefined && span.fence === event.fence && span.releasedAt === null) {
          // the plan opened an occurrence under the lease that was had
          Object.assign(span, {
            open: event.open,
            openedAt: event.at,
            mayStart: event.mayStart,
            expiresAt: Math.max(span.expiresAt, event.expiresAt),
          })
        } else {
          // the plan gave the occurrence an extra row: the job's own is free again
          if (event.isExtra && event.by === 'plan' && planning !== null && planning.rowId !== event.rowId) planning.releasedAt ??= event.at
          const { rowId, job, fence, owner, at, expiresAt, open, mayStart } = event
          const fresh = {
            granted: event,
            rowId,
            job,
            fence,
            owner,
            from: at,
            confirmedAt: at,
            expiresAt,
            releasedAt: null,
            open,
            openedAt: at,
            mayStart,
          }
          current.set(rowId, fresh)
          spans.push(fresh)
        }
        break
      }
      case 'renewed': {
        const span = current.get(event.rowId)
        if (span?.fence === event.fence) Object.assign(span, { confirmedAt: event.at, expiresAt: event.expiresAt })
        break
      }
      case 'settled': {
        const span = current.get(event.rowId)
        planning = null
        if (span?.fence !== event.fence) break
        if (event.result === 'settled') span.releasedAt ??= event.at
        else if (event.result === 'granted') planning = span
        break
      }
      default:
    }
  }
  return spans
}

/** When it no longer kept others out. */
export function endOf(span: LeaseSpan): Instant {
  return span.releasedAt === null ? span.expiresAt : Math.min(span.releasedAt, span.expiresAt)
}

/** By job, in the order of their grants. */
export function byJob(spans: readonly LeaseSpan[]): Map<string, LeaseSpan[]> {
  const jobs = new Map<string, LeaseSpan[]>()
  for (const span of spans) {
    const own = jobs.get(span.job)
    if (own === undefined) jobs.set(span.job, [span])
    else own.push(span)
  }
  return jobs
}

export function named({ job, fence, owner, open }: Pick<LeaseSpan, 'job' | 'fence' | 'owner' | 'open'>): string {
  return `${job} ${open === null ? 'unplanned' : `${open.cause}/${open.scheduledAt} attempt ${open.attempt}`}, fence ${fence} of ${owner}`
}
