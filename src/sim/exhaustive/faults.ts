import { callIn, callsOf, isAtRest, withCall } from './calls.ts'
import { fresh } from './model.ts'
import type { Move } from './move.ts'
import { ownerOf, type Replica, type State, withReplica } from './state.ts'
import { saidOf } from './telling.ts'

/** Requests that will come late, or never. */
export function lateRequests(state: State, index: 0 | 1): Move[] {
  if (state.faultsLeft === 0) return []
  const replica = state.replicas[index]
  return callsOf(replica).flatMap(slot => {
    const call = callIn(replica, slot)
    if (call?.at !== 'request') return []
    const lost = withReplica(state, index, withCall(replica, slot, { ...call, at: 'lost' }))
    return [
      {
        say: () => `FAULT: ${saidOf(call.request)} is late, or lost`,
        state: { ...losing(lost), strays: [...state.strays, call.request] },
        broken: null,
      },
    ]
  })
}

/** What it had sent may still arrive, late; what it was to be told is lost, and so is all it knew. Another life starts at the next instant. */
export function crashes(state: State, index: 0 | 1): Move[] {
  const replica = state.replicas[index]
  // one that has nothing to forget might as well stand still
  if (state.faultsLeft === 0 || (isAtRest(replica) && replica.claims.unsureUntil === null)) return []
  const sent = callsOf(replica).flatMap(slot => {
    const call = callIn(replica, slot)
    return call?.at === 'request' ? [call.request] : []
  })
  const next: Replica = { ...fresh(replica.name, replica.life + 1), condition: 'down' }
  return [
    {
      say: () => `FAULT: ${ownerOf(replica)} crashes`,
      state: { ...faulty(withReplica(state, index, next)), strays: [...state.strays, ...sent] },
      broken: null,
    },
  ]
}

export function standsStill(state: State, index: 0 | 1): Move[] {
  if (state.faultsLeft === 0) return []
  const replica = state.replicas[index]
  return [
    {
      say: () => `FAULT: ${ownerOf(replica)} stands still`,
      state: faulty(withReplica(state, index, { ...replica, condition: 'paused' })),
      broken: null,
    },
  ]
}

/** A message is lost: the first fault, or one of several. */
export function losing(state: State): State {
  return { ...state, faultsLeft: state.faultsLeft - 1, witness: { ...state.witness, isPlain: !state.witness.isFaulty, isFaulty: true } }
}

export function faulty(state: State): State {
  return { ...state, faultsLeft: state.faultsLeft - 1, witness: { ...state.witness, isPlain: false, isFaulty: true } }
}
