import type { Store } from '../../src/store/store.ts'

/** A store that is to keep the promises. */
export interface Subject {
  readonly name: string
  /** A fresh connection to one database, migrated, the same for the whole run; tests keep to namespaces of their own. */
  open(options?: { readonly namespace?: string }): Promise<Store>
  readonly capabilities: Capabilities
  /** Waits by the store's clock. Default: really. */
  sleep?(ms: number): Promise<void>
  /** A database of its own without a schema. Left out: the store has no schema to bring up to date. */
  empty?(): Promise<EmptyDatabase>
  /** `select … for update nowait` of the row on a connection of its own, let go at once. False: somebody holds its lock. Left out: rows have no locks. */
  lockProbe?(row: { readonly namespace: string; readonly id: number }): Promise<boolean>
  /** A table of the user's, which the body of a fenced transaction writes to. */
  effects?(): Promise<Effects>
}

/** What a store may be without; each false has its reason beside it. All else runs everywhere. */
export interface Capabilities {
  /** `transaction` runs its body. False: refused with `ONETICK_STORE_UNSUPPORTED`. */
  readonly transactions: boolean
  /** A lease is renewed while a fenced transaction of its own run is open. False: one writer at a time, the renewal waits. */
  readonly renewsInTransaction: boolean
}

export interface EmptyDatabase {
  open(): Promise<Store>
  remove(): Promise<void>
}

export interface Effects {
  write(connection: unknown, text: string): Promise<void>
  /** All that was committed, in order. */
  read(): Promise<readonly string[]>
}
