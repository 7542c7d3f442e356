import type { LedgerLine } from '../../domain/run.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { RunSettlement } from '../../store/store.ts'
import type { Promised } from '../history.ts'
import { isTrusted } from './holds.ts'
import type { Setting } from './setting.ts'
import {
  type Hold,
  type Kept,
  type Leased,
  ownerOf,
  type Replica,
  type Reply,
  type Request,
  type Started,
  type State,
  type Witness,
} from './state.ts'

export interface Broken {
  readonly promise: Promised
  readonly what: string
}

interface Serving {
  readonly before: State
  readonly request: Request
  readonly kept: Kept
  readonly reply: Reply
  readonly setting: Setting
}

interface Seen {
  readonly witness: Witness
  readonly broken: Broken | null
}

/** What the store has just done, judged. */
export function seesServed(of: Serving): Seen {
  const seen = { claim: seesGrants, renew: seesRenewed, settle: seesSettled }[of.request.verb](of)
  return { witness: seen.witness, broken: seen.broken ?? ledgerBroken(of) }
}

/** S1, S3, S7, L1. */
function seesGrants({ before, request, reply }: Serving): Seen {
  const { now, witness, store } = before
  if (request.verb !== 'claim' || reply.verb !== 'claim') return { witness, broken: null }
  const { owner, claimId, ttlMs, limit, except, notAfter } = request.body
  let broken: Broken | null = null
  let leases = witness.leases
  const isDue = store.rows.some(({ id, dueAt }) => dueAt <= now && !except.includes(id))
  if (reply.body.grants.length === 0 && limit > 0 && now <= notAfter && isDue) {
    broken = { promise: 'L1', what: `${owner} asks, and is not given what is due` }
  }
  for (const { row } of reply.body.grants) {
    const was = store.rows.find(({ id }) => id === row.id)
    // what this ask was given before, found again
    if (was?.lease?.owner === owner && was.lease.claimId === claimId && was.dueAt > now && row.dueAt === was.dueAt) continue
    const last = leases.find(({ rowId }) => rowId === row.id)
    if (last !== undefined && !last.isOver && last.until > now) {
      broken ??= { promise: 'S1', what: `${owner} is given a lease that is ${last.owner}'s until ${last.until}` }
    }
    if (last !== undefined && row.fence <= last.fence) {
      broken ??= { promise: 'S3', what: `fence ${row.fence} is granted after fence ${last.fence}` }
    }
    if (last !== undefined && !last.isOver && witness.isPlain) {
      broken ??= { promise: 'S7', what: `${last.owner} lost its lease of fence ${last.fence} by no more than one lost message` }
    }
    leases = withLease(leases, { rowId: row.id, fence: row.fence, owner, until: now + ttlMs, isOver: false })
  }
  return { witness: leases === witness.leases ? witness : { ...witness, leases }, broken }
}

/** S4. */
function seesRenewed({ before, request, reply, kept }: Serving): Seen {
  const { now, witness } = before
  if (request.verb !== 'renew' || reply.verb !== 'renew') return { witness, broken: null }
  const { owner, ttlMs } = request.body
  let broken: Broken | null = null
  let leases = witness.leases
  for (const { rowId, fence, state } of reply.body.leases) {
    if (state !== 'held') continue
    const lease = leases.find(last => last.rowId === rowId)
    if (!isCurrent(lease, owner, fence)) broken ??= { promise: 'S4', what: `${owner} renews under fence ${fence}, which is not current` }
    else if (lease.until <= now) broken ??= { promise: 'S4', what: `${owner} renews a lease that ran out at ${lease.until}` }
    leases = withLease(leases, { rowId, fence, owner, until: now + ttlMs, isOver: false })
  }
  if (leases === witness.leases && kept !== before.store) broken = { promise: 'S4', what: `${owner} renews nothing, and changes a row` }
  return { witness: { ...witness, leases }, broken }
}

/** S4, S7, S8. */
function seesSettled({ before, request, reply, kept }: Serving): Seen {
  const { now, witness, store } = before
  if (request.verb !== 'settle' || reply.verb !== 'settle') return { witness, broken: null }
  const { owner, items } = request.body
  const [item] = items
  const [result] = reply.body.results
  if (item === undefined || result === undefined) return { witness, broken: null }
  const { rowId, fence } = item
  const lease = witness.leases.find(last => last.rowId === rowId)
  if (!isCurrent(lease, owner, fence) && kept !== store) {
    return { witness, broken: { promise: 'S4', what: `${owner} settles under fence ${fence}, which is not current` } }
  }
  if (item.kind === 'run' && result.kind === 'lost' && wasSettled(store, item)) {
    return { witness, broken: { promise: 'S7', what: `${owner} settled under fence ${fence} before, and is told that it lost` } }
  }
  if (kept === store || lease === undefined) return { witness, broken: null }
  if (item.kind === 'plan' && result.kind === 'granted' && lease.until <= now) {
    return { witness, broken: { promise: 'S8', what: `${owner} opens an attempt under a lease that ran out at ${lease.until}` } }
  }
  const isExtra = result.kind === 'granted' && result.grant.row.id !== rowId
  const isOver = result.kind === 'settled' || isExtra
  let leases = withLease(witness.leases, { ...lease, isOver })
  if (isExtra && item.kind === 'plan') {
    const { row } = result.grant
    leases = withLease(leases, { rowId: row.id, fence: row.fence, owner, until: now + item.ttlMs, isOver: false })
  }
  return { witness: { ...witness, leases }, broken: null }
}

function isCurrent(lease: Leased | undefined, owner: string, fence: number): lease is Leased {
  return lease !== undefined && !lease.isOver && lease.owner === owner && lease.fence === fence
}

function withLease(leases: readonly Leased[], lease: Leased): readonly Leased[] {
  const index = leases.findIndex(({ rowId }) => rowId === lease.rowId)
  return index < 0 ? [...leases, lease] : leases.with(index, lease)
}

function wasSettled({ lines }: Kept, { rowId, fence, occurrence }: RunSettlement): boolean {
  return lines.some(
    line => line.rowId === rowId && line.fence === fence && line.scheduledAt === occurrence?.scheduledAt && line.end !== 'leaseLost',
  )
}

/** S2, S8: what the ledger and the rows say since this step. */
function ledgerBroken({ before, kept, setting }: Serving): Broken | null {
  if (kept === before.store) return null
  const { maxAttempts, retries } = setting.policy
  for (const scheduledAt of setting.instants) {
    const finals = finalsOf(kept.lines, scheduledAt)
    if (finals.length > 1) return { promise: 'S2', what: `${scheduledAt} has ${finals.length} verdicts` }
    const open = kept.rows.find(row => row.open?.scheduledAt === scheduledAt)?.open
    if (open == null) continue
    if (finals.length > 0) return { promise: 'S2', what: `${scheduledAt} is open again after its verdict` }
    if (open.attempt > maxAttempts) return { promise: 'S8', what: `${scheduledAt} is at attempt ${open.attempt} of ${maxAttempts}` }
    if (open.failures > retries) return { promise: 'S8', what: `${scheduledAt} failed ${open.failures} times, with ${retries} retries` }
  }
  return null
}

/** A handler has been started. */
export function seesStart(state: State, by: Replica, { row }: Hold, setting: Setting): Seen {
  const { witness, store } = state
  const scheduledAt = row.open?.scheduledAt ?? Number.NaN
  const before = witness.starts.find(start => start.scheduledAt === scheduledAt)
  const started: Started = { scheduledAt, count: (before?.count ?? 0) + 1, fence: row.fence }
  const starts = [...witness.starts.filter(start => start !== before), started].sort((a, b) => a.scheduledAt - b.scheduledAt)
  let broken: Broken | null = null
  if (by.holds.some(hold => hold.stage === 'running' && hold.row.id === row.id)) {
    broken = { promise: 'L5', what: `${ownerOf(by)} starts ${scheduledAt} under fence ${row.fence} while its own handler still runs it` }
  } else if (finalsOf(store.lines, scheduledAt).length > 0) broken = { promise: 'S2', what: `${scheduledAt} starts after its verdict` }
  else if (before !== undefined && before.fence >= row.fence)
    broken = { promise: 'S2', what: `${scheduledAt} starts twice under fence ${row.fence}` }
  else if (started.count > setting.policy.maxAttempts) {
    broken = { promise: 'S8', what: `${scheduledAt} starts for the ${started.count}th time of ${setting.policy.maxAttempts}` }
  }
  return { witness: { ...witness, starts }, broken }
}

/** S1, S5: who runs and trusts its lease, holds it by the store's clock; and nobody else does. */
export function brokenIn({ now, replicas, witness }: State): Broken | null {
  const trusting: string[] = []
  for (const replica of replicas) {
    for (const hold of replica.holds) {
      if (hold.stage !== 'running' || !isTrusted(hold, now)) continue
      const owner = ownerOf(replica)
      const lease = witness.leases.find(({ rowId }) => rowId === hold.row.id)
      if (!isCurrent(lease, owner, hold.row.fence) || lease.until <= now) {
        return { promise: 'S5', what: `${owner} still trusts fence ${hold.row.fence}, which the store gave until ${lease?.until}` }
      }
      const key = `${hold.row.open?.scheduledAt}`
      if (trusting.includes(key)) return { promise: 'S1', what: `both replicas run ${key} and trust their leases` }
      trusting.push(key)
    }
  }
  return null
}

/** L3: every occurrence has its verdict. */
export function isJudged({ store: { lines } }: State, { instants }: Setting): boolean {
  return instants.every(instant => finalsOf(lines, instant).length > 0)
}

function finalsOf(lines: readonly LedgerLine[], instant: Instant): readonly LedgerLine[] {
  return lines.filter(({ final, scheduledAt, untilAt }) => final && scheduledAt <= instant && instant <= untilAt)
}
