interface Common {
  readonly namespace: string
  readonly callTimeoutMs: number
}

/** How another thread opens the same store: plain values, which can be sent there. May hold a password: never to be printed. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly options: SqliteAddress }
  | { readonly kind: 'postgres'; readonly options: PostgresAddress }

interface SqliteAddress extends Common {
  readonly path: string
  readonly prefix: string
  readonly synchronous: 'full' | 'normal'
  readonly driver?: 'node:sqlite' | 'better-sqlite3' | 'libsql'
}

interface PostgresAddress extends Common {
  readonly url: string
  readonly schema?: string
  readonly prefix?: string
  readonly poolSize: number
}
