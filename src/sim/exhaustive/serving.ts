import { mayAsk } from './asking.ts'
import { type Slot, withCall } from './calls.ts'
import { crashes, faulty, losing, standsStill } from './faults.ts'
import { served } from './keeping.ts'
import type { Model } from './model.ts'
import type { Move } from './move.ts'
import { givesUp, hearsClaim, hearsRenew, hearsSettle, type Stepped } from './replica.ts'
import { type Call, ownerOf, type Reply, type Request, type State, type Witness, withReplica } from './state.ts'
import { saidOf } from './telling.ts'
import { type Broken, brokenIn, seesServed, seesStart } from './witness.ts'

export interface OfCall {
  readonly model: Model
  readonly index: 0 | 1
  readonly slot: Slot
}

/**
 * The store serves a request that its replica waits for. The answer is heard at once, or it takes its time, or a fault comes in
 * between: the answer is lost, the request comes twice, the replica crashes or stands still.
 */
export function requestArrives(state: State, call: Call, of: OfCall): Move[] {
  const { model, index, slot } = of
  const replica = state.replicas[index]
  const { request } = call
  const { kept, reply, witness, broken } = serve(state, request, model)
  const answered: Call = reply === null ? { ...call, at: 'lost' } : { ...call, at: 'reply', reply, servedAt: state.now }
  const slow: State = { ...withReplica(state, index, withCall(replica, slot, answered)), store: kept, witness }
  const says = (): string => `the store serves ${saidOf(request)}: ${saidOf(reply)}`
  const wrong = broken ?? brokenIn(slow)
  if (wrong !== null) return [{ say: says, state: slow, broken: wrong }]
  const moves = answers(slow, answered, of)
  if (state.faultsLeft > 0) {
    const twice: State = { ...faulty(slow), strays: [...state.strays, request] }
    const lost = withCall(replica, slot, { ...call, at: 'lost', reply: null })
    moves.push(
      ...answers(twice, answered, of).map(move => ({ ...move, say: () => `FAULT: it comes twice; ${move.say()}` })),
      { say: () => 'FAULT: the answer is lost', state: losing(withReplica(slow, index, lost)), broken: null },
      ...standsStill(slow, index),
      ...crashes(slow, index),
    )
  }
  return moves.map(move => ({ ...move, say: () => `${says()}; ${move.say()}` }))
}

/** At once, or later: where its replica has nothing else to do now, that means at a later instant. */
function answers(slow: State, call: Call, of: OfCall): Move[] {
  const { condition } = slow.replicas[of.index]
  const moves: Move[] = condition === 'up' ? [replyArrives(slow, call, of)] : []
  // that nothing was given makes no difference later either
  const isEmpty = call.reply?.verb === 'claim' && call.reply.body.grants.length === 0
  const canWait = !isEmpty && (call.sentAt + of.model.setting.slackMs > slow.now || isBusy(slow, of))
  if (condition !== 'up' || canWait) moves.push({ say: () => 'the answer takes its time', state: slow, broken: null })
  return moves
}

/** It may ask for more before it hears: all else that it might do makes no difference to what it hears. */
export function isBusy(state: State, { model, index }: OfCall): boolean {
  return mayAsk(state, state.replicas[index], model.setting)
}

/** Nobody waits for the answer. */
export function strayArrives(state: State, request: Request, model: Model): Move {
  const { kept, reply, broken, witness } = serve(state, request, model)
  const at = state.strays.indexOf(request)
  return {
    say: () => `late, the store serves ${saidOf(request)}: ${saidOf(reply)}`,
    state: { ...state, store: kept, witness, strays: state.strays.filter((_, index) => index !== at) },
    broken,
  }
}

function serve(
  state: State,
  request: Request,
  model: Model,
): { kept: State['store']; reply: Reply | null; witness: Witness; broken: Broken | null } {
  try {
    const { kept, reply } = served(state.store, request, model.verbs, state.now)
    return { kept, reply, ...seesServed({ before: state, request, kept, reply, setting: model.setting }) }
  } catch (thrown) {
    const what = (thrown as Error).message
    return {
      kept: state.store,
      reply: null,
      witness: state.witness,
      broken: { promise: what.startsWith('two verdicts') ? 'S2' : 'code', what },
    }
  }
}

export function replyArrives(state: State, call: Call, of: OfCall): Move {
  const stepped = hears(state, call, of)
  let next = withReplica(state, of.index, stepped.replica)
  let broken: Broken | null = null
  for (const hold of stepped.started) {
    const seen = seesStart(next, state.replicas[of.index], hold, of.model.setting)
    next = { ...next, witness: seen.witness }
    broken ??= seen.broken
  }
  const say = (): string => {
    const then = stepped.started.map(({ row }) => `, and starts ${row.open?.scheduledAt} under fence ${row.fence}`).join('')
    return `${ownerOf(stepped.replica)} hears of it${then}`
  }
  return { say, state: next, broken }
}

function hears(state: State, { reply, sentAt }: Call, { model, index, slot }: OfCall): Stepped {
  const replica = state.replicas[index]
  const { now } = state
  if (reply === null) return { replica, started: [] }
  const heard = model.heard(reply, sentAt, now)
  if (heard.verb === 'claim') return hearsClaim(replica, heard.body, model, now)
  if (heard.verb === 'renew') return { replica: hearsRenew(replica, heard.body, model, now), started: [] }
  const hold = typeof slot === 'number' ? replica.holds[slot] : undefined
  return hold === undefined ? { replica, started: [] } : hearsSettle(replica, hold, heard.body, model, now)
}

export function timesOut(state: State, call: Call, { model, index, slot }: OfCall): Move {
  const replica = givesUp(state.replicas[index], slot, model, state.now)
  return {
    say: () => `${ownerOf(replica)} has waited long enough for ${saidOf(call.request)}`,
    state: withReplica(state, index, replica),
    broken: null,
  }
}
