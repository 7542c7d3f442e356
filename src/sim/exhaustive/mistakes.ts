import type { JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { Book } from '../../store/book.ts'
import type { ClaimRequest } from '../../store/store.ts'
import type { Promised } from '../history.ts'
import type { Verbs } from './keeping.ts'
import type { Reply, Request } from './state.ts'

/** A mistake that somebody could make, built around the verbs or around the wire, never into the code. */
export interface Mistake {
  readonly name: string
  /** The promise that it breaks. */
  readonly promise: Promised
  /** The setting in which it shows. */
  readonly setting: string
  readonly verbs?: (shipped: Verbs) => Verbs
  readonly sent?: (request: Request, now: Instant) => Request
  readonly heard?: (reply: Reply, sentAt: Instant, now: Instant) => Reply
}

/** The job's own row. */
const job = 1

export const mistakes: readonly Mistake[] = [
  {
    name: 'early expiry',
    promise: 'S1',
    setting: 'two attempts, slow calls',
    verbs: claiming((book, now) =>
      changed(book, row => row.lease !== null && row.dueAt <= now + 2 && { ...row, dueAt: Math.min(row.dueAt, now) }),
    ),
  },
  {
    name: 'fence not raised',
    promise: 'S3',
    setting: 'two attempts',
    verbs: shipped => ({
      ...shipped,
      claim: (book, request, now) => {
        const fence = Math.max(1, book.row(job)?.fence ?? 0)
        const reply = shipped.claim(book, request, now)
        const grants = reply.grants.map(grant => ({ ...grant, row: { ...grant.row, fence } }))
        for (const { row } of grants) book.update(row)
        return { ...reply, grants }
      },
    }),
  },
  {
    name: 'settle ignores the fence',
    promise: 'S4',
    setting: 'two attempts',
    verbs: shipped => ({
      ...shipped,
      settle: (book, request, now) => {
        const row = book.row(job)
        const isRun = request.items.every(({ kind }) => kind === 'run')
        if (!isRun || row?.lease?.mayStart !== true) return shipped.settle(book, request, now)
        return shipped.settle(book, { owner: row.lease.owner, items: request.items.map(item => ({ ...item, fence: row.fence })) }, now)
      },
    }),
  },
  {
    name: 'renew ignores the fence',
    promise: 'S4',
    setting: 'two attempts',
    verbs: shipped => ({
      ...shipped,
      renew: (book, request, now) => {
        const { lease, fence } = book.row(job) ?? { lease: null, fence: 0 }
        if (lease === null) return shipped.renew(book, request, now)
        const forged = { ...request, owner: lease.owner, leases: request.leases.map(held => ({ ...held, fence })) }
        const reply = shipped.renew(book, forged, now)
        return { ...reply, leases: reply.leases.map((renewed, index) => ({ ...renewed, fence: request.leases[index]?.fence ?? fence })) }
      },
    }),
  },
  {
    name: 'a lease that ran out is renewed',
    promise: 'S4',
    setting: 'two attempts',
    verbs: shipped => ({
      ...shipped,
      renew: (book, request, now) => {
        changed(book, row => row.lease !== null && row.dueAt <= now && { ...row, dueAt: now + 1 })
        return shipped.renew(book, request, now)
      },
    }),
  },
  {
    name: 'settled, and left open',
    promise: 'S2',
    setting: 'two attempts',
    verbs: shipped => ({
      ...shipped,
      settle: (book, request, now) => {
        const open = book.row(job)?.open ?? null
        const reply = shipped.settle(book, request, now)
        if (reply.results.some(({ kind }) => kind === 'settled')) changed(book, row => row.open === null && { ...row, open, dueAt: now })
        return reply
      },
    }),
  },
  {
    name: 'attempts are not counted',
    promise: 'S8',
    setting: 'one attempt',
    verbs: claiming(book =>
      changed(book, row => ({ ...row, definition: { ...row.definition, policy: { ...row.definition.policy, maxAttempts: 99 } } })),
    ),
  },
  {
    name: 'a plan is written under an expired lease',
    promise: 'S8',
    setting: 'runs beside each other',
    verbs: shipped => ({
      ...shipped,
      settle: (book, request, now) => {
        const isPlan = request.items.some(({ kind, fence }) => kind === 'plan' && fence === book.row(job)?.fence)
        changed(book, row => isPlan && row.lease?.mayStart === false && row.dueAt <= now && { ...row, dueAt: now + 1 })
        return shipped.settle(book, request, now)
      },
    }),
  },
  {
    name: 'no takeover',
    promise: 'L1',
    setting: 'two attempts',
    verbs: shipped => ({
      ...shipped,
      claim: (book, request, now) => shipped.claim(book, book.row(job)?.lease == null ? request : { ...request, except: [job] }, now),
    }),
  },
  {
    name: 'no catch-up',
    promise: 'L3',
    setting: 'two attempts',
    verbs: claiming((book, now) =>
      changed(
        book,
        row =>
          row.open === null &&
          row.lease === null &&
          (row.afterAt ?? now + 1) <= now && { ...row, nextAt: row.afterAt ?? now, afterAt: null },
      ),
    ),
  },
  {
    name: 'settle is not looked up in the ledger',
    promise: 'S7',
    setting: 'two attempts',
    verbs: shipped => ({
      ...shipped,
      settle: (book, request, now) => {
        const reply = shipped.settle(book, request, now)
        return { ...reply, results: reply.results.map(result => (result.kind === 'already' ? { kind: 'lost' } : result)) }
      },
    }),
  },
  {
    name: 'no attempt id',
    promise: 'S7',
    setting: 'two attempts',
    sent: asking((claim, now) => ({ ...claim, claimId: `${claim.claimId}${now}` })),
  },
  {
    name: 'no not_after on claims',
    promise: 'S7',
    setting: 'two attempts',
    sent: asking(claim => ({ ...claim, notAfter: Number.POSITIVE_INFINITY })),
  },
  {
    name: 'no self-fencing',
    promise: 'S5',
    setting: 'two attempts',
    heard: granted(() => 1000),
  },
  {
    name: 'deadline counted from the reply',
    promise: 'S5',
    setting: 'two attempts, slow calls',
    heard: granted((sentAt, now) => now - sentAt),
  },
  {
    name: 'claims what its own handler runs',
    promise: 'L5',
    setting: 'room for two runs',
    sent: asking(claim => ({ ...claim, except: [] })),
  },
]

/** Something is done to the book before each claim. */
function claiming(spoil: (book: Book, now: Instant) => void): (shipped: Verbs) => Verbs {
  return shipped => ({
    ...shipped,
    claim: (book, request, now) => {
      spoil(book, now)
      return shipped.claim(book, request, now)
    },
  })
}

function changed(book: Book, change: (row: JobRow) => JobRow | false): void {
  const row = book.row(job)
  const next = row === undefined ? false : change(row)
  if (next !== false) book.update(next)
}

function asking(change: (claim: ClaimRequest, now: Instant) => ClaimRequest): (request: Request, now: Instant) => Request {
  return (request, now) => (request.verb === 'claim' ? { verb: 'claim', body: change(request.body, now) } : request)
}

/** Leases look longer to their holder than they are. */
function granted(byMs: (sentAt: Instant, now: Instant) => number): (reply: Reply, sentAt: Instant, now: Instant) => Reply {
  return (reply, sentAt, now) => {
    if (reply.verb !== 'claim') return reply
    const grants = reply.body.grants.map(grant => ({ ...grant, row: { ...grant.row, dueAt: grant.row.dueAt + byMs(sentAt, now) } }))
    return { verb: 'claim', body: { ...reply.body, grants } }
  }
}
