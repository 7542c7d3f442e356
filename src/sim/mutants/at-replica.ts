import { claimed } from '../../domain/claim.ts'
import { OnetickError } from '../../domain/errors.ts'
import { compileSchedule } from '../../schedule/index.ts'
import { StoreClock } from '../../scheduler/store-clock.ts'
import type { Grant, RunSettlement, SettleItem } from '../../store/store.ts'
import { altered, type Mutant } from './mutant.ts'

/** Mistakes on the replica's side of the wire. */
export const atReplica: readonly Mutant[] = [
  {
    name: 'no attempt id',
    promise: 'S7',
    client: (store, { id, chance }) => altered(store, { claim: request => store.claim({ ...request, claimId: `${id}-${chance.next()}` }) }),
  },
  {
    name: 'a time-out taken for a win',
    promise: 'S7',
    client: (store, { server }) =>
      altered(store, {
        claim: async request => {
          const { tasks, except, limit } = request
          const now = server.now()
          const free = [...server.book.rows.values()].filter(
            ({ id, task, dueAt }) => dueAt <= now && tasks.includes(task) && !except.includes(id),
          )
          try {
            return await store.claim(request)
          } catch (error) {
            if (!(error instanceof OnetickError) || error.code !== 'ONETICK_STORE_TIMEOUT') throw error
            // nobody said no, so what was free is its own
            const won = free.slice(0, limit).map(row => claimed(row, request, now))
            const grants = won.flatMap(({ granted, row }) => (granted ? [{ row, manual: null, backfill: null }] : []))
            return { now, grants, nextDueAt: Number.POSITIVE_INFINITY, moreDue: false, anyLeased: true }
          }
        },
      }),
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
    name: 'lost renewal ignored with no deadline',
    promise: 'S5',
    client: store => {
      const trusted = ({ row, ...rest }: Grant): Grant => ({ ...rest, row: { ...row, dueAt: row.dueAt + 86_400_000 } })
      return altered(store, {
        claim: async request => {
          const reply = await store.claim(request)
          return { ...reply, grants: reply.grants.map(trusted) }
        },
        settle: async request => {
          const reply = await store.settle(request)
          return {
            ...reply,
            results: reply.results.map(result => ('grant' in result ? { ...result, grant: trusted(result.grant) } : result)),
          }
        },
        renew: async request => {
          const reply = await store.renew(request)
          return { ...reply, leases: reply.leases.filter(({ state }) => state !== 'lost') }
        },
      })
    },
  },
  {
    name: 'claims what its own handler runs',
    promise: 'L5',
    client: store => altered(store, { claim: request => store.claim({ ...request, except: [] }) }),
  },
  {
    name: 'settle advances by an estimated clock',
    promise: 'L3',
    client: (store, { host, server }) => {
      const clock = new StoreClock(host.clock)
      const advanced = (item: RunSettlement): SettleItem => {
        const { successor } = item.end
        const schedule = server.book.row(item.rowId)?.definition.schedule
        if (successor === null || schedule === undefined || schedule === null) return item
        const afterAt = compileSchedule(schedule).next(Math.max(successor.nextAt, clock.now()))
        return { ...item, end: { ...item.end, successor: { ...successor, afterAt } } }
      }
      return altered(store, {
        claim: async request => {
          const reply = await store.claim(request)
          clock.observe(reply.now)
          return reply
        },
        settle: request => store.settle({ ...request, items: request.items.map(item => (item.kind === 'run' ? advanced(item) : item)) }),
      })
    },
  },
  {
    name: 'plan given up at its deadline',
    promise: 'S7',
    client: (store, { host, marginMs }) => {
      const deadlines = new Map<string, number>()
      const failed = new Set<string>()
      return altered(store, {
        claim: async request => {
          const sentAtMs = host.clock.elapsedMs()
          const reply = await store.claim(request)
          for (const { row } of reply.grants) deadlines.set(`${row.id}/${row.fence}`, sentAtMs + row.dueAt - reply.now - marginMs)
          return reply
        },
        settle: async request => {
          const keys = request.items.flatMap(({ kind, rowId, fence }) => (kind === 'plan' ? [`${rowId}/${fence}`] : []))
          const isOver = keys.some(key => failed.has(key) && host.clock.elapsedMs() >= (deadlines.get(key) ?? Number.POSITIVE_INFINITY))
          // what goes again goes alone
          if (isOver) return { now: 0, results: [{ kind: 'lost' }] }
          try {
            return await store.settle(request)
          } catch (error) {
            for (const key of keys) failed.add(key)
            throw error
          }
        },
      })
    },
  },
]
