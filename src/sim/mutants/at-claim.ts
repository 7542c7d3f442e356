import type { JobRow } from '../../domain/job.ts'
import type { SettleReply } from '../../store/store.ts'
import { altered, type Mutant } from './mutant.ts'

/** Mistakes on the store's side of the wire. */
export const atStore: readonly Mutant[] = [
  {
    name: 'settle ignores the fence',
    promise: 'S4',
    server: (store, { server }) =>
      altered(store, {
        settle: async request => {
          const replies: SettleReply[] = []
          for (const item of request.items) {
            const row = server.book.row(item.rowId)
            const isOurs = item.kind === 'run' && row?.lease?.mayStart === true
            const forged = isOurs
              ? { owner: row.lease?.owner ?? '', items: [{ ...item, fence: row.fence }] }
              : { ...request, items: [item] }
            replies.push(await store.settle(forged))
          }
          return { now: server.now(), results: replies.flatMap(({ results }) => results) }
        },
      }),
  },
  {
    name: 'renew ignores the fence',
    promise: 'S4',
    server: (store, { server }) =>
      altered(store, {
        renew: async request => {
          const reply = await store.renew(request)
          const leases = reply.leases.map(renewed => {
            const row = server.book.row(renewed.rowId)
            if (renewed.state === 'held' || row?.lease === null || row === undefined) return renewed
            const dueAt = reply.now + request.ttlMs
            server.book.update({ ...row, dueAt })
            return { ...renewed, state: 'held' as const, dueAt }
          })
          return { ...reply, leases }
        },
      }),
  },
  {
    name: 'expiry by the client’s clock',
    promise: 'S1',
    server: (store, { server, wallOf }) =>
      altered(store, {
        claim: request => {
          // who asks judges by its own clock whether the lease of another has run out
          const wall = wallOf(request.owner)
          forRows(
            server.book.rows,
            row => row.lease !== null && row.dueAt <= wall,
            row => server.book.update({ ...row, dueAt: Math.min(row.dueAt, server.now()) }),
          )
          return store.claim(request)
        },
      }),
  },
  {
    name: 'early expiry',
    promise: 'S1',
    server: (store, { server }) =>
      altered(store, {
        claim: request => {
          forRows(
            server.book.rows,
            row => row.lease !== null && row.dueAt <= server.now() + 1500,
            row => server.book.update({ ...row, dueAt: server.now() }),
          )
          return store.claim(request)
        },
      }),
  },
  {
    name: 'fence not raised',
    promise: 'S3',
    server: (store, { server }) =>
      altered(store, {
        claim: async request => {
          const before = new Map([...server.book.rows].map(([id, { fence }]) => [id, fence]))
          const reply = await store.claim(request)
          const grants = reply.grants.map(grant => {
            const row = { ...grant.row, fence: Math.max(1, before.get(grant.row.id) ?? 1) }
            server.book.update(row)
            return { ...grant, row }
          })
          return { ...reply, grants }
        },
      }),
  },
  {
    name: 'no takeover',
    promise: 'L1',
    server: (store, { server }) =>
      altered(store, {
        claim: request => {
          const vanished = [...server.book.rows.values()].filter(({ lease }) => lease !== null).map(({ id }) => id)
          return store.claim({ ...request, except: [...request.except, ...vanished] })
        },
      }),
  },
  {
    name: 'no catch-up',
    promise: 'L3',
    server: (store, { server }) =>
      altered(store, {
        claim: request => {
          forRows(
            server.book.rows,
            row => row.open === null && row.lease === null && row.asked === 0 && row.afterAt !== null && row.afterAt <= server.now(),
            row => server.book.update({ ...row, nextAt: row.afterAt ?? row.nextAt, afterAt: null }),
          )
          return store.claim(request)
        },
      }),
  },
  {
    name: 'attempts are not counted',
    promise: 'S8',
    server: (store, { server }) =>
      altered(store, {
        claim: request => {
          forRows(
            server.book.rows,
            row => row.definition.policy.maxAttempts < 99,
            row => server.book.update({ ...row, definition: { ...row.definition, policy: { ...row.definition.policy, maxAttempts: 99 } } }),
          )
          return store.claim(request)
        },
      }),
  },
  {
    name: 'declare re-computes a due row',
    promise: 'L3',
    server: (store, { server }) =>
      altered(store, {
        declare: request => {
          for (const { name, upcoming } of request.jobs) {
            const row = server.book.rowNamed(name)
            const nextAt = upcoming.find(instant => instant > server.now())
            if (
              row !== undefined &&
              row.open === null &&
              row.lease === null &&
              row.asked === 0 &&
              row.nextAt <= server.now() &&
              nextAt !== undefined
            ) {
              server.book.update({ ...row, nextAt, afterAt: null, dueAt: nextAt })
            }
          }
          return store.declare(request)
        },
      }),
  },
  {
    name: 'resume fires the past',
    promise: 'D1',
    server: (store, { server }) =>
      altered(store, {
        control: async command => {
          const reply = await store.control(command)
          const row = command.kind === 'resume' ? server.book.rowNamed(command.name) : undefined
          if (row !== undefined && reply.kind === 'done') server.book.update({ ...row, held: null })
          return reply
        },
      }),
  },
]

function forRows(rows: ReadonlyMap<number, JobRow>, isMeant: (row: JobRow) => boolean, change: (row: JobRow) => void): void {
  for (const row of [...rows.values()]) if (isMeant(row)) change(row)
}
