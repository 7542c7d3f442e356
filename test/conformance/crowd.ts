// What people and releases do in a random life.
import { expect } from 'vitest'
import type { JobRow } from '../../src/domain/job.ts'
import { asked, cancelled, nextSkipped, paused, removalLines, removed, resumed } from '../../src/domain/people.ts'
import type { Policy } from '../../src/domain/policy.ts'
import { DueInstants } from '../../src/domain/stretches.ts'
import type { Schedule } from '../../src/domain/timetable.ts'
import type { Command } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import type { Chance } from './chance.ts'
import { Eras } from './eras.ts'
import { aDeclaration, longMs, seenOf } from './requests.ts'
import { compile, every } from './rows.ts'
import { inWords, type Watcher } from './watcher.ts'

const periods = [40, 70, 110, 250]

export class Crowd {
  readonly eras: Eras = new Eras()
  readonly #arena: Arena
  readonly #chance: Chance
  readonly #watch: Watcher
  #asks = 0

  constructor(arena: Arena, chance: Chance, watch: Watcher) {
    this.#arena = arena
    this.#chance = chance
    this.#watch = watch
  }

  async person(): Promise<void> {
    const chance = this.#chance
    const jobs = [...(await this.#watch.before()).rows.values()].filter(({ parent }) => parent === null)
    const row = chance.pick(jobs)
    const { name } = row
    const now = await this.#arena.now()
    const kind = chance.pick([
      'trigger',
      'trigger',
      'backfill',
      'pause',
      'resume',
      'resume',
      'cancel',
      'skipNext',
      'remove',
      'edit',
      'edit',
      'again',
    ])
    const schedule = row.definition.schedule ?? every(1000)
    switch (kind) {
      case 'trigger':
        return this.control({ kind, name, id: chance.is(0.2) ? `m${this.#asks}` : `m${++this.#asks}` })
      case 'backfill':
        return this.control({ kind, name, id: `b${++this.#asks}`, at: 1000, until: chance.pick([1000, 3000]), schedule: every(1000) })
      case 'pause':
        return this.control({ kind, name, until: now + chance.pick([5, 60, longMs]), by: null, why: null })
      case 'resume':
        return this.control({ kind, name })
      case 'cancel':
        return this.control({ kind, rowId: chance.pick([...(await this.#watch.before()).rows.keys()]) })
      case 'skipNext': {
        const due = new DueInstants(row, compile)
        const nextAt = due.next(row.nextAt)
        return this.control({ kind, name, seen: seenOf(row), cursor: { nextAt, afterAt: due.next(nextAt) } })
      }
      case 'remove': {
        // verdicts up to an instant that the command cannot be too late for
        const lines = removalLines(row, await this.#arena.asks(name), now, compile)
        const nextAt = new DueInstants(row, compile).next(Math.max(now, row.nextAt - 1))
        return this.control({ kind, name, seen: seenOf(row), lines, nextAt })
      }
      case 'edit':
        return this.declare(name, row.definition.policy)
      case 'again':
        return this.declare(name, row.definition.policy, row.removedAt === null ? schedule : undefined)
    }
  }

  async control(command: Command): Promise<void> {
    const before = await this.#watch.before()
    const { kind, now } = await this.#arena.store.control(command)
    const after = await this.#watch.look()
    const row =
      'rowId' in command
        ? before.rows.get(command.rowId)
        : [...before.rows.values()].find(found => 'name' in command && found.name === command.name && found.parent === null)
    this.#watch.say(`${command.kind} ${row === undefined ? '' : inWords(row)}: ${kind}`)
    if (kind !== 'done' || row === undefined) return this.#watch.unchanged(before, after)
    const is = after.rows.get(row.id)
    const changes = (changed: { row: JobRow | null; lines: readonly unknown[] }, more: readonly unknown[] = []) => {
      if (changed.row === null) expect(is).toBe(undefined)
      else this.#watch.same(is, changed.row)
      this.#watch.added(before, after, [...more, ...changed.lines])
      this.#watch.others(before, after, row.id)
    }
    switch (command.kind) {
      case 'trigger':
      case 'backfill':
        return changes({ row: asked(row, now), lines: [] })
      case 'pause':
        return changes({ row: paused(row, command, now), lines: [] })
      case 'resume':
        return changes({ row: resumed(row, now), lines: [] })
      case 'cancel':
        return changes(cancelled(row, now))
      case 'skipNext':
        this.eras.skip(row.name, row.nextAt)
        return changes(nextSkipped(row, command.cursor, now))
      case 'remove':
        this.eras.end(row.name, now)
        return changes(removed(row, now), command.lines)
    }
  }

  async declare(name: string, policy: Policy, schedule: Schedule = every(this.#chance.pick(periods))): Promise<void> {
    const before = await this.#watch.before()
    const was = [...before.rows.values()].find(row => row.name === name && row.parent === null)
    const job = aDeclaration({ name, schedule, policy }, Math.max(before.now, was?.lastAt ?? 0))
    const { results, now } = await this.#arena.store.declare({
      replica: { id: 'client', host: '', version: '', release: 'r', role: 'client', tasks: [], capacity: 0 },
      jobs: [job],
      liveForMs: longMs,
      atRunTime: true,
    })
    const after = await this.#watch.look()
    this.#watch.say(`declare ${name} ${schedule.schedule}: ${results[0]}`)
    expect(results[0]).toBe(was === undefined ? 'new' : was.removedAt === null && was.hash === job.hash ? 'unchanged' : 'edited')
    if (results[0] === 'unchanged') return this.#watch.unchanged(before, after)
    const row = [...after.rows.values()].find(found => found.name === name && found.parent === null)!
    if (was !== undefined)
      expect(row).toMatchObject({ id: was.id, fence: was.fence, lease: was.lease, open: was.open, rev: was.rev + 1, asked: was.asked })
    // what was due at the edit stays with the old schedule, whose end the row itself knows
    const edge = row.oldSchedules.at(-1)?.until
    this.eras.end(name, edge ?? now)
    this.eras.begin(name, schedule, edge ?? row.nextAt - 1)
  }

  policy(): Policy {
    const chance = this.#chance
    return {
      overlap: chance.pick(['skip', 'skip', 'queue', 'replace', 'allow'] as const),
      misfire: chance.pick(['latest', 'latest', 'all', 'skip'] as const),
      windowMs: chance.pick([30, 200, 86_400_000]),
      misfireLimit: chance.pick([2, 100]),
      takeOver: chance.is(0.7),
      maxAttempts: chance.pick([1, 2, 3]),
      retries: chance.pick([0, 1, 2]),
      strategy: 'race',
      jitterMs: chance.pick([0, 0, 0, 15]),
    }
  }
}
