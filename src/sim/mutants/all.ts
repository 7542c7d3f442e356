import { atReplica } from './at-replica.ts'
import { atStore } from './at-claim.ts'
import type { Mutant } from './mutant.ts'

export const mutants: readonly Mutant[] = [...atStore, ...atReplica]
