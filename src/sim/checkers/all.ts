import type { Checker, History, Violation } from '../history.ts'
import { attempts, oneEnd, openedInTime } from './attempts.ts'
import { nothingLost, occurrence, oneVerdict, onlyAskedFor } from './occurrences.ts'
import { nothingToLateAsks, startsOnWord, unknownOutcomes } from './outcomes.ts'
import { quietPauses } from './pauses.ts'
import { handover, takeover } from './progress.ts'
import { conditionalWrites, exclusion, fence, noTakeoverFromOneself, selfFencing } from './safety.ts'

const always: readonly Checker[] = [fence]

/** Suspended where the store itself lost acknowledged writes. */
const unlessForgotten: readonly Checker[] = [
  exclusion,
  occurrence,
  oneVerdict,
  oneEnd,
  conditionalWrites,
  selfFencing,
  unknownOutcomes,
  startsOnWord,
  nothingToLateAsks,
  attempts,
  openedInTime,
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
