import type { JobRow } from '../../domain/job.ts'
import type { Instant, Timetable } from '../../domain/timetable.ts'
import { compileSchedule } from '../../schedule/index.ts'
import { altered, type Mutant } from './mutant.ts'

/** Mistakes in the store's claim. */
export const atClaim: readonly Mutant[] = [
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
    name: 'read-then-write claim',
    promise: 'S1',
    server: (store, { server, world }) =>
      altered(store, {
        claim: async request => {
          const read = [...server.book.rows.values()].filter(
            ({ id, task, dueAt }) => dueAt <= server.now() && request.tasks.includes(task) && !request.except.includes(id),
          )
          await new Promise<void>(resolve => world.after(2, resolve))
          // written by its id alone: what somebody else has made of the row meanwhile is overwritten
          const since = read.flatMap(({ id }) => server.book.row(id) ?? [])
          for (const row of read) if (since.some(({ id }) => id === row.id)) server.book.update(row)
          const reply = await store.claim(request)
          for (const row of since) if (!reply.grants.some(grant => grant.row.id === row.id)) server.book.update(row)
          return reply
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
    name: 'occurrence from local now',
    promise: 'S2',
    server: (store, { server, wallOf }) =>
      altered(store, {
        claim: async request => {
          const reply = await store.claim(request)
          const wall = wallOf(request.owner)
          const grants = reply.grants.map(grant => {
            const { row } = grant
            const { schedule } = row.definition
            if (row.open === null || row.open.cause !== '' || row.open.attempt > 1 || schedule === null) return grant
            // the latest instant by the clock of who asks, and whatever comes after it
            const scheduledAt = lastUpTo(wall, compileSchedule(schedule)) ?? row.open.scheduledAt
            const named = { ...row, open: { ...row.open, scheduledAt }, nextAt: compileSchedule(schedule).next(scheduledAt) }
            server.book.update(named)
            return { ...grant, row: named }
          })
          return { ...reply, grants }
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
    name: 'never claim my own',
    promise: 'L3',
    server: (store, { server }) =>
      altered(store, {
        claim: request => {
          const mine = [...server.book.rows.values()].filter(({ lease }) => lease?.owner === request.owner).map(({ id }) => id)
          return store.claim({ ...request, except: [...request.except, ...mine] })
        },
      }),
  },
  {
    name: 'no not_after on claims',
    promise: 'S7',
    server: store => altered(store, { claim: request => store.claim({ ...request, notAfter: Number.POSITIVE_INFINITY }) }),
  },
]

function forRows(rows: ReadonlyMap<number, JobRow>, isMeant: (row: JobRow) => boolean, change: (row: JobRow) => void): void {
  for (const row of [...rows.values()]) if (isMeant(row)) change(row)
}

/** Looked for in steps back that double, up to a month. */
function lastUpTo(end: Instant, timetable: Timetable): Instant | null {
  let spanMs = 1000
  while (timetable.next(end - spanMs) > end) {
    spanMs *= 2
    if (spanMs > 2_592_000_000) return null
  }
  let last = timetable.next(end - spanMs)
  for (let at = timetable.next(last); at <= end; at = timetable.next(at)) last = at
  return last
}
