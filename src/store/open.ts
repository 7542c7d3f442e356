import { OnetickError, quoted } from '../domain/errors.ts'
import { checkName } from '../domain/name.ts'
import type { StoreAddress } from './address.ts'
import { memory } from './memory/index.ts'
import { type PoolLike, postgres } from './postgres/index.ts'
import { sqlite } from './sqlite/index.ts'
import type { Store, StoreOptions } from './store.ts'

/** A URL (`sqlite:./onetick.db`, `postgres://…`, `memory:`), a pg Pool of yours, or an opened store. */
export type StoreSource = string | PoolLike | Store

/** Throws `ONETICK_STORE_MISSING` or `ONETICK_STORE_URL`. Connects to nothing yet. */
export function openStore(source: StoreSource | undefined, options: StoreOptions): Store {
  if (options.namespace !== undefined) checkName('The namespace', options.namespace)
  if (source === undefined || source === '') throw new OnetickError('ONETICK_STORE_MISSING', 'No store was named.')
  if (typeof source === 'string') return openUrl(source, options)
  if (source === null || typeof source !== 'object') throw new OnetickError('ONETICK_STORE_URL', `The store is ${quoted(source)}.`)
  if ('claim' in source && 'settle' in source) return source
  if ('query' in source && 'connect' in source) return postgres({ ...options, pool: source })
  throw new OnetickError('ONETICK_STORE_URL', 'The store is neither a URL nor a Pool nor a store.')
}

/** What `store.elsewhere` told, opened in the thread it was told to. */
export function openAddress(address: StoreAddress): Store {
  return address.kind === 'sqlite' ? sqlite(address.options) : postgres(address.options)
}

function openUrl(url: string, options: StoreOptions): Store {
  const scheme = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase()
  switch (scheme) {
    case 'sqlite':
    case 'file':
      return sqlite({ ...options, path: pathOf(url) })
    case 'postgres':
    case 'postgresql':
      return postgres({ ...options, url })
    case 'memory':
      return memory(options)
    default:
      // the rest of a URL, or the whole of what is none, may hold a password
      throw new OnetickError(
        'ONETICK_STORE_URL',
        scheme === undefined ? 'The store is text, but no URL.' : `A store URL that starts with ${quoted(`${scheme}:`)} is not known.`,
      )
  }
}

/** `sqlite:./jobs.db`, `sqlite:/var/lib/jobs.db` and `sqlite:///var/lib/jobs.db` name files. */
function pathOf(url: string): string {
  const path = url.replace(/^[a-z]+:(\/\/(?=\/))?/i, '')
  if (path === '' || path.startsWith('//'))
    throw new OnetickError('ONETICK_STORE_URL', 'A sqlite: URL must name a file, as in sqlite:./onetick.db.')
  return path
}
