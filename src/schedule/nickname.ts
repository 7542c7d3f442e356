import { quoted } from '../domain/errors.ts'
import type { Refuse } from './refusal.ts'

const NICKNAMES: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])

/** The cron expression a nickname stands for. Throws ONETICK_SCHEDULE for a nickname there is not. */
export function expandNickname(nickname: string, refuse: Refuse): string {
  const name = nickname.toLowerCase()
  const expression = NICKNAMES.get(name)
  if (expression !== undefined) return expression
  if (name === '@reboot')
    throw refuse(
      'a reboot is not a time, and replicas come and go',
      'Call the function when your program starts, or give the job a schedule.',
    )
  if (name.startsWith('@every')) throw refuse('an interval is written without the @', 'Write for example: every 30s')
  throw refuse(`there is no nickname ${quoted(nickname)}`, `Use one of ${[...NICKNAMES.keys()].join(', ')}.`)
}
