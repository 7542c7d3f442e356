import { atClaim } from './at-claim.ts'
import { atPeople } from './at-people.ts'
import { atReplica } from './at-replica.ts'
import { atSettle } from './at-settle.ts'
import type { Mutant } from './mutant.ts'

export const mutants: readonly Mutant[] = [...atClaim, ...atSettle, ...atPeople, ...atReplica]
