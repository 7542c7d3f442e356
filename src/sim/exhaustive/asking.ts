import type { Instant } from '../../domain/timetable.ts'
import { rowsInUse, rowsOf } from './holds.ts'
import type { Setting } from './setting.ts'
import { claimIdOf, ownerOf, type Replica, type State } from './state.ts'

/** When a replica asks. An ask that can be given nothing is left out: it would change nothing but the time of the next. */
export function mayAsk(state: State, replica: Replica, { capacity, slackMs }: Setting): boolean {
  const { ask, askedAt, holds } = replica
  if (ask !== null || askedAt >= state.now) return false
  const isRoomy = rowsOf(holds).length < capacity
  return (isRoomy && state.store.rows.some(({ dueAt }) => dueAt <= state.now + slackMs)) || hasUnheard(state, replica)
}

/** Something is due that it has room for, or its unanswered ask was given something. */
export function mustAsk(state: State, replica: Replica, setting: Setting): boolean {
  if (!mayAsk(state, replica, setting)) return false
  const inUse = rowsInUse(replica, state.now)
  const isDue = state.store.rows.some(({ dueAt, id }) => dueAt <= state.now && !inUse.includes(id))
  return isDue || hasUnheard(state, replica)
}

/** The asks that are left out have told it that an unanswered one can no longer arrive. */
export function isSure(state: State, replica: Replica, now: Instant): boolean {
  const { unsureUntil } = replica.claims
  return replica.ask === null && unsureUntil !== null && now > unsureUntil && !hasUnheard(state, replica)
}

function hasUnheard({ store, now }: State, replica: Replica): boolean {
  if (replica.claims.unsureUntil === null) return false
  const [owner, claimId] = [ownerOf(replica), claimIdOf(replica)]
  return store.rows.some(({ lease, dueAt }) => lease?.owner === owner && lease.claimId === claimId && dueAt > now)
}
