import type { MemoryBook } from '../store/memory/book.ts'
import { MemoryDatabase, memory } from '../store/memory/index.ts'
import type { Store } from '../store/store.ts'
import type { World } from './world.ts'

/** All that the store keeps. Rows, lines and asks are never changed in place, so a copy of the tables is a copy of the state. */
export interface Snapshot {
  readonly rows: MemoryBook['rows']
  readonly lines: MemoryBook['lines']
  readonly replicas: MemoryBook['replicas']
  readonly waiting: MemoryBook['waiting']
  readonly releases: MemoryBook['releases']
}

/** The database server: one memory store on the world's clock, up or down. */
export class Server {
  readonly store: Store
  readonly book: MemoryBook
  readonly #world: World
  isUp = true

  constructor(world: World) {
    this.#world = world
    const database = new MemoryDatabase()
    this.store = memory({ database, now: () => this.now() })
    this.book = database.books.get('default') as MemoryBook
  }

  now(): number {
    return Math.floor(this.#world.nowMs)
  }

  snapshot(): Snapshot {
    const { rows, lines, replicas, waiting, releases } = this.book
    return { rows: new Map(rows), lines: [...lines], replicas: new Map(replicas), waiting: new Map(waiting), releases: new Map(releases) }
  }

  /** What was written since the snapshot is gone, acknowledged or not. */
  restore(to: Snapshot): void {
    for (const table of ['rows', 'replicas', 'waiting', 'releases'] as const) {
      const kept: Map<unknown, unknown> = this.book[table]
      kept.clear()
      for (const [key, value] of to[table]) kept.set(key, value)
    }
    this.book.lines.splice(0, this.book.lines.length, ...to.lines)
  }
}
