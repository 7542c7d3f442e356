import { atReplica } from './at-replica.ts'
import { atStore } from './at-store.ts'
import type { Mutant } from './mutant.ts'

export const mutants: readonly Mutant[] = [...atStore, ...atReplica]
