import type { Clock } from '../../domain/clock.ts'
import { OnetickError } from '../../domain/errors.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { Held } from '../store.ts'
import type { Connection } from './connection.ts'
import type { Database } from './database.ts'

/** Of what remains of the lease. A writing transaction stops all writers, every replica's renewals too. */
const share = 1 / 3

interface Fencing {
  readonly database: Database
  readonly namespace: string
  readonly clock: Clock
  /** The transaction may not last longer in any case. */
  readonly longestMs: number
}

/** S6: what `body` writes through the driver's own connection commits only while the lease is held, or not at all. */
export function fenced<T>(by: Fencing, held: Held, body: (connection: unknown) => Promise<T>): Promise<T> {
  return by.database.hold({
    begin: (connection, now) => (expiryOf(connection, by.namespace, held, now) - now) * share,
    body: (connection, remainingMs) => within(by.clock, Math.min(remainingMs, by.longestMs), body(connection.native)),
    // others cannot have claimed the row meanwhile, but the lease may have run out
    end: (connection, now) => expiryOf(connection, by.namespace, held, now),
  })
}

function expiryOf(connection: Connection, namespace: string, { rowId, owner, fence }: Held, now: Instant): Instant {
  const lease = connection.get<{ due_at: Instant }>(
    `select due_at
from onetick_jobs
where id = ?
  and namespace = ?
  and owner = ?
  and fence = ?
  and may_start = 1
  and due_at > ?`,
    rowId,
    namespace,
    owner,
    fence,
    now,
  )
  if (lease === undefined) throw new OnetickError('ONETICK_FENCED_OFF', `The lease with fence ${fence} is over.`)
  return lease.due_at
}

async function within<T>(clock: Clock, limitMs: number, work: Promise<T>): Promise<T> {
  let cancel = (): void => {}
  const late = new Promise<never>((_, reject) => {
    cancel = clock.after(limitMs, () => {
      const detail = `The transaction was still open after ${Math.round(limitMs)} ms.`
      reject(
        new OnetickError('ONETICK_FENCED_OFF', detail, { remedy: 'Nothing was written. Keep it short: on SQLite it stops all writers.' }),
      )
    })
  })
  try {
    return await Promise.race([work, late])
  } finally {
    cancel()
  }
}
