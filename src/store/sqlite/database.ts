import { existsSync } from 'node:fs'
import type { Clock, Random } from '../../domain/clock.ts'
import { OnetickError } from '../../domain/errors.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { Migration } from '../store.ts'
import { Connection } from './connection.ts'
import { type DriverName, loadDriver, type OpenFile } from './driver.ts'
import { failureOf, isBusy, isConnectionSpent } from './failure.ts'
import { Lane } from './lane.ts'
import { applyMigration, checkVersion, keepWriteAheadLog, planMigration, versionOf } from './migration.ts'

export interface DatabaseOptions {
  /** Absolute. */
  readonly path: string
  readonly prefix: string
  readonly synchronous: 'full' | 'normal'
  readonly callTimeoutMs: number
  readonly driver: DriverName | OpenFile | undefined
  readonly clock: Clock
  readonly random: Random
}

/** Reading is in nobody's way: only the own loop is to have its turns. */
const readsTurnMs = 5

/** A transaction that outlives the loop's turn. `begin` and `end` may refuse it. */
interface Long<B, T> {
  readonly begin: (connection: Connection, now: Instant) => B
  readonly body: (connection: Connection, begun: B) => Promise<T>
  readonly end: (connection: Connection, now: Instant) => void
}

/** The file: opened on first use, one connection for the short transactions, each of which is over when the loop turns. */
export class Database {
  readonly path: string
  readonly synchronous: 'full' | 'normal'
  readonly clock: Clock
  readonly #options: DatabaseOptions
  readonly #writes: Lane
  readonly #reads: Lane
  /** Long-lived transactions, each on a connection of its own. */
  readonly #guests: Set<Promise<unknown>> = new Set()
  #openFile: OpenFile | null = null
  #connection: Connection | null = null
  #isClosed = false

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.path = options.path
    this.synchronous = options.synchronous
    this.clock = options.clock
    const { clock, random, callTimeoutMs: timeoutMs, path: location } = options
    this.#writes = new Lane({ clock, random, timeoutMs, turnAfterMs: 0, location })
    this.#reads = new Lane({ clock, random, timeoutMs, turnAfterMs: readsTurnMs, location })
  }

  /** Holds the writer's lock from its first statement on: what it reads cannot change before it commits. */
  async write<T>(body: (connection: Connection, now: Instant) => T): Promise<T> {
    await this.#ready()
    return this.#writes.enter(() => this.#transact('begin immediate', body))
  }

  /** One consistent look, in nobody's way. */
  async read<T>(body: (connection: Connection, now: Instant) => T): Promise<T> {
    await this.#ready()
    return this.#reads.enter(() => this.#transact('begin', body))
  }

  /**
   * A writing transaction that outlives the loop's turn, on a connection of its own. The connection is closed afterwards
   * in any case: whoever still has it writes nothing once its lock is gone. What `body` throws comes back as it is.
   */
  async hold<B, T>({ begin, body, end }: Long<B, T>): Promise<T> {
    await this.#ready()
    const guest = await this.#writes.enter(() =>
      this.#opened(connection => {
        connection.exec('begin immediate')
        return { connection, begun: begin(connection, connection.now()) }
      }),
    )
    const done = this.#finished(guest, { body, end })
    this.#guests.add(done)
    try {
      return await done
    } finally {
      this.#guests.delete(done)
    }
  }

  async #finished<B, T>({ connection, begun }: { connection: Connection; begun: B }, { body, end }: Omit<Long<B, T>, 'begin'>): Promise<T> {
    try {
      const result = await body(connection, begun)
      this.#translated(() => {
        end(connection, connection.now())
        connection.exec('commit')
      })
      return result
    } finally {
      connection.close()
    }
  }

  /** The file as it is, whatever its schema, on a connection of its own. Null: there is none. */
  async look<T>(body: (connection: Connection) => T): Promise<T | null> {
    const openFile = await this.#ready()
    const { path, prefix } = this.#options
    if (!existsSync(path)) return null
    return this.#reads.enter(() =>
      this.#translated(() => {
        const connection = new Connection(openFile(path), prefix)
        try {
          return body(connection)
        } finally {
          connection.close()
        }
      }),
    )
  }

  async migrate(mode: 'plan' | 'apply'): Promise<Migration> {
    const openFile = await this.#ready()
    const { path, prefix } = this.#options
    const open = (): Connection => new Connection(openFile(path), prefix)
    const migration = mode === 'plan' ? planMigration : applyMigration
    return this.#writes.enter(() => this.#translated(() => migration(path, open, prefix)))
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const lane of [this.#writes, this.#reads]) lane.clear(this.#closedError())
    await Promise.allSettled([...this.#guests])
    this.#drop()
  }

  #transact<T>(begin: 'begin' | 'begin immediate', body: (connection: Connection, now: Instant) => T): T {
    this.#connection ??= this.#opened(connection => connection)
    const connection = this.#connection
    let hasBegun = false
    try {
      connection.exec(begin)
      hasBegun = true
      const result = body(connection, connection.now())
      connection.exec('commit')
      return result
    } catch (error) {
      if (hasBegun && !rolledBack(connection)) this.#drop()
      if (isConnectionSpent(error)) this.#drop()
      throw isBusy(error) ? error : failureOf(error, this.#options.path)
    }
  }

  /** A connection that is fit for use, handed to `first`; closed again where that throws. */
  #opened<T>(first: (connection: Connection) => T): T {
    this.checkOpen()
    const { path, prefix, synchronous } = this.#options
    if (!existsSync(path)) throw new OnetickError('ONETICK_STORE_NOT_MIGRATED', `There is no file ${path}.`)
    return this.#translated(() => {
      const connection = new Connection((this.#openFile as OpenFile)(path), prefix)
      try {
        connection.exec('pragma busy_timeout = 0')
        keepWriteAheadLog(connection, path)
        connection.exec(synchronous === 'full' ? 'pragma synchronous = full' : 'pragma synchronous = normal')
        checkVersion(versionOf(connection), path)
        return first(connection)
      } catch (error) {
        connection.close()
        throw error
      }
    })
  }

  #translated<T>(step: () => T): T {
    try {
      return step()
    } catch (error) {
      throw isBusy(error) ? error : failureOf(error, this.#options.path)
    }
  }

  checkOpen(): void {
    if (this.#isClosed) throw this.#closedError()
  }

  #closedError(): OnetickError {
    return new OnetickError('ONETICK_STORE_CLOSED', `The store on ${this.#options.path} was closed.`)
  }

  async #ready(): Promise<OpenFile> {
    this.checkOpen()
    this.#openFile ??= await loadDriver(this.#options.driver)
    this.checkOpen()
    return this.#openFile
  }

  #drop(): void {
    this.#connection?.close()
    this.#connection = null
  }
}

/** SQLite rolls back by itself after some failures; then there is nothing left to do. */
function rolledBack(connection: Connection): boolean {
  try {
    connection.exec('rollback')
    return true
  } catch (error) {
    return error instanceof Error && error.message.includes('no transaction is active')
  }
}
