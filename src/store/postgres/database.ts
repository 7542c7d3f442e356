import type { Clock, Random } from '../../domain/clock.ts'
import { OnetickError } from '../../domain/errors.ts'
import { type Address, type ClientLike, loadDriver, type PoolLike } from './driver.ts'
import { explained, failureOf, isAnswered, isStartupRefused } from './failure.ts'
import { typeParserOf, type Values } from './row.ts'
import { channelOf, type Statement, type Tables } from './tables.ts'

export interface DatabaseOptions {
  readonly at: Address | { readonly pool: PoolLike; readonly location: string }
  readonly tables: Tables
  readonly namespace: string
  readonly callTimeoutMs: number
  readonly poolSize: number
  readonly clock: Clock
  readonly random: Random
}

interface Pool {
  connect(): Promise<ClientLike>
  end(): Promise<void>
}

/** A call under way, and the connection that it has just now. */
interface Call {
  client: ClientLike | null
  isOver: boolean
}

/** Once more this often where the server undid a call because of others (40001, 40P01). */
const contendedLimit = 3

/** Connections that may hold an outdated prepared statement; each tells of it once. */
const outdatedLimit = 32

/** Connections are kept through a poll's pause, so that an instant does not wait for one. */
const idleTimeoutMs = 60_000

/**
 * One plan a statement: to plan a claim anew takes longer than to carry it out. By the indexes, also where the plan was made while the
 * tables were empty.
 */
const settings = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off'

/**
 * The way to the server of every call: bounded in time, repeated where that is known to be harmless, failures explained.
 * A call is one statement and so one transaction; no lock outlives it.
 */
export class Database {
  readonly tables: Tables
  readonly namespace: string
  /** Where wake-ups are sent. */
  readonly channel: string
  readonly location: string
  readonly callTimeoutMs: number
  /** A row that is waited for is waited for twice: behind others who wait, and for whoever has it. The server gives up before the call does. */
  readonly lockTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly #options: DatabaseOptions
  #pool: Promise<Pool> | null = null
  #isClosed = false
  /** False behind a pooler that does not keep prepared statements apart. */
  #keepsPrepared = true
  /** False behind a pooler that takes no settings at the start of a connection. */
  #takesSettings = true

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.tables = options.tables
    this.namespace = options.namespace
    this.channel = channelOf(options.tables, options.namespace)
    this.location = options.at.location
    this.callTimeoutMs = options.callTimeoutMs
    this.lockTimeoutMs = Math.max(1, Math.floor(options.callTimeoutMs * 0.4))
    this.clock = options.clock
    this.random = options.random
  }

  /** Runs one statement. S7: where this rejects, it may have been carried out. */
  query(statement: Statement, values: unknown[]): Promise<readonly Values[]> {
    const call: Call = { client: null, isOver: false }
    return this.bounded(this.#repeated(statement, values, call), this.callTimeoutMs, () => this.#giveUp(call)).catch((error: unknown) => {
      throw explained(error, this.location)
    })
  }

  /** A connection of one's own until it is given back. */
  connect(): Promise<ClientLike> {
    const call: Call = { client: null, isOver: false }
    return this.bounded(this.#borrow(call), this.callTimeoutMs, () => this.#giveUp(call)).catch((error: unknown) => {
      throw explained(error, this.location)
    })
  }

  giveBack(client: ClientLike, isUsable: boolean): void {
    client.removeListener('error', ignore)
    client.release(!isUsable)
  }

  /** Rejects with what `late` returns when the time is up; the work's own end is then of no interest. */
  bounded<T>(work: Promise<T>, limitMs: number, late: () => unknown = () => this.#late()): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(limitMs, () => reject(late()))
      work.then(
        value => {
          cancel()
          resolve(value)
        },
        error => {
          cancel()
          reject(error)
        },
      )
    })
  }

  /** False behind a pooler that takes none at the start of a connection; known once a call was made. */
  get takesSettings(): boolean {
    return this.#takesSettings
  }

  checkOpen(): void {
    if (this.#isClosed) throw new OnetickError('ONETICK_STORE_CLOSED', `${this.location} was closed.`)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const pool = await this.#pool?.catch(() => null)
    // a connection that hangs is not waited for
    if (pool != null) await this.bounded(pool.end(), this.callTimeoutMs).catch(() => undefined)
  }

  async #repeated({ name, text }: Statement, values: unknown[], call: Call): Promise<readonly Values[]> {
    let [contended, outdated] = [0, 0]
    for (;;) {
      const isPrepared = this.#keepsPrepared
      try {
        return await this.#once(isPrepared ? { name, text, values } : { text, values }, call)
      } catch (error) {
        const failure = failureOf(error)
        if (call.isOver) throw error
        if (failure === 'contended' && contended < contendedLimit) await this.#pause(++contended)
        else if (failure === 'unprepared' && isPrepared) this.#keepsPrepared = false
        else if (failure === 'outdated' && outdated < outdatedLimit) outdated++
        else throw error
      }
    }
  }

  async #once(query: { text: string; values: unknown[]; name?: string }, call: Call): Promise<readonly Values[]> {
    const client = await this.#borrow(call)
    let isUsable = true
    try {
      const { rows } = await client.query({ ...query, rowMode: 'array', types: typeParsers })
      return rows as readonly Values[]
    } catch (error) {
      isUsable = isAnswered(error) && failureOf(error) !== 'outdated'
      throw error
    } finally {
      // when the time was up, the connection went with it
      if (!call.isOver) this.giveBack(client, isUsable)
      call.client = null
    }
  }

  async #borrow(call: Call): Promise<ClientLike> {
    this.checkOpen()
    this.#pool ??= this.#open()
    const opened = this.#pool
    try {
      const client = await (await opened).connect()
      client.on('error', ignore)
      if (!call.isOver) {
        call.client = client
        return client
      }
      this.giveBack(client, true)
      throw this.#late()
    } catch (error) {
      if (!this.#takesSettings || !isStartupRefused(error)) throw error
      this.#reopen(opened)
      return this.#borrow(call)
    }
  }

  /** Without settings. Others may have found out at the same time. */
  #reopen(refused: Promise<Pool>): void {
    if (this.#pool !== refused) return
    this.#takesSettings = false
    this.#pool = null
    void refused.then(pool => pool.end())
  }

  async #open(): Promise<Pool> {
    const { at, poolSize, callTimeoutMs } = this.#options
    if ('pool' in at) {
      const { pool } = at
      pool.on('error', ignore)
      return { connect: () => pool.connect(), end: async () => void pool.removeListener('error', ignore) }
    }
    const pool = (await loadDriver()).pool({
      connectionString: this.#takesSettings ? withSettings(at.url) : at.url,
      max: poolSize,
      connectionTimeoutMillis: callTimeoutMs,
      idleTimeoutMillis: idleTimeoutMs,
      keepAlive: true,
      application_name: 'onetick',
      ...(this.#takesSettings ? { statement_timeout: Math.ceil(callTimeoutMs * 0.9) } : {}),
    })
    pool.on('error', ignore)
    return pool
  }

  /** A call whose answer does not come: its connection is of no more use. */
  #giveUp(call: Call): OnetickError {
    call.isOver = true
    if (call.client !== null) this.giveBack(call.client, false)
    return this.#late()
  }

  #late(): OnetickError {
    return new OnetickError('ONETICK_STORE_TIMEOUT', `${this.location} did not answer in time.`)
  }

  #pause(attempt: number): Promise<void> {
    return new Promise(resolve => {
      this.clock.after(this.random.next() * 20 * 2 ** attempt, resolve)
    })
  }
}

/** Beside those that the URL itself holds. */
function withSettings(url: string): string {
  const address = new URL(url)
  address.searchParams.set('options', [...address.searchParams.getAll('options'), settings].join(' '))
  return address.href
}

/** Without a listener, a connection that breaks would end the process. Whoever uses it hears of it as the failure of the call. */
const ignore = (): void => undefined

const typeParsers = { getTypeParser: typeParserOf }
