import { dueWhenFree } from '../../domain/due.ts'
import type { JobRow } from '../../domain/job.ts'
import type { LedgerLine } from '../../domain/run.ts'
import type { Instant } from '../../domain/timetable.ts'
import { compileSchedule } from '../../schedule/index.ts'
import type { SettleItem, SettleReply, SettleResult } from '../../store/store.ts'
import { altered, type Mutant } from './mutant.ts'

/** Mistakes in what the store does for a holder: renew and settle. */
export const atSettle: readonly Mutant[] = [
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
    name: 'renew without the owner',
    promise: 'S2',
    server: (store, { server }) =>
      altered(store, {
        renew: async request => {
          const reply = await store.renew(request)
          const leases = reply.leases.map(renewed => {
            const row = server.book.row(renewed.rowId)
            if (row?.fence !== renewed.fence || row.lease !== null) return renewed
            // the fence is the row's: that its lease was let go is not looked at
            const dueAt = reply.now + request.ttlMs
            server.book.update({ ...row, dueAt, lease: { owner: request.owner, claimId: null, mayStart: true } })
            return { ...renewed, state: 'held' as const, dueAt }
          })
          return { ...reply, leases }
        },
      }),
  },
  {
    name: 'row deleted when done',
    promise: 'S2',
    server: (store, { server }) => {
      const gone = new Map<string, JobRow>()
      const askedAt = new Map<string, Instant>()
      return altered(store, {
        settle: async request => {
          const reply = await store.settle(request)
          for (const [index, item] of request.items.entries()) {
            const row = server.book.row(item.rowId)
            const isDone = item.kind === 'run' && reply.results[index]?.kind === 'settled' && row?.open === null
            if (!isDone || row.parent !== null || row.asked > 0) continue
            gone.set(row.name, row)
            server.book.delete(row.id)
          }
          return reply
        },
        claim: request => {
          // who finds no row makes one, for the first instant since it asked last
          const since = askedAt.get(request.owner) ?? server.now()
          askedAt.set(request.owner, server.now())
          for (const [name, { id: _, ...row }] of gone) {
            const { schedule } = row.definition
            if (!request.tasks.includes(row.task) || schedule === null) continue
            gone.delete(name)
            const nextAt = compileSchedule(schedule).next(since)
            server.book.insert({ ...row, nextAt, afterAt: compileSchedule(schedule).next(nextAt), dueAt: nextAt, lastAt: null, busy: null })
          }
          return store.claim(request)
        },
      })
    },
  },
  {
    name: 'a verdict an attempt',
    promise: 'S2',
    server: (store, { server }) =>
      altered(store, {
        settle: async request => {
          const from = server.book.lines.length
          const reply = await store.settle(request)
          for (const [index, line] of server.book.lines.entries()) {
            if (index >= from && line.end === 'failed') server.book.lines[index] = { ...line, final: true }
          }
          return reply
        },
      }),
  },
  {
    name: 'settle not looked up after a re-claim',
    promise: 'S7',
    server: (store, { server }) =>
      altered(store, {
        settle: async request => {
          const reply = await store.settle(request)
          const results = reply.results.map((result, index): SettleResult => {
            const item = request.items[index]
            const row = item === undefined ? undefined : server.book.row(item.rowId)
            return result.kind === 'already' && row !== undefined && row.fence !== item?.fence ? { kind: 'lost' } : result
          })
          return { ...reply, results }
        },
      }),
  },
  {
    name: 'settle writes the old schedule’s next after an edit',
    promise: 'D1',
    server: (store, { server }) =>
      altered(store, {
        settle: async request => {
          const reply = await store.settle(request)
          for (const [index, item] of request.items.entries()) {
            const row = server.book.row(item.rowId)
            if (item.kind !== 'run' || reply.results[index]?.kind !== 'settled') continue
            const { successor } = item.end
            if (row === undefined || row.parent !== null || row.removedAt !== null || successor === null) continue
            // neither for which definition nor for which cursor it was computed is looked at
            const moved = { ...row, nextAt: successor.nextAt, afterAt: successor.afterAt }
            server.book.update({ ...moved, dueAt: row.open === null ? dueWhenFree(moved, server.now()) : row.dueAt })
          }
          return reply
        },
      }),
  },
  {
    name: 'what is handed back is due when its lease would have run out',
    promise: 'L4',
    server: (store, { server }) =>
      altered(store, {
        settle: async request => {
          const expiries = request.items.map(({ rowId }) => server.book.row(rowId)?.dueAt ?? 0)
          const reply = await store.settle(request)
          for (const [index, item] of request.items.entries()) {
            const row = server.book.row(item.rowId)
            const isBack = item.kind === 'run' && item.end.kind === 'handBack' && reply.results[index]?.kind === 'settled'
            if (isBack && row?.lease === null && row.open !== null) server.book.update({ ...row, dueAt: expiries[index] ?? row.dueAt })
          }
          return reply
        },
      }),
  },
  {
    name: 'planned after start',
    promise: 'L3',
    server: (store, { server }) => {
      const later = new Map<string, readonly LedgerLine[]>()
      const settleOne = async (owner: string, item: SettleItem): Promise<SettleResult> => {
        const isStart = item.kind === 'plan' && item.plan.then.kind !== 'idle'
        const sent = isStart ? { ...item, plan: { ...item.plan, lines: [] } } : item
        const result = (await store.settle({ owner, items: [sent] })).results[0] ?? { kind: 'lost' }
        // what the plan passed over is written down when the run ends, if it does
        if (isStart && result.kind === 'granted') later.set(keyOf(result.grant.row.id, result.grant.row.fence), item.plan.lines)
        const key = keyOf(item.rowId, item.fence)
        if (item.kind === 'run' && result.kind === 'settled') {
          for (const line of later.get(key) ?? []) server.book.append(line)
          later.delete(key)
        }
        return result
      }
      return altered(store, {
        settle: async ({ owner, items }) => {
          const results: SettleResult[] = []
          for (const item of items) results.push(await settleOne(owner, item))
          return { now: server.now(), results }
        },
      })
    },
  },
  {
    name: 'plan written under an expired lease',
    promise: 'S8',
    server: (store, { server }) =>
      altered(store, {
        settle: async request => {
          const expired = request.items.flatMap(({ kind, rowId, fence }) => {
            const row = server.book.row(rowId)
            const isMeant = kind === 'plan' && row?.fence === fence && row.lease !== null && row.dueAt <= server.now()
            return isMeant ? [row] : []
          })
          for (const row of expired) server.book.update({ ...row, dueAt: server.now() + 1 })
          const reply = await store.settle(request)
          for (const { id, fence, dueAt } of expired) {
            const row = server.book.row(id)
            if (row !== undefined && row.fence === fence && row.lease !== null) server.book.update({ ...row, dueAt })
          }
          const results = reply.results.map(result =>
            result.kind === 'granted'
              ? { ...result, grant: { ...result.grant, row: server.book.row(result.grant.row.id) ?? result.grant.row } }
              : result,
          )
          return { ...reply, results }
        },
      }),
  },
]

function keyOf(rowId: number, fence: number): string {
  return `${rowId}/${fence}`
}
