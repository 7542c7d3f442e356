import { stuck } from './exhaust.ts'
import { keyOf } from './key.ts'
import { firstState, type Model } from './model.ts'
import { isOver, movesOf } from './moves.ts'
import type { State } from './state.ts'
import { type Broken, brokenIn } from './witness.ts'

/** A path that breaks a promise. */
export interface Path extends Broken {
  readonly faults: number
  /** A line a move. */
  readonly lines: readonly string[]
}

interface Step {
  readonly state: State
  readonly say: (() => string) | null
  readonly before: Step | null
}

/** With as few faults as any, and then with as few moves; null: there is none. */
export function shortest(model: Model): Path | null {
  for (let faults = 0; faults <= model.setting.faults; faults++) {
    const found = nearest({ ...model, setting: { ...model.setting, faults } })
    if (found !== null) return found
  }
  return null
}

/** Breadth first, so that the first path found is as short as any. */
function nearest(model: Model): Path | null {
  const first = firstState(model)
  const known = new Set([keyOf(first)])
  const told = (broken: Broken, step: Step): Path => ({ ...broken, faults: model.setting.faults, lines: linesTo(step) })
  let edge: Step[] = [{ state: first, say: null, before: null }]
  while (edge.length > 0) {
    const next: Step[] = []
    for (const step of edge) {
      const moves = movesOf(step.state, model)
      if (moves.length === 0 && !isOver(step.state, model)) return told(stuck, step)
      for (const { state, say, broken } of moves) {
        const made: Step = { state, say, before: step }
        const wrong = broken ?? brokenIn(state)
        if (wrong !== null) return told(wrong, made)
        const key = keyOf(state)
        if (known.has(key)) continue
        known.add(key)
        next.push(made)
      }
    }
    edge = next
  }
  return null
}

function linesTo(step: Step): string[] {
  const lines: string[] = []
  for (let at: Step | null = step; at !== null; at = at.before) {
    if (at.say !== null) lines.push(`${String(at.before?.state.now).padStart(4)}  ${at.say()}`)
  }
  return lines.reverse()
}
