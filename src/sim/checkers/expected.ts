import type { Definition } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import { compileSchedule } from '../../schedule/index.ts'
import type { History } from '../history.ts'

/** A definition was in force for instants in (from, until]. */
interface Reign {
  readonly definition: Definition
  readonly from: Instant
  until: Instant
}

/** What a job's schedules asked for, told from what was declared and removed alone. */
export class Expected {
  readonly reigns: Reign[] = []

  /** By job. */
  static of(history: History): Map<string, Expected> {
    const jobs = new Map<string, Expected>()
    for (const event of history.events) {
      if (event.kind === 'declared' && (event.result === 'new' || event.result === 'edited')) {
        const own = jobs.get(event.job) ?? new Expected()
        jobs.set(event.job, own)
        own.end(event.at)
        own.reigns.push({ definition: event.definition, from: event.at, until: Number.POSITIVE_INFINITY })
      }
      if (event.kind === 'commanded' && event.command.kind === 'remove' && event.result === 'done')
        jobs.get(event.command.name)?.end(event.at)
    }
    return jobs
  }

  /** Removed, or defined anew. */
  end(at: Instant): void {
    const last = this.reigns.at(-1)
    if (last !== undefined && last.until > at) last.until = at
  }

  /** Whether some schedule in force named this instant. */
  has(instant: Instant): boolean {
    return this.reigns.some(({ definition, from, until }) => {
      if (instant <= from || instant > until || definition.schedule === null) return false
      return compileSchedule(definition.schedule).next(instant - 1) === instant
    })
  }

  /** All instants up to `horizon`, ascending. */
  upTo(horizon: Instant): Instant[] {
    const instants: Instant[] = []
    for (const { definition, from, until } of this.reigns) {
      if (definition.schedule === null) continue
      const timetable = compileSchedule(definition.schedule)
      for (let at = timetable.next(from); at <= Math.min(until, horizon); at = timetable.next(at)) instants.push(at)
    }
    return instants
  }

  get definitions(): readonly Definition[] {
    return this.reigns.map(({ definition }) => definition)
  }
}
