import { acquired, claimed, fairShare, leftoverMs } from '../domain/claim.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import { type JobRow, leaseTask } from '../domain/job.ts'
import type { Json } from '../domain/json.ts'
import type { AskStep } from '../domain/plan.ts'
import { planned } from '../domain/planned.ts'
import { holds, settled } from '../domain/settle.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Book, DueFilter } from './book.ts'
import type {
  AcquireReply,
  AcquireRequest,
  ClaimReply,
  ClaimRequest,
  Grant,
  Held,
  PlanSettlement,
  Renewed,
  RenewReply,
  RenewRequest,
  RunSettlement,
  SettleItem,
  SettleReply,
  SettleRequest,
  SettleResult,
} from './store.ts'

/** The verbs over a Book: each is called inside one transaction, with the store's now. */

export function claim(book: Book, request: ClaimRequest, now: Instant): ClaimReply {
  const { owner, claimId, tasks } = request
  book.seeReplica(owner, request.presence, now)
  const again = book.claimedBy(owner, claimId, now)
  const rows = again.length > 0 || now > request.notAfter ? again : claimDue(book, request, now)
  return {
    now,
    grants: rows.map(row => grantOf(book, row)),
    nextDueAt: book.nextDueAt(tasks, now),
    moreDue: book.countDue({ tasks, now, except: request.except, cap: 1 }) > 0,
    anyLeased: rows.length > 0 || book.anyLeased(tasks, now),
  }
}

function claimDue(book: Book, request: ClaimRequest, now: Instant): JobRow[] {
  const due: DueFilter = { tasks: request.tasks, now, except: request.except }
  const live = book.countLive(request.tasks, now - request.liveForMs)
  const limit = fairShare({
    free: request.limit,
    live,
    due: book.countDue({ ...due, cap: request.limit * Math.max(1, live) }),
    leftOver: book.countDue({ ...due, now: now - leftoverMs, cap: request.limit }),
  })
  const rows: JobRow[] = []
  for (const row of book.due({ ...due, limit })) {
    const got = claimed(row, request, now)
    for (const line of got.lines) book.append(line)
    book.update(got.row)
    if (got.granted) rows.push(got.row)
  }
  return rows
}

export function acquire(book: Book, request: AcquireRequest, now: Instant): AcquireReply {
  if (now > request.notAfter) return { now, kind: 'refused' }
  const row = book.rowNamed(request.name) ?? book.insert(freshLease(request.name, now))
  if (row.task !== leaseTask) throw new OnetickError('ONETICK_JOB_SCHEDULED', `${quoted(request.name)} is a scheduled job.`)
  const got = acquired(row, request, now)
  if (got.kind !== 'granted') return { now, ...got }
  for (const line of got.lines) book.append(line)
  book.update(got.row)
  return { now, kind: 'granted', row: got.row }
}

export function renew(book: Book, request: RenewRequest, now: Instant): RenewReply {
  return { now, leases: request.leases.map(lease => renewOne(book, request, lease, now)) }
}

function renewOne(book: Book, { owner, ttlMs }: RenewRequest, lease: RenewRequest['leases'][number], now: Instant): Renewed {
  const { rowId, fence } = lease
  const row = book.row(rowId)
  if (!holds(row, { owner, fence }) || row.dueAt <= now) {
    return { rowId, fence, state: 'lost', dueAt: now, rev: 0, nextAt: Number.POSITIVE_INFINITY, cancelled: false }
  }
  const dueAt = now + ttlMs
  book.update({ ...row, dueAt })
  return { rowId, fence, state: 'held', dueAt, rev: row.rev, nextAt: row.nextAt, cancelled: row.cancelFence === fence }
}

export function settle(book: Book, request: SettleRequest, now: Instant): SettleReply {
  return { now, results: request.items.map(item => settleOne(book, request.owner, item, now)) }
}

function settleOne(book: Book, owner: string, item: SettleItem, now: Instant): SettleResult {
  const row = book.row(item.rowId)
  const isHeld = holds(row, { owner, fence: item.fence })
  switch (item.kind) {
    case 'run':
      return isHeld && row.lease?.mayStart ? settleRun(book, row, item, now) : settledBefore(book, item)
    case 'plan':
      return isHeld ? settlePlan(book, owner, row, item, now) : plannedBefore(book, owner, item)
  }
}

function settleRun(book: Book, row: JobRow, item: RunSettlement, now: Instant): SettleResult {
  const done = settled(row, item.end, now)
  for (const line of done.lines) book.append(line)
  if (done.row === null) book.delete(row.id)
  else book.update(done.row)
  return { kind: 'settled' }
}

/** S7: a settle whose reply was lost is found again in the ledger, also after the row went on. */
function settledBefore(book: Book, { rowId, fence, occurrence }: RunSettlement): SettleResult {
  return { kind: occurrence !== null && book.isSettled({ rowId, fence, ...occurrence }) ? 'already' : 'lost' }
}

function settlePlan(book: Book, owner: string, row: JobRow, item: PlanSettlement, now: Instant): SettleResult {
  const wasGranted = row.lease?.mayStart === true
  // S8: what is opened under a lease that has run out would count as an attempt that nobody made
  if (!wasGranted && row.dueAt <= now) return plannedBefore(book, owner, item)
  const done = planned(row, item.plan, item, now)
  if (done.kind === 'stale') return { kind: 'stale', grant: grantOf(book, done.row) }
  if (wasGranted) return { kind: 'granted', grant: grantOf(book, row) }
  for (const line of item.plan.lines) book.append(line)
  if (item.plan.then.kind === 'open' && item.plan.then.ask !== null) stepAsk(book, row.id, item.plan.then.ask)
  switch (done.kind) {
    case 'gone':
      book.delete(row.id)
      return { kind: 'settled' }
    case 'freed':
      book.update(done.row)
      return { kind: 'settled' }
    case 'granted':
      book.update(done.row)
      return { kind: 'granted', grant: grantOf(book, done.row) }
    case 'spawned':
      book.update(done.row)
      return { kind: 'granted', grant: grantOf(book, book.insert(done.child)) }
  }
}

/** A plan that was written down, its reply lost: the extra row it made is returned again, unless that has been claimed since. */
function plannedBefore(book: Book, owner: string, { rowId, fence, claimId, plan }: PlanSettlement): SettleResult {
  const child = book.childOf(rowId, fence)
  const lease = child?.lease
  if (child !== undefined && lease?.owner === owner && lease.claimId === claimId && lease.mayStart) {
    return { kind: 'granted', grant: grantOf(book, child) }
  }
  return { kind: plan.lines.some(line => book.isSettled({ ...line, rowId, fence })) ? 'already' : 'lost' }
}

function stepAsk(book: Book, jobId: number, { id, nextAt }: AskStep): void {
  if (nextAt === null) book.deleteAsk(jobId, id)
  else book.moveAsk(jobId, id, nextAt)
}

export function checkpoint(book: Book, held: Held, value: Json, now: Instant): boolean {
  const row = book.row(held.rowId)
  if (!holds(row, held) || !row.lease?.mayStart || row.open === null || row.dueAt <= now) return false
  book.update({ ...row, open: { ...row.open, checkpoint: value } })
  return true
}

function grantOf(book: Book, row: JobRow): Grant {
  if (row.asked === 0 || row.parent !== null) return { row, manual: null, backfill: null }
  return { row, manual: book.oldestAsk(row.id, 'manual'), backfill: book.oldestAsk(row.id, 'backfill') }
}

function freshLease(name: string, now: Instant): Omit<JobRow, 'id'> {
  const never = Number.POSITIVE_INFINITY
  return {
    name,
    task: leaseTask,
    definition: {
      schedule: null,
      policy: {
        overlap: 'skip',
        misfire: 'latest',
        windowMs: 0,
        misfireLimit: 1,
        takeOver: true,
        maxAttempts: Number.MAX_SAFE_INTEGER,
        retries: 0,
        strategy: 'race',
        jitterMs: 0,
      },
      backoffMs: 0,
      backoffMaxMs: 0,
      data: null,
    },
    hash: '',
    rev: 1,
    nextAt: never,
    afterAt: never,
    oldSchedules: [],
    open: null,
    dueAt: now,
    fence: 0,
    lease: null,
    acquiredAt: null,
    busy: null,
    held: null,
    pause: null,
    removedAt: null,
    asked: 0,
    lastCause: '',
    lastAt: null,
    lastOwner: null,
    endedAt: null,
    cancelFence: null,
    parent: null,
  }
}
