import type { Cancel } from '../../domain/clock.ts'
import type { Wakeup } from '../store.ts'
import type { Database } from './database.ts'
import { type Address, loadDriver, type PgListener } from './driver.ts'
import { statement } from './tables.ts'

const firstPauseMs = 100
const longestPauseMs = 5000

/** How often a connection that may have died without a word is asked whether it lives. */
const checkEveryMs = 60_000

/**
 * Hears of what became due ahead of time, over a connection of its own. Only an optimisation: it is `live` once its own call, sent over
 * the pool, has come back, so a pooler that swallows notifications is found out; and whatever was missed meanwhile, polling finds.
 */
export class Listening implements Wakeup {
  readonly #database: Database
  readonly #address: Address
  readonly #listener: () => void
  #client: PgListener | null = null
  #isLive = false
  #isClosed = false
  #pauseMs = firstPauseMs
  #cancelTimer: Cancel = () => undefined

  constructor(database: Database, address: Address, listener: () => void) {
    this.#database = database
    this.#address = address
    this.#listener = listener
    void this.#listen()
  }

  live(): boolean {
    return this.#isLive
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer()
    await this.#drop()
  }

  async #listen(): Promise<void> {
    const { callTimeoutMs, channel, random } = this.#database
    try {
      const client = (await loadDriver()).listener({
        connectionString: this.#address.url,
        connectionTimeoutMillis: callTimeoutMs,
        keepAlive: true,
        application_name: 'onetick',
      })
      if (this.#isClosed) return
      this.#client = client
      const call = random.id()
      // a connection that breaks says so once or twice, or after it was given up
      const lost = (): void => this.#lost(client)
      client.on('error', lost)
      client.on('end', lost)
      client.on('notification', ({ payload = '' }) => this.#client === client && this.#heard(payload, call))
      await this.#database.bounded(client.connect(), callTimeoutMs)
      // a digest: nothing in it needs quoting
      await this.#database.bounded(client.query(`listen ${channel}`), callTimeoutMs)
      await this.#database.query(statement('call', callSql), [channel, `call ${call}`])
      this.#checkLater(client)
    } catch {
      this.#lost(this.#client)
    }
  }

  #heard(payload: string, call: string): void {
    if (this.#isClosed) return
    if (payload === `call ${call}`) {
      this.#isLive = true
      this.#pauseMs = firstPauseMs
    } else if (payload.startsWith('call ')) return
    // its own call, too: something may have been missed before
    this.#listener()
  }

  #checkLater(client: PgListener): void {
    if (this.#isClosed || this.#client !== client) return
    const { clock, callTimeoutMs } = this.#database
    this.#cancelTimer = clock.after(checkEveryMs, () => {
      this.#database.bounded(client.query('select'), callTimeoutMs).then(
        () => this.#checkLater(client),
        () => this.#lost(client),
      )
    })
  }

  #lost(client: PgListener | null): void {
    if (this.#isClosed || this.#client !== client) return
    this.#cancelTimer()
    void this.#drop()
    const { clock, random } = this.#database
    this.#cancelTimer = clock.after(this.#pauseMs * (0.5 + random.next() / 2), () => void this.#listen())
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs)
  }

  async #drop(): Promise<void> {
    const client = this.#client
    this.#client = null
    this.#isLive = false
    // a connection that hangs is not waited for
    if (client !== null) await this.#database.bounded(client.end(), this.#database.callTimeoutMs).catch(() => undefined)
  }
}

const callSql = `
select pg_notify($1, $2)`
