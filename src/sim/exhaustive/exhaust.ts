import { keyOf } from './key.ts'
import { Known } from './known.ts'
import { firstState, type Model } from './model.ts'
import type { Move } from './move.ts'
import { isOver, movesOf } from './moves.ts'
import type { State } from './state.ts'
import { type Broken, brokenIn } from './witness.ts'

export interface Exhausted {
  readonly states: number
  readonly moves: number
  /** States in which all is over. */
  readonly ends: number
  /** Ways from the first state to an end. */
  readonly paths: number
  /** What stands in some ledger: outcomes and verdicts. */
  readonly seen: ReadonlySet<string>
  readonly broken: Broken | null
}

interface Visit {
  readonly key: string
  readonly state: State
  readonly moves: readonly Move[]
  next: number
  paths: number
}

/** On the way that is being followed: whoever comes back here goes round in a circle. */
const underWay = -1

/**
 * Every state that can be reached, depth first. L3: a state without a move is one where all is over, and no path comes back to
 * where it was; so every path ends, and ends well.
 */
export function exhaust(model: Model): Exhausted {
  const known = new Known()
  const seen = new Set<string>()
  let [moves, ends] = [0, 0]
  const found = (paths: number, broken: Broken | null): Exhausted => ({ states: known.size, moves, ends, paths, seen, broken })
  const way: Visit[] = []
  const enter = (state: State, key: string): Broken | null => {
    const possible = movesOf(state, model)
    const isEnd = isOver(state, model)
    if (isEnd) ends++
    else if (possible.length === 0) return stuck
    known.set(known.find(key), underWay)
    way.push({ key, state, moves: possible, next: 0, paths: isEnd ? 1 : 0 })
    return null
  }
  const first = firstState(model)
  enter(first, keyOf(first))
  for (;;) {
    const visit = way.at(-1)
    if (visit === undefined) return found(known.valueAt(known.find(keyOf(first))), null)
    const move = visit.moves[visit.next++]
    if (move === undefined) {
      way.pop()
      known.set(known.find(visit.key), visit.paths)
      const above = way.at(-1)
      if (above !== undefined) above.paths += visit.paths
      continue
    }
    moves++
    if (move.state.store !== visit.state.store) for (const { end } of move.state.store.lines) seen.add(end)
    const key = keyOf(move.state)
    const paths = known.valueAt(known.find(key))
    const broken = move.broken ?? brokenIn(move.state) ?? (paths === underWay ? circle : paths === 0 ? enter(move.state, key) : null)
    if (broken !== null) return found(0, broken)
    if (paths > 0) visit.paths += paths
  }
}

export const stuck: Broken = { promise: 'L3', what: 'nothing can happen any more, and some occurrence has no verdict' }
const circle: Broken = { promise: 'L3', what: 'a path comes back to where it was: it need never end' }
