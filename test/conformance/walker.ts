import { expect } from 'vitest'
import { claimed } from '../../src/domain/claim.ts'
import { planned } from '../../src/domain/planned.ts'
import { type RunEnd, settled } from '../../src/domain/settle.ts'
import type { Instant } from '../../src/domain/timetable.ts'
import type { ClaimRequest, Grant } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import type { Chance } from './chance.ts'
import { Crowd } from './crowd.ts'
import { handedBack, heldBy, longMs, planOf, planSettlement, runSettlement, succeeded, threw } from './requests.ts'
import { rarely } from './rows.ts'
import { inWords, type Snapshot, Watcher } from './watcher.ts'

const owners = ['a', 'b', 'c'] as const

/** One random life of a few jobs under three replicas and some people; no one else is in the namespace. */
export class Walker {
  readonly #arena: Arena
  readonly #chance: Chance
  readonly #watch: Watcher
  readonly #crowd: Crowd
  /** What was granted and may still be thought of as held, also when it is not. */
  #grants: { grant: Grant; now: Instant }[] = []
  #requests: ClaimRequest[] = []

  constructor(arena: Arena, chance: Chance) {
    this.#arena = arena
    this.#chance = chance
    this.#watch = new Watcher(arena)
    this.#crowd = new Crowd(arena, chance, this.#watch)
  }

  get trace(): readonly string[] {
    return this.#watch.trace
  }

  async begin(): Promise<void> {
    for (let i = 0; i < 3; i++) await this.#crowd.declare(`job ${i}`, this.#crowd.policy())
  }

  async step(): Promise<void> {
    const chance = this.#chance
    const roll = chance.below(100)
    if (roll < 26) return this.#claim()
    if (roll < 52) return this.#settle()
    if (roll < 60) return this.#renew()
    if (roll < 74) return this.#pass(chance.pick([1, 5, 20, 60, 120]))
    if (roll < 78) return this.#checkpoint()
    return this.#crowd.person()
  }

  /** Everybody recovers: who holds something ends it, what is paused is resumed, what is due runs, what has expired is taken over. */
  async end(): Promise<void> {
    for (const { grant, now } of this.#grants.splice(0)) await this.#finish(grant, now)
    for (const { name, pause, parent, removedAt, definition } of await this.#arena.rows()) {
      if (pause !== null) await this.#crowd.control({ kind: 'resume', name })
      if (parent === null && removedAt === null) await this.#crowd.declare(name, definition.policy, rarely)
    }
    for (;;) {
      const { grants, now } = await this.#claimAs({ ...(await this.#arena.claimRequest({ owner: 'healer' })), limit: 20 })
      for (const grant of grants) await this.#finish(grant, now)
      const soon = Math.min(...[...(await this.#watch.look()).rows.values()].map(({ dueAt }) => dueAt))
      if (soon > now + longMs) return
      if (grants.length === 0) await this.#pass(Math.max(1, soon - now))
    }
  }

  /** L3, I1, D1: instants without a verdict, and verdicts of instants that no schedule in force asked for. */
  async unaccounted(): Promise<string[]> {
    return this.#crowd.eras.unaccounted(await this.#arena.rows(), await this.#arena.runs())
  }

  // ---- what replicas do ----

  async #claim(): Promise<void> {
    const chance = this.#chance
    const earlier = chance.is(0.15) ? this.#requests.at(-1 - chance.below(3)) : undefined
    const request = earlier ?? {
      ...(await this.#arena.claimRequest({ owner: chance.pick(owners) })),
      ttlMs: chance.pick([1, 30, 100, longMs]),
      limit: chance.pick([1, 2, 10]),
      except: chance.is(0.2) ? [chance.pick([...(await this.#watch.before()).rows.keys()])] : [],
      notAfter: (await this.#arena.now()) + (chance.is(0.1) ? -1 : longMs),
    }
    this.#requests.push(request)
    const { grants, now } = await this.#claimAs(request)
    this.#grants.push(...grants.map(grant => ({ grant, now })))
  }

  async #claimAs(request: ClaimRequest) {
    const before = await this.#watch.before()
    const reply = await this.#arena.store.claim(request)
    const after = await this.#watch.look()
    this.#watch.say(
      `claim ${request.owner} ttl ${request.ttlMs} limit ${request.limit}: ${reply.grants.map(({ row }) => inWords(row)).join(', ')}`,
    )
    const owned = [...before.rows.values()].filter(({ lease }) => lease?.owner === request.owner && lease.claimId === request.claimId)
    const stillHeld = owned.filter(row => row.dueAt > reply.now)
    const lines: unknown[] = []
    for (const [id, row] of before.rows) {
      const now = after.rows.get(id)
      if (now === undefined) throw new Error(`a claim deleted row ${id}`)
      if (JSON.stringify(now) === JSON.stringify(row)) continue
      expect(stillHeld).toEqual([])
      expect(row.dueAt).toBeLessThanOrEqual(after.now)
      expect(request.except).not.toContain(id)
      const expected = claimed(row, request, now.acquiredAt !== row.acquiredAt && now.lease !== null ? (now.acquiredAt ?? 0) : reply.now)
      this.#watch.same(now, { ...expected.row, dueAt: expected.granted ? now.dueAt : expected.row.dueAt })
      if (expected.granted) expect(Math.abs(now.dueAt - expected.row.dueAt)).toBeLessThanOrEqual(1)
      expect(now.fence).toBeGreaterThan(row.fence)
      lines.push(...expected.lines)
      expect(reply.grants.some(grant => grant.row.id === id)).toBe(expected.granted)
    }
    this.#watch.added(before, after, lines)
    for (const { row } of reply.grants) expect(row).toEqual(after.rows.get(row.id))
    if (stillHeld.length > 0) {
      // what runs out just now may be found or not
      const found = reply.grants.map(({ row }) => row.id)
      expect(stillHeld.map(({ id }) => id)).toEqual(expect.arrayContaining(found))
      for (const { id, dueAt } of stillHeld) if (dueAt > after.now) expect(found).toContain(id)
    } else if (reply.now <= request.notAfter) {
      const missed = [...before.rows.values()].filter(
        row => row.dueAt <= before.now && !request.except.includes(row.id) && after.rows.get(row.id)?.fence === row.fence,
      )
      if (missed.length > 0) expect(reply.grants.length + parkedIn(before, after)).toBeGreaterThanOrEqual(Math.min(1, request.limit))
      if (missed.length > 0) expect(reply.moreDue).toBe(true)
    }
    return reply
  }

  async #settle(): Promise<void> {
    if (this.#grants.length === 0) return this.#claim()
    const chance = this.#chance
    const index = chance.below(this.#grants.length)
    const { grant, now } = this.#grants[index]!
    // sometimes once more, later
    if (!chance.is(0.2)) this.#grants.splice(index, 1)
    if (!grant.row.lease?.mayStart) return this.#plan(grant, now)
    const end = chance.pick<(of: Grant) => RunEnd>([
      succeeded,
      succeeded,
      of => ({ ...succeeded(of), kind: 'final', verdict: 'timedOut' }) as RunEnd,
      of => threw(of, chance.pick([0, 30, 200])),
      of => handedBack(of),
      of => handedBack(of, false),
    ])(grant)
    await this.#settleRun(grant, end)
  }

  async #finish(grant: Grant, now: Instant): Promise<void> {
    if (grant.row.lease?.mayStart) return this.#settleRun(grant, succeeded(grant))
    await this.#plan(grant, now, true)
  }

  async #settleRun(grant: Grant, end: RunEnd): Promise<void> {
    const before = await this.#watch.before()
    const { kind } = await this.#arena.settle(runSettlement(grant, end))
    const after = await this.#watch.look()
    this.#watch.say(`settle ${inWords(grant.row)} ${end.kind}: ${kind}`)
    const row = before.rows.get(grant.row.id)
    const isHeld = row?.fence === grant.row.fence && row.lease?.owner === grant.row.lease?.owner && row.lease?.mayStart === true
    if (!isHeld || row === undefined) {
      expect(kind).toMatch(/already|lost/)
      const wrote = before.runs.some(
        run =>
          run.rowId === grant.row.id &&
          run.fence === grant.row.fence &&
          run.cause === grant.row.open?.cause &&
          run.scheduledAt === grant.row.open.scheduledAt &&
          run.end !== 'leaseLost',
      )
      expect(kind).toBe(wrote ? 'already' : 'lost')
      return this.#watch.unchanged(before, after)
    }
    expect(kind).toBe('settled')
    const now = after.rows.get(row.id)
    const at = now?.endedAt ?? after.runs.at(-1)?.endedAt ?? 0
    const expected = settled(row, end, at)
    if (expected.row === null) expect(now).toBe(undefined)
    else this.#watch.same(now, expected.row)
    this.#watch.added(before, after, expected.lines)
    this.#watch.others(before, after, row.id)
  }

  async #plan(grant: Grant, at: Instant, finish = false): Promise<void> {
    const before = await this.#watch.before()
    const made = planOf(grant, at)
    const item = planSettlement(grant, made)
    const result = await this.#arena.settle(item)
    const after = await this.#watch.look()
    this.#watch.say(
      `plan ${inWords(grant.row)} ${made.lines.map(line => `${line.end}@${line.scheduledAt}×${line.count}`).join(' ')} then ${made.then.kind}: ${result.kind}`,
    )
    const row = before.rows.get(grant.row.id)
    if (row?.lease == null || row.fence !== grant.row.fence || row.lease.owner !== grant.row.lease?.owner) {
      if (result.kind !== 'granted') expect(result.kind).toMatch(/already|lost/)
      else expect(result.grant.row.parent).toEqual({ id: grant.row.id, fence: grant.row.fence })
      return this.#watch.unchanged(before, after)
    }
    if (row.lease.mayStart) {
      expect(result.kind).toBe('granted')
      return this.#watch.unchanged(before, after)
    }
    // it ran out; already: somebody skipped an instant under this fence that the plan has a line for
    if (result.kind === 'lost' || result.kind === 'already') {
      expect(row.dueAt).toBeLessThanOrEqual(after.now)
      return this.#watch.unchanged(before, after)
    }
    expect(row.dueAt).toBeGreaterThan(before.now)
    const now = after.rows.get(row.id)
    const expected = planned(row, made, item, now?.endedAt !== row.endedAt ? (now?.endedAt ?? 0) : (now?.acquiredAt ?? 0))
    const kinds = { granted: 'granted', spawned: 'granted', freed: 'settled', gone: 'settled', stale: 'stale' } as const
    expect(result.kind).toBe(kinds[expected.kind])
    if (expected.kind === 'stale') this.#watch.unchanged(before, after)
    else if (expected.kind === 'gone') expect(now).toBe(undefined)
    else this.#watch.same(now, expected.row)
    if (expected.kind !== 'stale') this.#watch.added(before, after, made.lines)
    if (result.kind === 'granted') {
      expect(result.grant.row).toEqual(after.rows.get(result.grant.row.id))
      if (expected.kind === 'spawned') this.#watch.same(result.grant.row, { ...expected.child, id: result.grant.row.id })
    }
    if (result.kind === 'granted' || result.kind === 'stale') {
      if (finish) await this.#finish(result.grant, at)
      else this.#grants.push({ grant: result.grant, now: at })
    }
  }

  async #renew(): Promise<void> {
    if (this.#grants.length === 0) return
    const { row } = this.#chance.pick(this.#grants).grant
    const before = await this.#watch.before()
    const ttlMs = this.#chance.pick([1, 50, longMs])
    const { state, dueAt } = await this.#arena.renew(heldBy({ row }), ttlMs)
    const after = await this.#watch.look()
    this.#watch.say(`renew ${inWords(row)} ${ttlMs}: ${state}`)
    const was = before.rows.get(row.id)
    if (state === 'held') {
      expect(was).toMatchObject({ fence: row.fence, lease: { owner: row.lease?.owner } })
      expect(was?.dueAt).toBeGreaterThan(before.now)
      this.#watch.same(after.rows.get(row.id), { ...was!, dueAt })
      return this.#watch.others(before, after, row.id)
    }
    expect(state).toBe('lost')
    const isHeld = was?.fence === row.fence && was.lease?.owner === row.lease?.owner
    expect(isHeld && was.dueAt > after.now).toBe(false)
    this.#watch.unchanged(before, after)
  }

  async #checkpoint(): Promise<void> {
    if (this.#grants.length === 0) return
    const { row } = this.#chance.pick(this.#grants).grant
    const before = await this.#watch.before()
    const value = { step: this.#watch.trace.length }
    const done = await this.#arena.store.checkpoint(heldBy({ row }), value)
    const after = await this.#watch.look()
    this.#watch.say(`checkpoint ${inWords(row)}: ${done}`)
    const was = before.rows.get(row.id)
    if (!done) return this.#watch.unchanged(before, after)
    expect(was).toMatchObject({ fence: row.fence, lease: { owner: row.lease?.owner, mayStart: true } })
    this.#watch.same(after.rows.get(row.id), { ...was!, open: { ...was!.open!, checkpoint: value } })
  }

  async #pass(ms: number): Promise<void> {
    this.#watch.say(`wait ${ms}`)
    await this.#arena.sleep(ms)
  }
}

function parkedIn(before: Snapshot, after: Snapshot): number {
  return [...before.rows].filter(([id, row]) => after.rows.get(id)?.lease === null && after.rows.get(id)?.fence !== row.fence).length
}
