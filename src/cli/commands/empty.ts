import { shortPath } from '../config.ts'
import type { Session } from '../session.ts'
import { printable } from '../text.ts'

/** Nothing is there yet: where was looked, and the way to something. */
export async function emptyStore(session: Session): Promise<void> {
  const { out, options } = session
  const [config, store] = [await session.config(), await session.store()]
  out.hint(`No jobs yet in ${await session.whereabouts()}.`)
  if (options.namespace !== undefined) out.hint("--namespace says which one; without it, the config's is looked at, else 'default'.")
  if (store.kind === 'memory') {
    out.hint("A memory store is its process's own: what a replica keeps there, no other process sees. --store names another.")
    return
  }
  const file = config === null ? 'onetick.config.mjs (npx onetick init writes it)' : printable(shortPath(config.path))
  out.hint(`
Declare one in ${file}:

  onetick.job('hello', { schedule: 'every 10s' }, ({ scheduledAt }) => console.log('hello', scheduledAt))

and start a replica: npx onetick start`)
}
