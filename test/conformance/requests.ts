// What replicas say to a store.
import type { Declaration } from '../../src/domain/declare.ts'
import type { JobRow } from '../../src/domain/job.ts'
import { type Plan, plan, type Seen } from '../../src/domain/plan.ts'
import type { RunEnd } from '../../src/domain/settle.ts'
import { successorOf } from '../../src/domain/successor.ts'
import type { Instant } from '../../src/domain/timetable.ts'
import type { Replica } from '../../src/store/replica.ts'
import type { Grant, Held, PlanSettlement, RunSettlement } from '../../src/store/store.ts'
import { aDefinition, compile, type DefinitionParts, never, rarely } from './rows.ts'

/** Long enough that nothing expires by accident, however slow the machine. */
export const longMs = 600_000

export interface JobParts extends DefinitionParts {
  readonly name?: string
  readonly task?: string
  readonly hash?: string
}

export function aReplica(parts: Partial<Replica> = {}): Replica {
  return { id: 'client', host: 'host', version: '0.0.0', release: 'r1', role: 'client', tasks: [], capacity: 0, ...parts }
}

export function aDeclaration({ name = 'job', task = 'task', hash, ...parts }: JobParts, now: Instant): Declaration {
  const definition = aDefinition({ schedule: rarely, ...parts })
  return { name, task, definition, hash: hash ?? JSON.stringify([task, definition]), upcoming: upcomingOf(definition.schedule, now) }
}

/** The next four instants, or all there are; of a dense schedule so many that no store is too slow for them. */
function upcomingOf(schedule: JobRow['definition']['schedule'], now: Instant): Instant[] {
  if (schedule === null) return [never]
  const { next } = compile(schedule)
  const upcoming = [next(now)]
  while ((upcoming.length < 4 || (upcoming.at(-1) ?? never) < now + 3000) && upcoming.at(-1) !== never)
    upcoming.push(next(upcoming.at(-1) ?? never))
  return upcoming
}

export function planOf({ row, manual, backfill }: Grant, now: Instant): Plan {
  return plan(row, { manual, backfill }, now, compile)
}

export function planSettlement({ row }: Grant, made: Plan): PlanSettlement & { readonly owner: string } {
  const { owner, claimId } = row.lease ?? { owner: 'nobody', claimId: null }
  return { kind: 'plan', rowId: row.id, fence: row.fence, claimId: claimId ?? '', ttlMs: longMs, plan: made, owner }
}

export function runSettlement({ row }: { readonly row: JobRow }, end: RunEnd): RunSettlement & { readonly owner: string } {
  const occurrence = row.open === null ? null : { cause: row.open.cause, scheduledAt: row.open.scheduledAt }
  return { kind: 'run', rowId: row.id, fence: row.fence, occurrence, end, owner: row.lease?.owner ?? 'nobody' }
}

export function succeeded({ row }: { readonly row: JobRow }): RunEnd {
  return { kind: 'final', verdict: 'succeeded', successor: successorOf(row, compile) }
}

export function threw({ row }: { readonly row: JobRow }, backoffMs = 0): RunEnd {
  return { kind: 'retry', backoffMs, successor: successorOf(row, compile), error: { name: 'Error', message: 'no', stack: null } }
}

export function handedBack({ row }: { readonly row: JobRow }, started = true): RunEnd {
  return { kind: 'handBack', started, successor: successorOf(row, compile) }
}

export function seenOf({ rev, asked, nextAt, open }: JobRow): Seen {
  return { rev, asked, nextAt, open: open === null ? null : { cause: open.cause, scheduledAt: open.scheduledAt } }
}

export function heldBy({ row }: { readonly row: JobRow }): Held {
  return { rowId: row.id, owner: row.lease?.owner ?? 'nobody', fence: row.fence }
}
