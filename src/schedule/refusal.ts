import { type ErrorCode, OnetickError, quoted } from '../domain/errors.ts'

/** Makes the error for one thing that is wrong with a schedule, and says what to write instead. */
export type Refuse = (wrong: string, remedy?: string) => OnetickError

/** A `Refuse` whose errors name the schedule that is being read. */
export function refuserFor(schedule: unknown): Refuse {
  return (wrong, remedy) => refusal('ONETICK_SCHEDULE', `schedule ${quoted(schedule)}: ${wrong}.`, remedy)
}

export function refusal(code: ErrorCode, detail: string, remedy?: string): OnetickError {
  return new OnetickError(code, detail, remedy === undefined ? {} : { remedy })
}
