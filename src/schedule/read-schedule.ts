import { quoted } from '../domain/errors.ts'
import type { DstPolicy, Schedule } from '../domain/timetable.ts'
import { type CronTimes, readCron } from './cron.ts'
import { type Interval, readInterval } from './interval.ts'
import { expandNickname } from './nickname.ts'
import { OneInstant, type OneLocalTime, readOneOff } from './one-off.ts'
import { type Refuse, refusal, refuserFor } from './refusal.ts'
import { canonicalTimeZone } from './time-zone.ts'

const LONGEST_SCHEDULE = 256
const GAPS: readonly DstPolicy['gap'][] = [undefined, 'shift', 'skip']
const FOLDS: readonly DstPolicy['fold'][] = [undefined, 'first', 'last', 'both']

/** A schedule as it was read: a timetable where no zone matters, else the local times to look for in the zone. */
export type ReadSchedule =
  | { readonly kind: 'interval'; readonly timeZone: string; readonly timetable: Interval }
  | { readonly kind: 'instant'; readonly timeZone: string; readonly timetable: OneInstant }
  | {
      readonly kind: 'cron'
      readonly timeZone: string
      readonly times: CronTimes
      readonly dst: DstPolicy | undefined
      readonly expression: string
    }
  | { readonly kind: 'local time'; readonly timeZone: string; readonly times: OneLocalTime; readonly dst: DstPolicy | undefined }

/** Throws ONETICK_SCHEDULE, ONETICK_SCHEDULE_NEVER, ONETICK_TIME_ZONE, or ONETICK_OPTION for a DST policy there is not. */
export function readSchedule(spec: Schedule): ReadSchedule {
  checkKinds(spec)
  const { schedule, dst } = spec
  const refuse = refuserFor(schedule)
  const text = cleaned(schedule, refuse)
  const timeZone = canonicalTimeZone(spec.timeZone)
  if (/^every/i.test(text)) return { kind: 'interval', timeZone, timetable: readInterval(text.slice('every'.length).trim(), refuse) }
  if (!/^\d{4}-\d/.test(text)) {
    const expression = text.startsWith('@') ? expandNickname(text, refuse) : text
    return { kind: 'cron', timeZone, times: readCron(expression, refuse), dst, expression }
  }
  const oneOff = readOneOff(text, refuse)
  if (oneOff instanceof OneInstant) return { kind: 'instant', timeZone, timetable: oneOff }
  if (spec.timeZone === undefined)
    throw refuse('nothing says which place this local time is of', 'Add Z or an offset, or give the job a timeZone.')
  return { kind: 'local time', timeZone, times: oneOff, dst }
}

/** What TypeScript promises, for those who do not use it. */
export function checkKinds({ schedule, timeZone, dst }: Schedule): void {
  if (typeof schedule !== 'string') throw refuserFor(schedule)('this is not a text', "Write for example '0 3 * * *' or 'every 30s'.")
  if (timeZone !== undefined && typeof timeZone !== 'string')
    throw refusal('ONETICK_TIME_ZONE', `time zone ${quoted(timeZone)} is not a text.`)
  if (dst === undefined) return
  if (typeof dst !== 'object' || dst === null) throw refusal('ONETICK_OPTION', `dst ${quoted(dst)} is not an object.`)
  const { gap, fold } = dst
  if (!GAPS.includes(gap)) throw refusal('ONETICK_OPTION', `dst.gap ${quoted(gap)} is not 'shift' or 'skip'.`)
  if (!FOLDS.includes(fold)) throw refusal('ONETICK_OPTION', `dst.fold ${quoted(fold)} is not 'first', 'last' or 'both'.`)
}

function cleaned(schedule: string, refuse: Refuse): string {
  if (schedule.length > LONGEST_SCHEDULE) throw refuse(`this is longer than ${LONGEST_SCHEDULE} characters`, 'Split it into several jobs.')
  const text = schedule.replace(/^[ \t]+|[ \t]+$/g, '')
  if (text === '') throw refuse('this is empty', "Write for example '0 3 * * *' or 'every 30s'.")
  if (/^(?:CRON_)?TZ=/i.test(text)) throw refuse('the time zone does not belong here', "Give it as the job's timeZone.")
  const stranger = /[^A-Za-z0-9 \t*?/,#@:.+-]/u.exec(text)
  if (stranger !== null) throw refuse(`${quoted(stranger[0])} is not a character that schedules have`, foreignRemedy(stranger[0]))
  return text
}

function foreignRemedy(character: string): string | undefined {
  return character === '~' ? 'Name one value; to spread jobs out, give them jitter.' : undefined
}
