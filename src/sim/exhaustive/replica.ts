import type { JobRow } from '../../domain/job.ts'
import { plan } from '../../domain/plan.ts'
import { successorOf } from '../../domain/successor.ts'
import type { Instant } from '../../domain/timetable.ts'
import { endOf, type Returned } from '../../execution/run.ts'
import type { ClaimReply, RenewReply, SettleItem, SettleReply } from '../../store/store.ts'
import type { Slot } from './calls.ts'
import { held, isTrusted, renewed, rowsInUse, rowsOf, stoppedFor, withHold, without } from './holds.ts'
import type { Model } from './model.ts'
import { type Call, type Claiming, claimIdOf, type Hold, ownerOf, type Replica, type Request } from './state.ts'

/**
 * A replica's own steps: the rules of the shipped `Claims`, `Settler`, `Heartbeat` and `Runner`, without their promises and
 * timers. What they decide by is shipped code: `Holding`, `plan`, `endOf`.
 */

/** What a replica becomes, and the handlers that it has started. */
export interface Stepped {
  readonly replica: Replica
  readonly started: readonly Hold[]
}

/** S7: an ask that was not answered is repeated under its id, until it can no longer reach the store. */
export function asks(replica: Replica, model: Model, now: Instant): Replica {
  const { leaseMs, callTimeoutMs, capacity } = model.setting
  const { claims, holds } = replica
  const isNew = claims.unsureUntil === null
  const asking: Replica = {
    ...replica,
    askedAt: now,
    claims: {
      id: isNew ? claims.id + 1 : claims.id,
      told: isNew ? [] : claims.told,
      unsureBefore: claims.unsureUntil,
      unsureUntil: now + callTimeoutMs,
    },
  }
  const body = {
    owner: ownerOf(replica),
    claimId: claimIdOf(asking),
    tasks: ['job'],
    limit: Math.max(0, capacity - rowsOf(holds).length),
    ttlMs: leaseMs,
    notAfter: now + callTimeoutMs,
    except: rowsInUse(replica, now),
    liveForMs: leaseMs,
    presence: { running: holds.length, draining: false, clockOffsetMs: 0, loopLagMs: 0 },
  }
  return { ...asking, ask: call({ verb: 'claim', body }, model, now) }
}

export function hearsClaim(replica: Replica, reply: ClaimReply, model: Model, now: Instant): Stepped {
  const { claims, ask } = replica
  const { unsureBefore } = claims
  const isUnsure = unsureBefore !== null && reply.now <= unsureBefore
  const fresh = reply.grants.filter(({ row }) => isNews(claims, row))
  let next: Replica = {
    ...replica,
    ask: null,
    claims: {
      ...claims,
      unsureBefore: null,
      unsureUntil: isUnsure ? unsureBefore : null,
      told: [...claims.told, ...fresh.map(({ row: { id: rowId, fence } }) => ({ rowId, fence }))],
    },
  }
  const started: Hold[] = []
  for (const grant of fresh) {
    // S5: counted from before the ask was sent
    const hold = held(grant, (ask?.sentAt ?? now) + grant.row.dueAt - reply.now, reply.now)
    const carried = carries(next, hold, model, now)
    next = carried.replica
    started.push(...carried.started)
  }
  const isFirst = fresh.length > 0 && next.beatAt === null && next.beat === null
  return { replica: isFirst ? { ...next, beatAt: now + model.setting.heartbeatMs } : next, started }
}

/** Its ask, its heartbeat or a settle has had no answer in time. */
export function givesUp(replica: Replica, slot: Slot, model: Model, now: Instant): Replica {
  const { heartbeatMs, leaseMs } = model.setting
  if (slot === 'ask') return { ...replica, ask: null, claims: { ...replica.claims, unsureBefore: null } }
  if (slot === 'beat') return { ...replica, beat: null, beatAt: beatsAgain(replica, now + Math.floor(heartbeatMs / 4)) }
  const hold = replica.holds[slot]
  if (hold?.settle?.request.verb !== 'settle') return replica
  // S7: a plan is asked for until an extra row of it would be gone, the end of a run for ever
  if (hold.stage === 'planning' && now >= hold.deadlineMs + leaseMs) return flushed(freed(without(replica, hold)), model, now)
  const [waiting = null] = hold.settle.request.body.items
  return flushed(withHold(replica, { ...hold, settle: null, waiting, hasFailed: true }), model, now)
}

export function beats(replica: Replica, model: Model, now: Instant): Replica {
  const leases = replica.holds.filter(({ isLost }) => !isLost).map(({ row }) => ({ rowId: row.id, fence: row.fence }))
  if (leases.length === 0) return { ...replica, beatAt: null }
  const body = { owner: ownerOf(replica), ttlMs: model.setting.leaseMs, leases }
  return { ...replica, beatAt: null, beat: call({ verb: 'renew', body }, model, now) }
}

export function hearsRenew(replica: Replica, reply: RenewReply, model: Model, now: Instant): Replica {
  const sentAt = replica.beat?.sentAt ?? now
  const holds = replica.holds.map(hold => {
    const lease = reply.leases.find(({ rowId, fence }) => rowId === hold.row.id && fence === hold.row.fence)
    if (lease === undefined) return hold
    if (lease.state === 'lost') return { ...hold, isLost: true, abortReason: hold.abortReason ?? 'leaseLost' }
    return renewed(hold, sentAt + lease.dueAt - reply.now)
  })
  return { ...replica, holds, beat: null, beatAt: beatsAgain(replica, now + model.setting.heartbeatMs) }
}

export function hearsSettle(replica: Replica, hold: Hold, reply: SettleReply, model: Model, now: Instant): Stepped {
  const next = hold.stage === 'planning' ? hearsPlanned(replica, hold, reply, model, now) : null
  const { replica: heard, started } = next ?? { replica: freed(without(replica, hold)), started: [] }
  return { replica: flushed(heard, model, now), started }
}

/** Null: there is nothing to start. */
function hearsPlanned(replica: Replica, hold: Hold, reply: SettleReply, model: Model, now: Instant): Stepped | null {
  const [result] = reply.results
  const rest = without(replica, hold)
  if (result?.kind === 'stale')
    return carries(rest, { ...hold, seen: result.grant, seenAt: reply.now, settle: null, hasFailed: false }, model, now)
  if (result?.kind !== 'granted') return null
  const { row } = result.grant
  if (row.id === hold.row.id) return starts(rest, { ...hold, row }, now)
  // overlap `allow`: a holding of its own, unless a repeated ask has told of it before (S2)
  if (!isNews(replica.claims, row) || replica.holds.some(other => other.row.id === row.id)) return null
  const claims = { ...rest.claims, told: [...rest.claims.told, { rowId: row.id, fence: row.fence }] }
  return starts({ ...rest, claims }, held(result.grant, (hold.settle?.sentAt ?? now) + row.dueAt - reply.now, reply.now), now)
}

/** The handler came back; the run's end is sent. */
export function ends(replica: Replica, hold: Hold, outcome: 'returned' | 'threw', model: Model, now: Instant): Replica {
  const returned: Returned = outcome === 'returned' ? { kind: 'returned' } : { kind: 'threw', error }
  const { row } = hold
  const end = endOf(stoppedFor(hold), returned, successorOf(row, model.compile), evenly)
  const occurrence = row.open === null ? null : { cause: row.open.cause, scheduledAt: row.open.scheduledAt }
  const waiting: SettleItem = { kind: 'run', rowId: row.id, fence: row.fence, occurrence, end }
  return flushed(withHold(replica, { ...hold, stage: 'settling', waiting }), model, now)
}

/** Timers that were due have gone off: what is no longer trusted is aborted. */
export function notices(replica: Replica, now: Instant): Replica {
  const isOver = (hold: Hold): boolean => hold.stage !== 'settling' && hold.abortReason === null && !isTrusted(hold, now)
  if (!replica.holds.some(isOver)) return replica
  return { ...replica, holds: replica.holds.map(hold => (isOver(hold) ? { ...hold, abortReason: 'leaseLost' } : hold)) }
}

function carries(replica: Replica, hold: Hold, model: Model, now: Instant): Stepped {
  const { row } = hold.seen
  if (row.lease?.mayStart) return starts(replica, hold, now)
  const waiting: SettleItem = {
    kind: 'plan',
    rowId: row.id,
    fence: row.fence,
    claimId: claimIdOf(replica),
    ttlMs: model.setting.leaseMs,
    plan: plan(row, hold.seen, hold.seenAt, model.compile),
  }
  return { replica: flushed({ ...replica, holds: [...replica.holds, { ...hold, waiting }] }, model, now), started: [] }
}

/** I4: nothing starts after the local deadline. */
function starts(replica: Replica, hold: Hold, now: Instant): Stepped {
  if (!isTrusted(hold, now)) return { replica: freed(replica), started: [] }
  const running: Hold = { ...hold, stage: 'running', startedAt: now, settle: null, hasFailed: false }
  return { replica: { ...replica, holds: [...replica.holds, running] }, started: [running] }
}

/** One settle is under way at a time; what has failed before is sent after the rest. */
function flushed(replica: Replica, model: Model, now: Instant): Replica {
  const { holds } = replica
  if (holds.some(({ settle }) => settle !== null)) return replica
  const hold = holds.find(({ waiting, hasFailed }) => waiting !== null && !hasFailed) ?? holds.find(({ waiting }) => waiting !== null)
  if (hold === undefined || hold.waiting === null) return replica
  const body = { owner: ownerOf(replica), items: [hold.waiting] }
  return withHold(replica, { ...hold, waiting: null, settle: call({ verb: 'settle', body }, model, now) })
}

/** A slot is free: it asks at once if anything is due. */
function freed(replica: Replica): Replica {
  return { ...replica, askedAt: -1, beatAt: beatsAgain(replica, replica.beatAt) }
}

/** With nothing held the heartbeat stops. The shipped one finds out at its next beat. */
function beatsAgain({ holds }: Replica, at: Instant | null): Instant | null {
  return holds.length === 0 ? null : at
}

function call(request: Request, model: Model, now: Instant): Call {
  return { request: model.sent(request, now), sentAt: now, at: 'request', reply: null, servedAt: null }
}

function isNews({ told }: Claiming, { id, fence }: JobRow): boolean {
  return !told.some(lease => lease.rowId === id && lease.fence === fence)
}

const error = { name: 'Error', message: 'It threw.', stack: null }
const evenly = { next: () => 0.5, id: () => '' }
