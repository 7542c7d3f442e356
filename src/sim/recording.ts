import type { Json } from '../domain/json.ts'
import type {
  AcquireReply,
  AcquireRequest,
  ClaimReply,
  ClaimRequest,
  Command,
  ControlReply,
  DeclareReply,
  DeclareRequest,
  Grant,
  Held,
  Migration,
  Readings,
  RenewReply,
  RenewRequest,
  SettleReply,
  SettleRequest,
  Store,
  Wakeup,
} from '../store/store.ts'
import type { History, HistoryEvent, Leased } from './history.ts'

/** A store that writes down what it answered. At the store or at a client: a history is made of replies, whose times are the store's. */
export class RecordingStore implements Store {
  readonly #store: Store
  readonly #history: History
  readonly #seen: Set<string> = new Set()
  readonly #onEvent: (event: HistoryEvent) => void

  constructor(store: Store, history: History, onEvent: (event: HistoryEvent) => void = () => undefined) {
    this.#store = store
    this.#history = history
    this.#onEvent = onEvent
  }

  get kind(): string {
    return this.#store.kind
  }

  get location(): string {
    return this.#store.location
  }

  async claim(request: ClaimRequest): Promise<ClaimReply> {
    const reply = await this.#store.claim(request)
    for (const grant of reply.grants) this.#leased(grant, 'claim', { at: reply.now, notAfter: request.notAfter })
    return reply
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const reply = await this.#store.acquire(request)
    if (reply.kind === 'granted')
      this.#leased({ row: reply.row, manual: null, backfill: null }, 'claim', { at: reply.now, notAfter: request.notAfter })
    return reply
  }

  async renew(request: RenewRequest): Promise<RenewReply> {
    const reply = await this.#store.renew(request)
    for (const { rowId, fence, state, dueAt } of reply.leases) {
      if (state === 'held') this.#add({ kind: 'renewed', at: reply.now, rowId, fence, owner: request.owner, expiresAt: dueAt })
    }
    return reply
  }

  async settle(request: SettleRequest): Promise<SettleReply> {
    const reply = await this.#store.settle(request)
    for (const [index, item] of request.items.entries()) {
      const result = reply.results[index]
      if (result === undefined) continue
      const end = item.kind === 'plan' ? 'plan' : item.end.kind
      this.#add({
        kind: 'settled',
        at: reply.now,
        rowId: item.rowId,
        fence: item.fence,
        owner: request.owner,
        what: item.kind,
        end,
        started: item.kind === 'run' && (item.end.kind !== 'handBack' || item.end.started),
        occurrence: item.kind === 'run' ? item.occurrence : null,
        result: result.kind,
      })
      if (result.kind === 'granted') this.#leased(result.grant, 'plan', { at: reply.now, notAfter: null })
    }
    return reply
  }

  transaction<T>(held: Held, body: (connection: unknown) => Promise<T>): Promise<T> {
    return this.#store.transaction(held, body)
  }

  async declare(request: DeclareRequest): Promise<DeclareReply> {
    const reply = await this.#store.declare(request)
    for (const [index, { name, hash, definition }] of request.jobs.entries()) {
      const result = reply.results[index]
      if (result === undefined || result === 'late') continue
      const { id, release } = request.replica
      const atRunTime = request.atRunTime === true
      this.#add({ kind: 'declared', at: reply.now, job: name, replica: id, release, hash, definition, atRunTime, result })
    }
    return reply
  }

  async control(command: Command): Promise<ControlReply> {
    const reply = await this.#store.control(command)
    this.#add({ kind: 'commanded', at: reply.now, command, result: reply.kind })
    return reply
  }

  async checkpoint(held: Held, value: Json): Promise<boolean> {
    const isKept = await this.#store.checkpoint(held, value)
    if (isKept) {
      const { now } = await this.#store.read('status', {})
      this.#add({ kind: 'checkpointed', at: now, rowId: held.rowId, fence: held.fence, owner: held.owner })
    }
    return isKept
  }

  read<K extends keyof Readings>(kind: K, filter: Readings[K]['filter']): Promise<Readings[K]['answer']> {
    return this.#store.read(kind, filter)
  }

  migrate(mode: 'plan' | 'apply'): Promise<Migration> {
    return this.#store.migrate(mode)
  }

  wake(listener: () => void): Promise<Wakeup> {
    return this.#store.wake(listener)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** A repeated ask is answered with what was granted before: that is no second lease. */
  #leased({ row }: Grant, by: 'claim' | 'plan', { at, notAfter }: Pick<Leased, 'at' | 'notAfter'>): void {
    const { lease, open } = row
    if (lease === null) return
    const key = `${row.id}/${row.fence}/${lease.owner}/${lease.claimId}/${row.acquiredAt}/${lease.mayStart}/${open?.attempt ?? 0}`
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    this.#add({
      kind: 'leased',
      by,
      at,
      notAfter,
      rowId: row.id,
      fence: row.fence,
      owner: lease.owner,
      job: row.name,
      claimId: lease.claimId,
      isExtra: row.parent !== null,
      overlap: row.definition.policy.overlap,
      mayStart: lease.mayStart,
      open: open === null ? null : { cause: open.cause, scheduledAt: open.scheduledAt, attempt: open.attempt },
      expiresAt: row.dueAt,
    })
  }

  #add(event: HistoryEvent): void {
    this.#history.events.push(event)
    this.#onEvent(event)
  }
}
