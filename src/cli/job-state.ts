import type { JobRow } from '../domain/job.ts'
import type { Instant } from '../domain/timetable.ts'
import { idText, oneLine } from './text.ts'
import type { Times } from './times.ts'

/** What a job is doing, for people. `expired`: its holder was not heard of in time, and nobody has taken over yet. */
export interface JobState {
  readonly kind: 'idle' | 'due' | 'running' | 'expired' | 'waiting' | 'paused' | 'removed'
  readonly text: (times: Times) => string
}

export function stateOf(row: JobRow, now: Instant): JobState {
  const { lease, open, pause, dueAt } = row
  if (lease !== null) {
    const owner = idText(lease.owner)
    return dueAt > now ? say('running', `running on ${owner}`) : say('expired', `held by ${owner}, lease ran out`)
  }
  if (row.removedAt !== null) return say('removed', 'removed')
  if (pause !== null && pause.until > now) return { kind: 'paused', text: times => pauseText(pause, times) }
  if (open !== null)
    return { kind: 'waiting', text: times => `waits for attempt ${open.attempt + 1}${dueAt > now ? ` at ${times.short(dueAt, now)}` : ''}` }
  return dueAt <= now ? say('due', 'due') : say('idle', 'idle')
}

function say(kind: JobState['kind'], text: string): JobState {
  return { kind, text: () => text }
}

function pauseText({ until, by, why }: NonNullable<JobRow['pause']>, times: Times): string {
  const parts = [
    Number.isFinite(until) ? ` until ${times.full(until)}` : '',
    by === null ? '' : ` by ${oneLine(by)}`,
    why === null ? '' : `: ${oneLine(why)}`,
  ]
  return `paused${parts.join('')}`
}
