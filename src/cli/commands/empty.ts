import type { Session } from '../session.ts'

/** Nothing is there yet: the way to something. */
export function emptyStore({ out }: Session): void {
  out.hint(`No jobs in this store yet. Declare one in onetick.config.mjs (npx onetick init writes it):

  onetick.job('hello', { schedule: 'every 10s' }, ({ scheduledAt }) => console.log('hello', scheduledAt))

and start a replica: npx onetick start`)
}
