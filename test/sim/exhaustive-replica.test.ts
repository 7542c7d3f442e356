import { expect, test } from 'vitest'
import { Claims } from '../../src/scheduler/claims.ts'
import { StoreClock } from '../../src/scheduler/store-clock.ts'
import { timingOf } from '../../src/scheduler/timing.ts'
import { firstState, modelOf } from '../../src/sim/exhaustive/model.ts'
import { asks, givesUp, hearsClaim } from '../../src/sim/exhaustive/replica.ts'
import { settings } from '../../src/sim/exhaustive/setting.ts'
import type { ClaimReply, ClaimRequest } from '../../src/store/store.ts'
import { evenRandom, HandClock } from '../kit/hand-clock.ts'
import { runningRow } from '../kit/rows.ts'

/** What becomes of an ask: no answer; one at once or later, with nothing, a lease, or the same lease again. */
const fates = ['silence', 'nothing', 'lease', 'again', 'nothing, late', 'lease, late'] as const
type Fate = (typeof fates)[number]

const question = { limit: 1, except: [], presence: { running: 0, draining: false, clockOffsetMs: 0, loopLagMs: 0 } }

/** What can be seen of an ask from outside: whether its id is that of the one before, how long it is good for, how many leases were news. */
interface Asking {
  readonly isRepeated: boolean
  readonly notAfter: number
  readonly fresh: number
}

const model = modelOf(settings[0]!)

function replyTo(fate: Fate, ask: number, now: number): ClaimReply {
  const fence = fate === 'again' ? ask - 1 : ask
  const row = runningRow({ fence, dueAt: now + 6 })
  const grants = fate.startsWith('nothing') ? [] : [{ row, manual: null, backfill: null }]
  return { now, grants, nextDueAt: Number.POSITIVE_INFINITY, moreDue: false, anyLeased: false }
}

async function shipped(script: readonly Fate[]): Promise<Asking[]> {
  const clock = new HandClock(0)
  const requests: ClaimRequest[] = []
  const claims = new Claims({
    ...{ clock, random: evenRandom(), storeClock: new StoreClock(clock), owner: 'A0', tasks: () => ['job'] },
    timing: { ...timingOf({ lease: '6s' }), callTimeoutMs: 1 },
    send: async request => {
      const ask = requests.push(request)
      const fate = script[ask - 1]!
      const servedAt = clock.now()
      if (fate === 'silence' || fate.endsWith('late')) clock.block(1)
      if (fate === 'silence') throw new Error('no answer in time')
      return replyTo(fate, ask, servedAt)
    },
  })
  const seen: Asking[] = []
  for (const [index] of script.entries()) {
    const asked = await claims.ask(question).catch(() => null)
    const { claimId, notAfter } = requests[index]!
    seen.push({ isRepeated: claimId === requests[index - 1]?.claimId, notAfter, fresh: asked?.fresh.length ?? 0 })
  }
  return seen
}

function modelled(script: readonly Fate[]): Asking[] {
  let [replica] = firstState(model).replicas
  let now = 0
  let lastId = ''
  return script.map((fate, index) => {
    const asking = asks({ ...replica, holds: [] }, model, now)
    const { claimId, notAfter } = asking.ask!.request.body as ClaimRequest
    const servedAt = now
    if (fate === 'silence' || fate.endsWith('late')) now++
    replica =
      fate === 'silence' ? givesUp(asking, 'ask', model, now) : hearsClaim(asking, replyTo(fate, index + 1, servedAt), model, now).replica
    const seen = { isRepeated: claimId === lastId, notAfter, fresh: replica.holds.length }
    lastId = claimId
    return seen
  })
}

function* scripts(length: number): Generator<Fate[]> {
  if (length === 0) yield []
  else for (const script of scripts(length - 1)) for (const fate of fates) yield [...script, fate]
}

test('the replica of the small model asks, repeats its asks and is told of leases as the shipped one', async () => {
  for (const script of scripts(5)) expect(modelled(script), script.join('; ')).toEqual(await shipped(script))
})
