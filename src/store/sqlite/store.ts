import type { Clock } from '../../domain/clock.ts'
import type { Json } from '../../domain/json.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { StoreAddress } from '../address.ts'
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
  Migration,
  Readings,
  RenewReply,
  RenewRequest,
  SettleReply,
  SettleRequest,
  Store,
  Wakeup,
} from '../store.ts'
import { acquire, checkpoint, claim, renew, settle } from '../verbs.ts'
import { SqliteBook } from './book.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { fenced } from './fenced.ts'
import { readers } from './readings.ts'
import { Wakeups } from './wakeups.ts'

/** So much is done in one transaction, in one turn of the loop. What asks for more is done in several. */
const claimsAtOnce = 500
const renewalsAtOnce = 500
const settlementsAtOnce = 100
const declarationsAtOnce = 200

export interface SqliteStoreOptions extends DatabaseOptions {
  readonly namespace: string
  readonly elsewhere: StoreAddress | null
}

/** One file on one host. Each verb is a short transaction that holds the writer's lock; the clock is the host's. */
export class SqliteStore implements Store {
  readonly kind: string = 'sqlite'
  readonly location: string
  readonly #database: Database
  readonly #namespace: string
  readonly #wakeups: Wakeups
  readonly #clock: Clock
  readonly #callTimeoutMs: number
  readonly #elsewhere: StoreAddress | null

  constructor(options: SqliteStoreOptions) {
    const { path, namespace, clock, callTimeoutMs, elsewhere } = options
    this.location = `sqlite:${path}`
    this.#database = new Database(options)
    this.#namespace = namespace
    this.#wakeups = new Wakeups(path, namespace)
    this.#clock = clock
    this.#callTimeoutMs = callTimeoutMs
    this.#elsewhere = elsewhere
  }

  claim(request: ClaimRequest): Promise<ClaimReply> {
    const bounded = { ...request, limit: Math.min(request.limit, claimsAtOnce) }
    return this.#write((book, now) => claim(book, bounded, now))
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#write((book, now) => acquire(book, request, now))
  }

  async renew(request: RenewRequest): Promise<RenewReply> {
    const replies = await this.#inPieces(request.leases, renewalsAtOnce, leases => (book, now) => renew(book, { ...request, leases }, now))
    return { now: latest(replies), leases: replies.flatMap(({ leases }) => leases) }
  }

  async settle(request: SettleRequest): Promise<SettleReply> {
    const replies = await this.#inPieces(request.items, settlementsAtOnce, items => (book, now) => settle(book, { ...request, items }, now))
    // L4: what was handed back is due at once
    if (request.items.some(item => item.kind === 'run' && item.end.kind === 'handBack')) this.#wakeups.wakeAll()
    return { now: latest(replies), results: replies.flatMap(({ results }) => results) }
  }

  transaction<T>(held: Held, body: (connection: unknown) => Promise<T>): Promise<T> {
    return fenced({ database: this.#database, namespace: this.#namespace, clock: this.#clock, longestMs: this.#callTimeoutMs }, held, body)
  }

  async declare(request: DeclareRequest): Promise<DeclareReply> {
    const replies = await this.#inPieces(request.jobs, declarationsAtOnce, jobs => (book, now) => declare(book, { ...request, jobs }, now))
    const results = replies.flatMap(reply => reply.results)
    if (results.some(result => result === 'new' || result === 'edited')) this.#wakeups.wakeAll()
    return { now: latest(replies), results }
  }

  async control(command: Command): Promise<ControlReply> {
    if (command.kind === 'prune') return this.#prune(command)
    const reply = await this.#write((book, now) => control(book, command, now))
    if (reply.kind === 'done') this.#wakeups.wakeAll()
    return reply
  }

  checkpoint(held: Held, value: Json): Promise<boolean> {
    return this.#write((book, now) => checkpoint(book, held, value, now))
  }

  read<K extends keyof Readings>(kind: K, filter: Readings[K]['filter']): Promise<Readings[K]['answer']> {
    return readers[kind](this.#database, this.#namespace, filter)
  }

  migrate(mode: 'plan' | 'apply'): Promise<Migration> {
    return this.#database.migrate(mode)
  }

  /** Never live: other processes on the file cannot be told, so replicas poll. */
  async wake(listener: () => void): Promise<Wakeup> {
    this.#database.checkOpen()
    this.#wakeups.add(listener)
    return { live: () => false, close: async () => this.#wakeups.remove(listener) }
  }

  elsewhere(): StoreAddress | null {
    return this.#elsewhere
  }

  async close(): Promise<void> {
    this.#wakeups.clear()
    await this.#database.close()
  }

  #write<T>(body: (book: SqliteBook, now: Instant) => T): Promise<T> {
    return this.#database.write((connection, now) => body(new SqliteBook(connection, this.#namespace), now))
  }

  /** At least one piece, so that a request without items has its reply too. */
  async #inPieces<Item, Reply>(
    items: readonly Item[],
    most: number,
    step: (piece: readonly Item[]) => (book: SqliteBook, now: Instant) => Reply,
  ): Promise<Reply[]> {
    const replies: Reply[] = []
    for (let first = 0; first === 0 || first < items.length; first += most) {
      replies.push(await this.#write(step(items.slice(first, first + most))))
    }
    return replies
  }

  async #prune({ keepMs, keepLines }: Command & { readonly kind: 'prune' }): Promise<ControlReply> {
    for (let after = 0; ; ) {
      const step = await this.#write((book, now) => ({ now, next: book.prune({ before: now - keepMs, keepLines, after }) }))
      if (step.next === null) return { now: step.now, kind: 'done' }
      after = step.next
    }
  }
}

function latest(replies: readonly { readonly now: Instant }[]): Instant {
  return Math.max(...replies.map(({ now }) => now))
}
