// What a store must do to be trusted: run unchanged against every store.
import { describe } from 'vitest'
import { acquiring } from './acquire.ts'
import { asking } from './asks.ts'
import { attempting } from './attempts.ts'
import { checkpointing } from './checkpoint.ts'
import { claiming } from './claim.ts'
import { contending } from './contention.ts'
import { declaring } from './declare.ts'
import { remembering } from './ledger.ts'
import { migrating } from './migrate.ts'
import { naming } from './names.ts'
import { overlapping } from './overlap.ts'
import { pausing } from './pause.ts'
import { controlling } from './people.ts'
import { planning } from './plan.ts'
import { reading } from './read.ts'
import { renewing } from './renew.ts'
import { settling } from './settle.ts'
import { planningAnew } from './stale.ts'
import type { Subject } from './subject.ts'
import { fencing } from './transaction.ts'
import { waking } from './wake.ts'
import { walking } from './walk.ts'

export type { EmptyDatabase, Subject } from './subject.ts'

export function conformance(subject: Subject): void {
  describe(`${subject.name} keeps the promises`, () => {
    claiming(subject)
    acquiring(subject)
    renewing(subject)
    settling(subject)
    attempting(subject)
    planning(subject)
    planningAnew(subject)
    asking(subject)
    overlapping(subject)
    pausing(subject)
    controlling(subject)
    declaring(subject)
    checkpointing(subject)
    fencing(subject)
    remembering(subject)
    reading(subject)
    naming(subject)
    contending(subject)
    waking(subject)
    migrating(subject)
    walking(subject)
  })
}
