import type { Instant } from '../../domain/timetable.ts'
import { isSure, mayAsk, mustAsk } from './asking.ts'
import { callIn, callsOf, isAtRest, isBeatDue } from './calls.ts'
import { crashes, lateRequests, standsStill } from './faults.ts'
import type { Model } from './model.ts'
import type { Move } from './move.ts'
import { asks, beats, ends, notices } from './replica.ts'
import { isBusy, replyArrives, requestArrives, strayArrives, timesOut } from './serving.ts'
import type { Setting } from './setting.ts'
import { type Call, ownerOf, type Replica, type State, withReplica } from './state.ts'
import { nextInstant } from './time.ts'
import { isJudged } from './witness.ts'

/** All that may happen next, in every order. */
export function movesOf(state: State, model: Model): Move[] {
  const moves: Move[] = []
  for (const index of [0, 1] as const) {
    for (const slot of callsOf(state.replicas[index])) {
      const call = callIn(state.replicas[index], slot)
      if (call?.at === 'request') moves.push(...requestArrives(state, call, { model, index, slot }))
    }
    const own = ownMoves(state, model, index)
    moves.push(...own, ...lateRequests(state, index), ...crashes(state, index))
    // one that has nothing to do now might as well stand still later
    if (own.length > 0 || callsOf(state.replicas[index]).length > 0) moves.push(...standsStill(state, index))
  }
  for (const request of new Set(state.strays)) moves.push(strayArrives(state, request, model))
  if (!state.replicas.some(replica => isBehind(state, replica, model))) moves.push(...timePasses(state, model))
  return moves
}

/** Nothing is left to happen but what nobody waits for. */
export function isOver(state: State, model: Model): boolean {
  return isJudged(state, model.setting) && state.replicas.every(isAtRest)
}

/** Time does not pass over what is due: what takes longer is a fault. */
function isBehind(state: State, replica: Replica, { setting }: Model): boolean {
  const { now } = state
  const isUp = replica.condition === 'up'
  const calls = callsOf(replica).map(slot => callIn(replica, slot))
  if (calls.some(call => call !== null && (isUp || call.at === 'request') && isDue(call, now, setting))) return true
  if (!isUp) return false
  const isEnding = replica.holds.some(({ stage, startedAt }) => stage === 'running' && startedAt + setting.longestRunMs <= now)
  return isEnding || isBeatDue(replica, now) || mustAsk(state, replica, setting)
}

/** What a replica does by itself. */
function ownMoves(state: State, model: Model, index: 0 | 1): Move[] {
  const replica = state.replicas[index]
  if (replica.condition !== 'up') return []
  const { now } = state
  const owner = ownerOf(replica)
  const moves: Move[] = []
  const add = (say: string, next: Replica): void => {
    moves.push({ say: () => `${owner} ${say}`, state: withReplica(state, index, next), broken: null })
  }
  for (const slot of callsOf(replica)) {
    const call = callIn(replica, slot)
    if (call === null) continue
    const of = { model, index, slot }
    if (call.at === 'reply' && (call.servedAt !== now || isDue(call, now, model.setting) || isBusy(state, of)))
      moves.push(replyArrives(state, call, of))
    if (isTimedOut(call, now, model)) moves.push(timesOut(state, call, of))
  }
  if (mayAsk(state, replica, model.setting)) add('asks', asks(replica, model, now))
  if (isBeatDue(replica, now)) add('renews', beats(replica, model, now))
  for (const hold of replica.holds) {
    if (hold.stage !== 'running') continue
    for (const outcome of model.setting.outcomes) add(`has its handler back: ${outcome}`, ends(replica, hold, outcome, model, now))
  }
  return moves
}

/** What comes, comes in time; what is lost is waited for to the end. */
function isDue({ at, sentAt }: Call, now: Instant, { slackMs, callTimeoutMs }: Setting): boolean {
  return sentAt + (at === 'lost' ? callTimeoutMs : slackMs) <= now
}

/** A replica that stood still may find its time-out before the answer. */
function isTimedOut({ at, sentAt }: Call, now: Instant, { setting }: Model): boolean {
  const until = sentAt + setting.callTimeoutMs
  return at === 'lost' ? now >= until : now > until
}

/** The next instant comes. Who stood still may go on with it, who was down does. */
function timePasses(state: State, model: Model): Move[] {
  const next = nextInstant(state, model.setting)
  const now = next ?? state.now
  const [a, b] = state.replicas
  const pairs = later(state, a, now).flatMap(nextA => later(state, b, now).map(nextB => [nextA, nextB] as const))
  return pairs
    .filter(([nextA, nextB]) => next !== null || nextA !== a || nextB !== b)
    .map(replicas => {
      const goOn = replicas.filter(({ condition }, index) => condition !== state.replicas[index]?.condition)
      const say = (): string => `it is ${now}${goOn.map(replica => `, and ${ownerOf(replica)} goes on`).join('')}`
      return { say, state: { ...state, now, replicas }, broken: null }
    })
}

function later(state: State, replica: Replica, now: Instant): Replica[] {
  if (replica.condition === 'up') {
    const sure = isSure(state, replica, now) ? { ...replica, claims: { ...replica.claims, unsureUntil: null } } : replica
    return [notices(sure, now)]
  }
  const up = notices({ ...replica, condition: 'up' }, now)
  return replica.condition === 'paused' ? [replica, up] : [up]
}
