import { OnetickError } from '../../domain/errors.ts'
import { leaseTask } from '../../domain/job.ts'
import type { Json } from '../../domain/json.ts'
import type { Instant } from '../../domain/timetable.ts'
import { systemClock } from '../../platform/system.ts'
import { control } from '../commands.ts'
import { declare } from '../releases.ts'
import type {
  AcquireReply,
  AcquireRequest,
  ClaimReply,
  ClaimRequest,
  Command,
  ControlReply,
  DeclareReply,
  DeclareRequest,
  Held,
  LeaseView,
  Migration,
  Readings,
  RenewReply,
  RenewRequest,
  RunsFilter,
  RunView,
  SettleReply,
  SettleRequest,
  Store,
  StoreOptions,
  Wakeup,
} from '../store.ts'
import { acquire, checkpoint, claim, renew, settle } from '../verbs.ts'
import { MemoryBook } from './book.ts'

export interface MemoryOptions extends StoreOptions {
  /** The store's clock, epoch milliseconds. Default: this machine's. */
  readonly now?: () => Instant
  /** What several stores opened in this process share. Default: a database of its own. */
  readonly database?: MemoryDatabase
}

/** Namespaces by name, and who wants to be woken. */
export class MemoryDatabase {
  readonly books: Map<string, MemoryBook> = new Map()
  readonly listeners: Set<() => void> = new Set()
}

/** A store in this process's memory, for tests and for trying things out: nothing outlives the process. */
export function memory(options: MemoryOptions = {}): Store {
  return new MemoryStore(options)
}

class MemoryStore implements Store {
  readonly kind: string = 'memory'
  readonly location: string = 'memory:'
  readonly #now: () => Instant
  readonly #database: MemoryDatabase
  readonly #book: MemoryBook
  readonly #mine: Set<() => void> = new Set()
  #isClosed = false

  constructor({ now = systemClock.now, database = new MemoryDatabase(), namespace = 'default' }: MemoryOptions) {
    this.#now = now
    this.#database = database
    this.#book = database.books.get(namespace) ?? new MemoryBook()
    database.books.set(namespace, this.#book)
  }

  claim(request: ClaimRequest): Promise<ClaimReply> {
    return this.#do(now => claim(this.#book, request, now))
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#do(now => acquire(this.#book, request, now))
  }

  renew(request: RenewRequest): Promise<RenewReply> {
    return this.#do(now => renew(this.#book, request, now))
  }

  async settle(request: SettleRequest): Promise<SettleReply> {
    const reply = await this.#do(now => settle(this.#book, request, now))
    if (request.items.some(item => item.kind === 'run' && item.end.kind === 'handBack')) this.#wakeAll()
    return reply
  }

  transaction<T>(_held: Held, _body: (connection: unknown) => Promise<T>): Promise<T> {
    return this.#do(() => {
      throw new OnetickError('ONETICK_STORE_UNSUPPORTED', 'The memory store has no transactions.')
    })
  }

  async declare(request: DeclareRequest): Promise<DeclareReply> {
    const reply = await this.#do(now => declare(this.#book, structuredClone(request), now))
    if (reply.results.some(result => result === 'new' || result === 'edited')) this.#wakeAll()
    return reply
  }

  async control(command: Command): Promise<ControlReply> {
    const reply = await this.#do(now => control(this.#book, command, now))
    if (reply.kind === 'done' && command.kind !== 'prune') this.#wakeAll()
    return reply
  }

  checkpoint(held: Held, value: Json): Promise<boolean> {
    return this.#do(now => checkpoint(this.#book, held, structuredClone(value), now))
  }

  read<K extends keyof Readings>(kind: K, filter: Readings[K]['filter']): Promise<Readings[K]['answer']> {
    return this.#do(now => structuredClone((readers[kind] as Reader<K>)(this.#book, filter, now)))
  }

  migrate(_mode: 'plan' | 'apply'): Promise<Migration> {
    return this.#do(() => ({ from: 1, to: 1, statements: [] }))
  }

  async wake(listener: () => void): Promise<Wakeup> {
    this.#database.listeners.add(listener)
    this.#mine.add(listener)
    return {
      live: () => !this.#isClosed,
      close: async () => {
        this.#database.listeners.delete(listener)
        this.#mine.delete(listener)
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const listener of this.#mine) this.#database.listeners.delete(listener)
  }

  async #do<T>(body: (now: Instant) => T): Promise<T> {
    if (this.#isClosed) throw new OnetickError('ONETICK_STORE_CLOSED', 'The store was closed.')
    return body(this.#now())
  }

  #wakeAll(): void {
    for (const listener of this.#database.listeners) queueMicrotask(listener)
  }
}

type Reader<K extends keyof Readings> = (book: MemoryBook, filter: Readings[K]['filter'], now: Instant) => Readings[K]['answer']

const readers: { [K in keyof Readings]: Reader<K> } = {
  jobs: (book, { name, removed = false, all = false }, now) => ({
    now,
    jobs: [...book.rows.values()]
      .filter(row => all || (row.parent === null && row.task !== leaseTask))
      .filter(row => (removed || row.removedAt === null) && (name === undefined || row.name === name))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id - b.id)),
  }),
  asks: (book, { name }, now) => {
    const row = book.rowNamed(name)
    return { now, asks: row === undefined ? [] : book.asks(row.id) }
  },
  leases: (book, _filter, now) => ({ now, leases: leasesOf(book) }),
  runs: (book, filter, now) => ({ now, runs: runsOf(book, filter) }),
  replicas: (book, _filter, now) => ({ now, replicas: [...book.replicas.values()] }),
  status: (_book, _filter, now) => ({ now, schemaVersion: 1 }),
  fitness: (_book, _filter, now) => ({
    ...{ kind: 'memory', now, refusals: [], schema: { found: 1, wanted: 1 } },
    ...{ latencyMs: 0, clock: { aheadMs: 0, withinMs: 0 } },
  }),
}

function leasesOf(book: MemoryBook): LeaseView[] {
  return [...book.rows.values()]
    .filter(row => row.parent === null)
    .map(({ name, lease, lastOwner, acquiredAt, dueAt, endedAt, fence }) => ({
      jobId: name,
      owner: lease?.owner ?? lastOwner,
      acquiredAt,
      expiredAt: lease === null ? endedAt : dueAt,
      held: lease !== null,
      fence,
    }))
    .sort((a, b) => (a.jobId < b.jobId ? -1 : 1))
}

function runsOf(book: MemoryBook, { job, since, before, limit, final, at }: RunsFilter): RunView[] {
  const runs: RunView[] = []
  for (let i = book.lines.length - 1; i >= 0 && runs.length < limit; i--) {
    const line = book.lines[i]
    if (line === undefined || (job !== undefined && line.job !== job)) continue
    if ((since !== undefined && line.endedAt < since) || (before !== undefined && line.id >= before)) continue
    if (at !== undefined && (line.scheduledAt > at || line.untilAt < at)) continue
    if (final === undefined || line.final === final) runs.push(line)
  }
  return runs
}
