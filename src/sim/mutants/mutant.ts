import type { Store } from '../../store/store.ts'
import type { Chance } from '../chance.ts'
import type { Promised } from '../history.ts'
import type { Host } from '../host.ts'
import type { Server } from '../server.ts'
import type { World } from '../world.ts'

export interface ServerSide {
  readonly server: Server
  readonly world: World
  /** The wall clock of the replica that asks. */
  readonly wallOf: (owner: string) => number
}

export interface ClientSide {
  readonly id: string
  readonly host: Host
  readonly server: Server
  readonly chance: Chance
  /** By how much a lease is given up before the store would. */
  readonly marginMs: number
}

/** A mistake that somebody could make, built around the code under test and never into it. */
export interface Mutant {
  readonly name: string
  /** The promise it breaks. */
  readonly promise: Promised
  readonly server?: (store: Store, at: ServerSide) => Store
  readonly client?: (store: Store, at: ClientSide) => Store
}

/** The store with some methods replaced. */
export function altered(store: Store, by: Partial<Store>): Store {
  return {
    kind: store.kind,
    location: store.location,
    claim: request => store.claim(request),
    acquire: request => store.acquire(request),
    renew: request => store.renew(request),
    settle: request => store.settle(request),
    transaction: (held, body) => store.transaction(held, body),
    declare: request => store.declare(request),
    control: command => store.control(command),
    checkpoint: (held, value) => store.checkpoint(held, value),
    read: (kind, filter) => store.read(kind, filter),
    migrate: mode => store.migrate(mode),
    wake: listener => store.wake(listener),
    close: () => store.close(),
    ...by,
  }
}
