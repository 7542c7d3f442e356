import type { Release } from '../../domain/declare.ts'
import type { Ask, JobRow } from '../../domain/job.ts'
import type { LedgerLine } from '../../domain/run.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { Book, DueFilter } from '../book.ts'
import type { Presence, Replica, ReplicaView, RunView } from '../store.ts'

/** A Book in this process's memory: lost with it. Also what the simulator runs against. */
export class MemoryBook implements Book {
  readonly rows: Map<number, JobRow> = new Map()
  readonly lines: RunView[] = []
  readonly replicas: Map<string, ReplicaView> = new Map()
  readonly waiting: Map<number, readonly Ask[]> = new Map()
  readonly releases: Map<number, readonly Release[]> = new Map()
  readonly #byName: Map<string, number> = new Map()
  #lastRow = 0
  #lastLine = 0

  row(id: number): JobRow | undefined {
    return this.rows.get(id)
  }

  rowNamed(name: string): JobRow | undefined {
    const id = this.#byName.get(name)
    return id === undefined ? undefined : this.rows.get(id)
  }

  childOf(parentId: number, fence: number): JobRow | undefined {
    for (const row of this.rows.values()) if (row.parent?.id === parentId && row.parent.fence === fence) return row
    return undefined
  }

  isCauseOpen(parentId: number, cause: string): boolean {
    for (const row of this.rows.values()) if (row.parent?.id === parentId && row.open?.cause === cause) return true
    return false
  }

  insert(row: Omit<JobRow, 'id'>): JobRow {
    const made = { ...row, id: ++this.#lastRow }
    this.rows.set(made.id, made)
    if (made.parent === null) this.#byName.set(made.name, made.id)
    return made
  }

  update(row: JobRow): void {
    this.rows.set(row.id, row)
  }

  delete(id: number): void {
    this.rows.delete(id)
  }

  due({ limit, ...filter }: DueFilter & { readonly limit: number }): readonly JobRow[] {
    return [...this.#dueRows(filter)].sort((a, b) => a.dueAt - b.dueAt || a.id - b.id).slice(0, limit)
  }

  countDue({ cap, ...filter }: DueFilter & { readonly cap: number }): number {
    let count = 0
    for (const _ of this.#dueRows(filter)) if (++count >= cap) break
    return count
  }

  *#dueRows({ tasks, now, except }: DueFilter): Generator<JobRow> {
    for (const row of this.rows.values()) if (row.dueAt <= now && tasks.includes(row.task) && !except.includes(row.id)) yield row
  }

  nextDueAt(tasks: readonly string[], now: Instant): Instant {
    let next = Number.POSITIVE_INFINITY
    for (const row of this.rows.values()) {
      if (!tasks.includes(row.task)) continue
      if (row.dueAt > now) next = Math.min(next, row.dueAt)
      const following = row.nextAt + row.definition.policy.jitterMs
      if (row.lease !== null && following > now) next = Math.min(next, following)
    }
    return next
  }

  anyLeased(tasks: readonly string[], _now: Instant): boolean {
    for (const row of this.rows.values()) if (row.lease !== null && tasks.includes(row.task)) return true
    return false
  }

  claimedBy(owner: string, claimId: string, now: Instant): readonly JobRow[] {
    return [...this.rows.values()].filter(row => row.lease?.owner === owner && row.lease.claimId === claimId && row.dueAt > now)
  }

  append(line: LedgerLine): void {
    const isTwice = ({ final, jobId, cause, scheduledAt }: LedgerLine): boolean =>
      final && jobId === line.jobId && cause === line.cause && scheduledAt === line.scheduledAt
    if (line.final && this.lines.some(isTwice)) throw new TypeError(`two verdicts for ${line.jobId}/${line.cause}/${line.scheduledAt}`)
    const job = this.rows.get(line.jobId)?.name ?? ''
    this.lines.push({ ...line, id: ++this.#lastLine, job })
  }

  isSettled(of: { readonly rowId: number; readonly fence: number; readonly cause: string; readonly scheduledAt: Instant }): boolean {
    return this.lines.some(
      line =>
        line.rowId === of.rowId &&
        line.fence === of.fence &&
        line.cause === of.cause &&
        line.scheduledAt === of.scheduledAt &&
        line.end !== 'leaseLost',
    )
  }

  isCauseSettled(jobId: number, cause: string): boolean {
    return this.lines.some(line => line.final && line.jobId === jobId && line.cause === cause)
  }

  asks(jobId: number): readonly Ask[] {
    return this.waiting.get(jobId) ?? []
  }

  ask(jobId: number, id: string): Ask | undefined {
    return this.asks(jobId).find(ask => ask.id === id)
  }

  oldestAsk(jobId: number, kind: Ask['kind']): Ask | null {
    return this.asks(jobId).find(ask => ask.kind === kind) ?? null
  }

  insertAsk(jobId: number, ask: Ask): void {
    this.waiting.set(jobId, [...this.asks(jobId), ask])
  }

  moveAsk(jobId: number, id: string, at: Instant): void {
    this.waiting.set(
      jobId,
      this.asks(jobId).map(ask => (ask.id === id ? { ...ask, at } : ask)),
    )
  }

  deleteAsk(jobId: number, id: string): void {
    this.waiting.set(
      jobId,
      this.asks(jobId).filter(ask => ask.id !== id),
    )
  }

  saveReplica(replica: Replica, now: Instant): void {
    const quiet = { running: 0, draining: false, clockOffsetMs: 0, loopLagMs: 0, startedAt: now }
    this.replicas.set(replica.id, { ...quiet, ...this.replicas.get(replica.id), ...replica, seenAt: now })
  }

  seeReplica(id: string, presence: Presence, now: Instant): void {
    const replica = this.replicas.get(id)
    if (replica !== undefined) this.replicas.set(id, { ...replica, ...presence, seenAt: now })
  }

  forgetReplica(id: string): void {
    this.replicas.delete(id)
  }

  countLive(tasks: readonly string[], since: Instant): number {
    let count = 0
    for (const replica of this.replicas.values()) {
      if (replica.seenAt >= since && !replica.draining && replica.tasks.some(task => tasks.includes(task))) count++
    }
    return count
  }

  liveReleases(since: Instant): ReadonlySet<string> {
    return new Set([...this.replicas.values()].filter(({ seenAt }) => seenAt >= since).map(({ release }) => release))
  }

  seeRelease(jobId: number, release: Release): readonly Release[] {
    const known = this.releases.get(jobId) ?? []
    if (known.some(other => other.release === release.release)) return known
    const all = [...known, release]
    this.releases.set(jobId, all)
    return all
  }

  prune({ before, keepLines }: { readonly before: Instant; readonly keepLines: number }): null {
    const kept = new Map<number, { lines: number; finals: number }>()
    for (let i = this.lines.length - 1; i >= 0; i--) {
      const line = this.lines[i]
      if (line === undefined) continue
      const of = kept.get(line.jobId) ?? { lines: 0, finals: 0 }
      const isLastFinal = line.final && of.finals === 0
      if (line.endedAt < before && of.lines >= keepLines && !isLastFinal) this.lines.splice(i, 1)
      else kept.set(line.jobId, { lines: of.lines + 1, finals: of.finals + (line.final ? 1 : 0) })
    }
    for (const { id, seenAt } of this.replicas.values()) if (seenAt < before) this.replicas.delete(id)
    return null
  }
}
