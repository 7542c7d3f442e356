import { altered, type Mutant } from './mutant.ts'

/** Mistakes in what releases and people do: declare and control. */
export const atPeople: readonly Mutant[] = [
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
    name: 'an edit keeps the due instant but reads on with the new schedule',
    promise: 'D1',
    server: (store, { server }) =>
      altered(store, {
        declare: async request => {
          const reply = await store.declare(request)
          for (const [index, { name }] of request.jobs.entries()) {
            const row = server.book.rowNamed(name)
            if (row !== undefined && reply.results[index] === 'edited') server.book.update({ ...row, oldSchedules: [] })
          }
          return reply
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
  {
    name: 'one shared quiet range for pause and overlap',
    promise: 'D1',
    server: (store, { server }) => {
      // whichever is written last is the one that counts
      const sharing = async <T>(ids: readonly number[], write: () => Promise<T>): Promise<T> => {
        const before = ids.flatMap(id => server.book.row(id) ?? [])
        const reply = await write()
        for (const { id, busy, held } of before) {
          const row = server.book.row(id)
          if (row === undefined) continue
          if (row.held !== held && row.busy === busy) server.book.update({ ...row, busy: null })
          else if (row.busy !== busy) server.book.update({ ...row, held: null })
        }
        return reply
      }
      return altered(store, {
        settle: request =>
          sharing(
            request.items.map(({ rowId }) => rowId),
            () => store.settle(request),
          ),
        control: command => {
          const row = 'name' in command ? server.book.rowNamed(command.name) : undefined
          return sharing(row === undefined ? [] : [row.id], () => store.control(command))
        },
      })
    },
  },
  {
    name: 'asked-for runs beside the schedule',
    promise: 'S1',
    server: (store, { server }) =>
      altered(store, {
        control: async command => {
          const reply = await store.control(command)
          const row = command.kind === 'trigger' ? server.book.rowNamed(command.name) : undefined
          if (command.kind !== 'trigger' || reply.kind !== 'done' || row === undefined) return reply
          // it does not wait its turn: it has a row of its own at once
          server.book.deleteAsk(row.id, command.id)
          server.book.update({ ...row, asked: row.asked - 1 })
          const never = { nextAt: Number.POSITIVE_INFINITY, afterAt: Number.POSITIVE_INFINITY, oldSchedules: [] }
          const fresh = { asked: 0, pause: null, held: null, busy: null, lease: null, cancelFence: null }
          const open = { cause: command.id, scheduledAt: reply.now, openedAt: reply.now, attempt: 0, failures: 0, checkpoint: null }
          const { id, ...rest } = row
          server.book.insert({ ...rest, ...never, ...fresh, open, dueAt: reply.now, parent: { id, fence: 0 } })
          return reply
        },
      }),
  },
  {
    name: 'a removal ignores that a backfill went on',
    promise: 'S2',
    server: (store, { server }) =>
      altered(store, {
        control: command => {
          const row = command.kind === 'remove' ? server.book.rowNamed(command.name) : undefined
          if (command.kind === 'remove' && row !== undefined) {
            // as it stood when the verdicts were made
            for (const { cause, scheduledAt } of command.lines) if (cause !== '') server.book.moveAsk(row.id, cause, scheduledAt)
          }
          return store.control(command)
        },
      }),
  },
]
