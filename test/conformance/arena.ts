// A namespace of its own, jobs in the state that a test needs, the verbs with what is usual filled in.
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Declaration } from '../../src/domain/declare.ts'
import type { Ask, JobRow } from '../../src/domain/job.ts'
import type { Plan } from '../../src/domain/plan.ts'
import type { Instant } from '../../src/domain/timetable.ts'
import type { RunView } from '../../src/store/readings.ts'
import type {
  AcquireReply,
  AcquireRequest,
  ClaimReply,
  ClaimRequest,
  Command,
  ControlReply,
  DeclareReply,
  DeclareRequest,
  Grant,
  Held,
  Renewed,
  SettleItem,
  SettleResult,
  Store,
} from '../../src/store/store.ts'
import { violations } from './invariants.ts'
import { aDeclaration, aReplica, type JobParts, longMs, planOf, planSettlement, runSettlement, succeeded } from './requests.ts'
import { listed } from './rows.ts'
import type { Subject } from './subject.ts'

const year = 365 * 86_400_000

/** What a test arranged came too late, which says nothing of the store. */
export class TooSlow extends Error {}

export type ClaimParts = Partial<Omit<ClaimRequest, 'presence'>>

export class Arena {
  readonly subject: Subject
  readonly namespace: string
  readonly store: Store
  /** Doubles each time the machine was too slow for the instants of a test. */
  readonly pace: number
  readonly #opened: Store[] = []

  private constructor(subject: Subject, namespace: string, store: Store, pace: number) {
    this.subject = subject
    this.pace = pace
    this.namespace = namespace
    this.store = store
    this.#opened.push(store)
  }

  static async enter(subject: Subject, pace: number): Promise<Arena> {
    const namespace = `test-${randomUUID()}`
    return new Arena(subject, namespace, await subject.open({ namespace }), pace)
  }

  async leave(): Promise<void> {
    await Promise.all(this.#opened.map(store => store.close()))
  }

  /** One more connection, as another replica has it. */
  async connect(namespace: string = this.namespace): Promise<Store> {
    const store = await this.subject.open({ namespace })
    this.#opened.push(store)
    return store
  }

  /** Another namespace of the same database. */
  async beside(namespace: string): Promise<Arena> {
    return new Arena(this.subject, namespace, await this.subject.open({ namespace }), this.pace)
  }

  // ---- time ----

  async now(): Promise<Instant> {
    return (await this.store.read('status', {})).now
  }

  async sleep(ms: number): Promise<void> {
    await (this.subject.sleep === undefined ? wait(ms) : this.subject.sleep(ms))
  }

  /** Returns as soon as the store's clock has reached `instant`. */
  async until(instant: Instant): Promise<void> {
    for (let now = await this.now(); now < instant; now = await this.now()) await this.sleep(instant - now)
  }

  /** What a test arranged has come in time; else it is arranged anew with instants twice as far apart. */
  inTime(holds: boolean | undefined): void {
    if (!holds) throw new TooSlow(`the machine is too slow, even at a pace of ${this.pace}`)
  }

  // ---- jobs ----

  async declare(job: Declaration, options: Partial<DeclareRequest> = {}): Promise<DeclareReply['results'][number]> {
    const { results } = await this.store.declare({ replica: aReplica(), jobs: [job], liveForMs: 30_000, ...options })
    return results[0] as DeclareReply['results'][number]
  }

  /** A job whose first instants lie ahead; its row. */
  async job(parts: JobParts = {}): Promise<JobRow> {
    const job = aDeclaration(parts, await this.now())
    expect(await this.declare(job, { atRunTime: true })).toMatch(/new|edited/)
    return this.row(job.name)
  }

  /** A job that is due just now, by the first of its instants; the others lie `gapsMs` after it, or a year. Gaps of some milliseconds go with the pace. */
  async due(parts: Omit<JobParts, 'schedule'> = {}, gapsMs: readonly number[] = []): Promise<JobRow> {
    const first = (await this.now()) + 25 * this.pace
    const schedule = listed(
      first,
      ...gapsMs.map(ms => first + (ms < 10 || ms > 10_000 ? ms : ms * this.pace)),
      first + year,
      first + 2 * year,
    )
    const row = await this.job({ ...parts, schedule })
    this.inTime(row.nextAt === first)
    await this.until(row.dueAt)
    return row
  }

  /** A job whose instants `gapsMs` after the first are due as well. */
  async late(parts: Omit<JobParts, 'schedule'> = {}, gapsMs: readonly number[] = [1, 2]): Promise<JobRow> {
    const row = await this.due(parts, gapsMs)
    await this.until(row.nextAt + (gapsMs.at(-1) ?? 0))
    return row
  }

  /** Many jobs that are due just now. */
  async manyDue(count: number, parts: Omit<JobParts, 'schedule' | 'name'> = {}): Promise<Instant> {
    const first = (await this.now()) + (100 + count) * this.pace
    const schedule = listed(first, first + year)
    const names = Array.from({ length: count }, (_, i) => `job-${String(i).padStart(4, '0')}`)
    const jobs = names.map(name => aDeclaration({ ...parts, name, schedule }, first - 1))
    await this.store.declare({ replica: aReplica(), jobs, liveForMs: 30_000, atRunTime: true })
    this.inTime((await this.rows()).every(row => row.nextAt === first))
    await this.until(first)
    return first
  }

  // ---- verbs ----

  async claim(parts: ClaimParts = {}, store: Store = this.store): Promise<ClaimReply> {
    return store.claim(await this.claimRequest(parts))
  }

  async claimRequest(parts: ClaimParts = {}): Promise<ClaimRequest> {
    return {
      owner: 'a',
      claimId: randomUUID(),
      tasks: ['task'],
      limit: 10,
      ttlMs: longMs,
      notAfter: parts.notAfter ?? (await this.now()) + longMs,
      except: [],
      liveForMs: 30_000,
      presence: { running: 0, draining: false, clockOffsetMs: 0, loopLagMs: 0 },
      ...parts,
    }
  }

  /** Claims just one row. */
  async grant(parts: ClaimParts = {}): Promise<Grant> {
    const { grants } = await this.claim(parts)
    expect(grants).toHaveLength(1)
    return grants[0] as Grant
  }

  /** Claims a row whose lease has run out by the time this returns: its holder has vanished. */
  async vanish(parts: ClaimParts = {}): Promise<Grant> {
    const grant = await this.grant({ owner: 'gone', ...parts, ttlMs: 1 })
    await this.until(grant.row.dueAt + 1)
    return grant
  }

  /** Claims one row that needs a plan, and writes the plan down. */
  async planned(parts: ClaimParts = {}): Promise<{ readonly grant: Grant; readonly plan: Plan; readonly result: SettleResult }> {
    const { grants, now } = await this.claim(parts)
    const [grant] = grants
    if (grant === undefined || grants.length > 1) throw new Error(`${grants.length} rows were claimed, not one`)
    expect(grant.row.lease?.mayStart).toBe(false)
    const made = planOf(grant, now)
    return { grant, plan: made, result: await this.settle(planSettlement(grant, made)) }
  }

  /** Claims what is due, plans where that is needed; the rows that may start. */
  async start(parts: ClaimParts = {}): Promise<Grant[]> {
    const { grants, now } = await this.claim(parts)
    const started: Grant[] = []
    for (const grant of grants) {
      if (grant.row.lease?.mayStart) started.push(grant)
      else {
        const result = await this.settle(planSettlement(grant, planOf(grant, now)))
        if (result.kind === 'granted') started.push(result.grant)
      }
    }
    return started
  }

  /** One that may start. */
  async startOne(parts: ClaimParts = {}): Promise<Grant> {
    const started = await this.start(parts)
    expect(started).toHaveLength(1)
    return started[0] as Grant
  }

  async acquire(parts: Partial<AcquireRequest> = {}, store: Store = this.store): Promise<AcquireReply> {
    const notAfter = parts.notAfter ?? (await this.now()) + longMs
    return store.acquire({ owner: 'a', claimId: randomUUID(), name: 'lease', ttlMs: longMs, ...parts, notAfter })
  }

  async renew(held: Held, ttlMs: number = longMs, store: Store = this.store): Promise<Renewed> {
    const { leases } = await store.renew({ owner: held.owner, ttlMs, leases: [{ rowId: held.rowId, fence: held.fence }] })
    expect(leases).toHaveLength(1)
    return leases[0] as Renewed
  }

  async settle(item: SettleItem, owner: string = ownerOf(item), store: Store = this.store): Promise<SettleResult> {
    const { results } = await store.settle({ owner, items: [bare(item)] })
    expect(results).toHaveLength(1)
    return results[0] as SettleResult
  }

  /** Ends a run well. */
  async succeed(grant: Grant): Promise<SettleResult> {
    return this.settle(runSettlement(grant, succeeded(grant)))
  }

  async control(command: Command): Promise<ControlReply['kind']> {
    return (await this.store.control(command)).kind
  }

  /** Asks for a run by hand. */
  async trigger(id = 'by-hand', name = 'job'): Promise<ControlReply['kind']> {
    return this.control({ kind: 'trigger', name, id })
  }

  // ---- content ----

  async rows(): Promise<readonly JobRow[]> {
    return (await this.store.read('jobs', { all: true, removed: true })).jobs
  }

  /** The job's own row. */
  async row(name = 'job'): Promise<JobRow> {
    const row = (await this.rows()).find(found => found.name === name && found.parent === null)
    if (row === undefined) throw new Error(`no job ${name}`)
    return row
  }

  async rowOf(id: number): Promise<JobRow | undefined> {
    return (await this.rows()).find(row => row.id === id)
  }

  async children(): Promise<JobRow[]> {
    return (await this.rows()).filter(row => row.parent !== null)
  }

  async asks(name = 'job'): Promise<readonly Ask[]> {
    return (await this.store.read('asks', { name })).asks
  }

  /** The ledger, oldest first. */
  async runs(job?: string): Promise<RunView[]> {
    const { runs } = await this.store.read('runs', { limit: 100_000, ...(job === undefined ? {} : { job }) })
    return [...runs].reverse()
  }

  /** `end reason` of each line, oldest first, the final ones marked. */
  async verdicts(job?: string): Promise<string[]> {
    const runs = await this.runs(job)
    return runs.map(
      ({ end, reason, final, count }) =>
        `${final ? '= ' : ''}${end}${reason === null ? '' : ` ${reason}`}${count === 1 ? '' : ` × ${count}`}`,
    )
  }

  /** What the whole content of the namespace must never show. */
  async violations(): Promise<string[]> {
    const rows = await this.rows()
    const waiting = new Map<string, number>()
    for (const { name, parent } of rows) if (parent === null) waiting.set(name, (await this.asks(name)).length)
    const found = violations({ rows, runs: await this.runs(), now: await this.now() })
    for (const row of rows) {
      const count = waiting.get(row.name)
      if (row.parent === null && row.asked !== count) found.push(`${row.name}: asked is ${row.asked}, but ${count} wait`)
    }
    return found
  }
}

function ownerOf(item: SettleItem): string {
  return 'owner' in item && typeof item.owner === 'string' ? item.owner : 'a'
}

function bare(item: SettleItem): SettleItem {
  const { owner: _, ...rest } = item as SettleItem & { owner?: string }
  return rest
}
