// Looks at the whole content of a namespace before and after each step.
import { expect } from 'vitest'
import type { JobRow } from '../../src/domain/job.ts'
import type { Instant } from '../../src/domain/timetable.ts'
import type { RunView } from '../../src/store/readings.ts'
import type { Arena } from './arena.ts'
import { violations } from './invariants.ts'

export interface Snapshot {
  readonly rows: ReadonlyMap<number, JobRow>
  readonly runs: readonly RunView[]
  readonly now: Instant
}

export class Watcher {
  readonly trace: string[] = []
  readonly #arena: Arena
  #seen: Snapshot | null = null

  constructor(arena: Arena) {
    this.#arena = arena
  }

  async look(): Promise<Snapshot> {
    const [rows, runs, now] = [await this.#arena.rows(), await this.#arena.runs(), await this.#arena.now()]
    expect(violations({ rows, runs, now })).toEqual([])
    this.#seen = { rows: new Map(rows.map(row => [row.id, row])), runs, now }
    return this.#seen
  }

  /** As it was after the last step; nobody else changes it. */
  async before(): Promise<Snapshot> {
    return this.#seen ?? this.look()
  }

  /** Fences are the store's own affair, as long as they rise. */
  same(actual: JobRow | undefined, expected: JobRow): void {
    const { fence, cancelFence } = expected
    expect(actual).toEqual({ ...expected, fence: actual?.fence, cancelFence: cancelFence === fence ? actual?.fence : cancelFence })
    expect(actual?.fence).toBeGreaterThanOrEqual(Math.min(fence, actual?.fence ?? 0))
  }

  added(before: Snapshot, after: Snapshot, lines: readonly unknown[]): void {
    const news = after.runs.slice(before.runs.length)
    expect(news.length).toBe(lines.length)
    for (const line of lines) expect(news).toContainEqual(expect.objectContaining(line as object))
  }

  unchanged(before: Snapshot, after: Snapshot): void {
    expect([...after.rows.values()]).toEqual([...before.rows.values()])
    expect(after.runs).toEqual(before.runs)
  }

  others(before: Snapshot, after: Snapshot, id: number): void {
    for (const [other, row] of before.rows) if (other !== id) expect(after.rows.get(other)).toEqual(row)
  }

  say(what: string): void {
    this.trace.push(what)
  }
}

export function inWords({ name, open, lease, nextAt, dueAt, pause, removedAt }: JobRow): string {
  const state = lease === null ? 'free' : `${lease.owner}${lease.mayStart ? ' runs' : ' plans'}`
  const of = open === null ? '' : ` ${open.cause}/${open.scheduledAt} attempt ${open.attempt} failures ${open.failures}`
  return `${name} [${state}${of}, next ${nextAt}, due ${dueAt}${pause === null ? '' : `, paused ${pause.until}`}${removedAt === null ? '' : ', removed'}]`
}
