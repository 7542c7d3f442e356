import { altered, type Mutant } from './mutant.ts'

/** Mistakes on the replica's side of the wire. */
export const atReplica: readonly Mutant[] = [
  {
    name: 'no attempt id',
    promise: 'S7',
    client: (store, { id, chance }) => altered(store, { claim: request => store.claim({ ...request, claimId: `${id}-${chance.next()}` }) }),
  },
  {
    name: 'no not_after on claims',
    promise: 'S7',
    client: store => altered(store, { claim: request => store.claim({ ...request, notAfter: Number.POSITIVE_INFINITY }) }),
  },
  {
    name: 'no self-fencing',
    promise: 'S5',
    client: store =>
      altered(store, {
        claim: async request => {
          const reply = await store.claim(request)
          return { ...reply, grants: reply.grants.map(grant => ({ ...grant, row: { ...grant.row, dueAt: grant.row.dueAt + 60_000 } })) }
        },
      }),
  },
  {
    name: 'deadline counted from the reply',
    promise: 'S5',
    client: (store, { host }) =>
      altered(store, {
        renew: async request => {
          const sentMs = host.clock.elapsedMs()
          const reply = await store.renew(request)
          const tookMs = host.clock.elapsedMs() - sentMs
          return { ...reply, leases: reply.leases.map(renewed => ({ ...renewed, dueAt: renewed.dueAt + tookMs + 600 })) }
        },
      }),
  },
  {
    name: 'claims what its own handler runs',
    promise: 'L5',
    client: store => altered(store, { claim: request => store.claim({ ...request, except: [] }) }),
  },
]
