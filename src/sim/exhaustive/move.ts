import type { State } from './state.ts'
import type { Broken } from './witness.ts'

/** One thing that may happen next, and what is then. */
export interface Move {
  readonly say: () => string
  readonly state: State
  readonly broken: Broken | null
}
