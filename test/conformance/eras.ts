// Which schedule was in force when, and so which instants must have a verdict.
import type { JobRow } from '../../src/domain/job.ts'
import type { Instant, Schedule } from '../../src/domain/timetable.ts'
import type { RunView } from '../../src/store/readings.ts'
import { covers } from './invariants.ts'
import { compile, never } from './rows.ts'

/** A schedule that was in force for instants in (from, until]. */
interface Era {
  readonly schedule: Schedule
  readonly from: Instant
  until: Instant
}

export class Eras {
  readonly #eras = new Map<string, Era[]>()
  readonly #skipped = new Map<string, Instant[]>()

  begin(name: string, schedule: Schedule, from: Instant): void {
    this.#eras.set(name, [...(this.#eras.get(name) ?? []), { schedule, from, until: never }])
  }

  end(name: string, at: Instant): void {
    const era = this.#eras.get(name)?.at(-1)
    if (era !== undefined && era.until === never) era.until = at
  }

  /** An instant that was skipped by hand has its verdict although its schedule may be gone before it. */
  skip(name: string, at: Instant): void {
    this.#skipped.set(name, [...(this.#skipped.get(name) ?? []), at])
  }

  /** Sentences: instants without a verdict, and verdicts of instants that no schedule in force asked for. */
  unaccounted(rows: readonly JobRow[], runs: readonly RunView[]): string[] {
    return rows
      .filter(row => row.parent === null)
      .flatMap(row =>
        this.#of(
          row,
          runs.filter(run => run.jobId === row.id && run.final && run.cause === ''),
        ),
      )
  }

  #of(row: JobRow, lines: readonly RunView[]): string[] {
    const expected = new Set(this.#skipped.get(row.name))
    for (const { schedule, from, until } of this.#eras.get(row.name) ?? []) {
      const { next } = compile(schedule)
      const end = row.nextAt === never ? until : Math.min(until, row.nextAt - 1)
      for (let at = next(from); at <= end; at = next(at)) expected.add(at)
    }
    const found = [...expected].filter(at => !lines.some(line => covers(line, at))).map(at => `${row.name}: ${at} has no verdict`)
    for (const line of lines) {
      const inside = [...expected].filter(at => covers(line, at)).length
      if (inside === line.count) continue
      found.push(`${row.name}: ${line.end} says ${line.count} of ${line.scheduledAt}..${line.untilAt}, the schedules say ${inside}`)
    }
    return found
  }
}
