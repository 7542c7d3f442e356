import { OnetickError } from '../../domain/errors.ts'

/** What Onetick uses of a connection pool: the `Pool` of `pg`, or one that is like it. */
export interface PoolLike {
  connect(): Promise<ClientLike>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** A connection taken out of the pool. */
export interface ClientLike {
  query(query: QueryLike): Promise<{ readonly rows: readonly unknown[] }>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** True: the connection is not used again. */
  release(destroy?: boolean): void
}

export interface QueryLike {
  readonly text: string
  readonly name?: string
  readonly values?: unknown[]
  readonly rowMode?: 'array'
  readonly types?: { getTypeParser(oid: number): (text: string) => unknown }
}

/** A connection that listens, opened beside the pool. */
export interface PgListener {
  connect(): Promise<unknown>
  query(text: string): Promise<unknown>
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: () => void): unknown
  end(): Promise<void>
}

export interface Driver {
  pool(config: object): PoolLike & { end(): Promise<void> }
  listener(config: object): PgListener
}

/** Loaded when it is needed: whoever hands in a pool, or uses another store, need not have it. */
export async function loadDriver(): Promise<Driver> {
  const { default: pg } = await import('pg').catch((cause: unknown) => {
    const why = (cause as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND' ? 'is not installed' : `cannot be loaded: ${String(cause)}`
    throw new OnetickError('ONETICK_STORE_DRIVER', `A postgres:// URL needs the package pg (npm install pg), which ${why}.`, {
      cause,
    })
  })
  return {
    pool: config => new pg.Pool(config),
    listener: config => new pg.Client(config),
  }
}

export interface Address {
  /** What `pg` is given. */
  readonly url: string
  /** For people: no user's password, no options. */
  readonly location: string
}

/** Throws `ONETICK_STORE_URL`, and shows nothing of a URL that cannot be read: a password may stand anywhere in it. */
export function addressOf(url: string): Address {
  // the cause would show the whole of it
  const parsed = URL.canParse(url) ? new URL(url) : null
  // an @ behind the host is the end of a password that holds a /, ? or # as it is: what stands before it is part of the secret
  if (parsed !== null && /@/.test(parsed.pathname + parsed.search + parsed.hash)) {
    throw new OnetickError('ONETICK_STORE_URL', 'The URL of the PostgreSQL store has an @ behind its host.', {
      remedy: 'Percent-encode what is special in user and password: %40 for @, %2F for /, %3F for ?, %23 for #.',
    })
  }
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new OnetickError('ONETICK_STORE_URL', 'The URL of the PostgreSQL store cannot be read.')
  }
  const user = parsed.username === '' ? '' : `${parsed.username}@`
  return { url, location: `postgres://${user}${parsed.host}${parsed.pathname}` }
}
