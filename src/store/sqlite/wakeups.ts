import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Wake-ups between the stores of one process; SQLite has no channel to others, which poll.
 * By file and namespace: two stores on one file meet, whatever path each was opened with.
 */
export class Wakeups {
  readonly #path: string
  readonly #namespace: string
  #knownKey: string | null = null
  readonly #mine: Set<() => void> = new Set()

  constructor(path: string, namespace: string) {
    this.#path = path
    this.#namespace = namespace
  }

  add(listener: () => void): void {
    const listeners = all.get(this.#key) ?? new Set()
    all.set(this.#key, listeners.add(listener))
    this.#mine.add(listener)
  }

  remove(listener: () => void): void {
    const listeners = all.get(this.#key)
    this.#mine.delete(listener)
    if (listeners?.delete(listener) && listeners.size === 0) all.delete(this.#key)
  }

  clear(): void {
    for (const listener of this.#mine) this.remove(listener)
  }

  wakeAll(): void {
    for (const listener of all.get(this.#key) ?? []) queueMicrotask(listener)
  }

  get #key(): string {
    this.#knownKey ??= JSON.stringify([realPath(this.#path), this.#namespace])
    return this.#knownKey
  }
}

const all: Map<string, Set<() => void>> = new Map()

function realPath(path: string): string {
  for (const [existing, rest] of [[path], [dirname(path), basename(path)]] as const) {
    try {
      return join(realpathSync(existing), rest ?? '')
    } catch {
      // not there yet
    }
  }
  return path
}
