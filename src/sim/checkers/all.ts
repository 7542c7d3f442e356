import type { Checker, History, Violation } from '../history.ts'
import { attempts, nothingLost, occurrence, oneVerdict, onlyAskedFor } from './occurrences.ts'
import { quietPauses } from './pauses.ts'
import { handover, takeover, unknownOutcomes } from './progress.ts'
import { conditionalWrites, exclusion, fence, noTakeoverFromOneself, selfFencing } from './safety.ts'

const always: readonly Checker[] = [fence]

/** Suspended where the store itself lost acknowledged writes. */
const unlessForgotten: readonly Checker[] = [
  exclusion,
  occurrence,
  oneVerdict,
  conditionalWrites,
  selfFencing,
  unknownOutcomes,
  attempts,
  takeover,
  nothingLost,
  handover,
  noTakeoverFromOneself,
  onlyAskedFor,
  quietPauses,
]

export function check(history: History): Violation[] {
  return [...always, ...(history.lostSuffix ? [] : unlessForgotten)].flatMap(checker => checker(history))
}
