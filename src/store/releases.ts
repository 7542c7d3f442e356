import { type Declaration, declared, isInForce } from '../domain/declare.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import { leaseTask } from '../domain/job.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Book } from './book.ts'
import type { DeclareReply, DeclareRequest } from './store.ts'

/** What a replica says of its jobs, over a Book: called inside one transaction, with the store's now. */
export function declare(book: Book, request: DeclareRequest, now: Instant): DeclareReply {
  book.saveReplica(request.replica, now)
  const live = book.liveReleases(now - request.liveForMs)
  return { now, results: request.jobs.map(job => declareOne(book, request, job, live, now)) }
}

function declareOne(
  book: Book,
  { replica, atRunTime }: DeclareRequest,
  job: Declaration,
  live: ReadonlySet<string>,
  now: Instant,
): DeclareReply['results'][number] {
  const row = book.rowNamed(job.name)
  if (row?.task === leaseTask) throw new OnetickError('ONETICK_NAME_TAKEN', `${quoted(job.name)} is a lease by name.`)
  const done = declared(row ?? null, job, now)
  if (done.kind === 'late') return 'late'
  if (done.kind === 'new') {
    const made = book.insert(done.row)
    if (!atRunTime) book.seeRelease(made.id, { release: replica.release, hash: job.hash, firstSeenAt: now })
    return 'new'
  }
  if (row !== undefined && !atRunTime) {
    const known = book.seeRelease(row.id, { release: replica.release, hash: job.hash, firstSeenAt: now })
    const mine = known.find(({ release }) => release === replica.release)
    if (mine === undefined || !isInForce(mine, known, live)) return 'overruled'
  }
  if (done.kind === 'unchanged') return 'unchanged'
  book.update(done.row)
  return 'edited'
}
