import { quoted } from '../domain/errors.ts'
import type { Schedule } from '../domain/timetable.ts'
import { inWords } from '../schedule/index.ts'
import { usage } from './failure.ts'

/** What stands where a schedule may stand: one, or why it is none. */
export interface AskedSchedule {
  readonly schedule: Schedule
  /** Null: it is one. */
  readonly refusal: unknown
  /** It was meant as one: as cron, nicknames and instants read (`2030-13-01`), and no job's name does. */
  readonly isMeant: boolean
}

export function askedSchedule(text: string, timeZone: string | undefined): AskedSchedule {
  const schedule: Schedule = { schedule: text, ...(timeZone === undefined ? {} : { timeZone }) }
  return { schedule, refusal: refusalOf(schedule), isMeant: /[\s*@]|^\d+-\d/.test(text) }
}

export function nothingAsked(name: string): Error {
  return usage('What was asked for is empty.', `Name ${name}, or write a schedule such as ${quoted('0 3 * * *')}.`)
}

function refusalOf(schedule: Schedule): unknown {
  try {
    inWords(schedule)
    return null
  } catch (error) {
    return error
  }
}
