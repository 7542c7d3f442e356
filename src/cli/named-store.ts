import type { OnetickError } from '../domain/errors.ts'
import type { Onetick } from '../scheduler/onetick.ts'

/** A store that was named beside the config. */
export interface NamedStore {
  readonly url: string
  /** The variable that names it; null: the command line, which whoever typed it still sees. */
  readonly by: string | null
}

/** The one that was named for onetick, on the command line or in the environment. */
export function namedStore({ store }: { readonly store?: string }): NamedStore | null {
  return store === undefined ? namedBy('ONETICK_STORE') : { url: store, by: null }
}

/** DATABASE_URL is the app's: it stands in only where the config names no store. */
export function appStore(): NamedStore | null {
  return namedBy('DATABASE_URL')
}

function namedBy(variable: string): NamedStore | null {
  const url = process.env[variable]
  return url === undefined || url === '' ? null : { url, by: variable }
}

/** Whether the instance itself names a store, be it one that there is not. */
export function isStoreNamed(onetick: Onetick): boolean {
  try {
    return onetick.configured({}).store !== undefined
  } catch (error) {
    return (error as Partial<OnetickError>).code !== 'ONETICK_STORE_MISSING'
  }
}
