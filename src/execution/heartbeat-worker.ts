// Runs in a thread of its own, on a connection of its own: renews while the loop that it watches is busy, and stops renewing
// once that has been stuck for too long.
import { clockSince } from '../platform/system.ts'
import { insideThread } from '../platform/threads.ts'
import { openAddress } from '../store/open.ts'
import { bounded } from './bounded.ts'
import { type Beaten, Heartbeat } from './heartbeat.ts'
import type { ThreadData, ToThread } from './heartbeat-thread.ts'
import { Trust } from './trust.ts'

const { data, post, listen, end } = insideThread()
const { address, zero, memory, owner, timing, stuckAfterMs } = data as ThreadData

const clock = clockSince(zero)
const trust = new Trust({ memory })
const store = openAddress(address)
const leases = new Map<number, Beaten>()
const openingTries = 5
let isReady = false

const heartbeat = new Heartbeat({
  clock,
  owner,
  ...timing,
  holdings: () => leases.values(),
  renew: async request => {
    try {
      return await bounded(clock, timing.callTimeoutMs, 'renew', () => store.renew(request))
    } catch (error) {
      post({ kind: 'failed', error: error instanceof Error ? error.message : String(error) })
      throw error
    }
  },
  // a loop that stands still does not pulse: after so long, nobody knows whether its runs will ever end
  due: held => (isReady && clock.elapsedMs() - trust.pulsedAtMs < stuckAfterMs ? held : []),
})

listen(message => {
  const told = message as ToThread
  switch (told.kind) {
    case 'hold':
      leases.set(told.slot, beaten(told))
      return heartbeat.keep()
    case 'drop':
      leases.delete(told.slot)
      // only now may the slot be another lease's: nothing is written into it any more
      return post({ kind: 'dropped', slot: told.slot })
    case 'stop':
      heartbeat.stop()
      void store.close().then(end, end)
  }
})

// connected before the first lease is to be renewed; where it cannot, the thread ends and says why
const { replicas } = await opened()
// what another database does not know would be taken for lost
if (!replicas.some(({ id }) => id === owner))
  throw new Error(`${store.location} does not know this replica: it is not where its leases are.`)
isReady = true
post({ kind: 'ready' })
heartbeat.keep()

/** A host that has just started is busy: one slow call is no failure. */
async function opened(): Promise<{ readonly replicas: readonly { readonly id: string }[] }> {
  for (let tries = 1; ; tries++) {
    try {
      return await store.read('replicas', {})
    } catch (error) {
      if (tries === openingTries) throw error
    }
  }
}

function beaten({ slot, rowId, fence }: ToThread & { kind: 'hold' }): Beaten {
  const isCurrent = (): boolean => leases.get(slot) === lease
  const lease: Beaten & { isLost: boolean } = {
    rowId,
    fence,
    isLost: false,
    trustUntil: deadlineMs => {
      if (isCurrent()) trust.trustUntil(slot, deadlineMs)
    },
    lose: () => {
      lease.isLost = true
      if (!isCurrent()) return
      trust.lose(slot)
      post({ kind: 'lost', slot })
    },
    cancel: () => {
      if (isCurrent()) post({ kind: 'cancelled', slot })
    },
  }
  return lease
}
