/** What was looked at, and what came of it. `unknown`: it could not be found out. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail' | 'unknown'
  /** One sentence or more. */
  readonly text: string
  readonly remedy: string | null
}

export function ok(name: string, text: string): Check {
  return { name, status: 'ok', text, remedy: null }
}

export function warn(name: string, text: string, remedy: string): Check {
  return { name, status: 'warn', text, remedy }
}

export function fail(name: string, text: string, remedy: string | null): Check {
  return { name, status: 'fail', text, remedy }
}

export function unknown(name: string, text: string, remedy: string | null = null): Check {
  return { name, status: 'unknown', text, remedy }
}
