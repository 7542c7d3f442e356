/**
 * Every error Onetick raises on purpose: a closed list of codes, each with a remedy.
 * `docs/errors.md` has a line for each; a test compares the two.
 */
export class OnetickError extends Error {
  override readonly name: 'OnetickError' = 'OnetickError'
  /** Stable, for programs. */
  readonly code: ErrorCode
  /** What to do about it, for people. */
  readonly remedy: string

  constructor(code: ErrorCode, detail: string, options?: { cause?: unknown; remedy?: string }) {
    const remedy = options?.remedy ?? remedies[code]
    super(`${code}: ${detail} ${remedy}`, options?.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.remedy = remedy
  }

  /** For logs: an error's message is not among what JSON takes by itself. Without the cause, which may hold a secret. */
  toJSON(): { readonly name: 'OnetickError'; readonly code: ErrorCode; readonly message: string; readonly remedy: string } {
    const { name, code, message, remedy } = this
    return { name, code, message, remedy }
  }
}

const remedies = {
  ONETICK_STORE_MISSING: "Name a store: store: 'sqlite:./onetick.db', or a postgres:// URL, or a Pool.",
  ONETICK_STORE_URL: 'Use sqlite:PATH, postgres://USER@HOST/DATABASE or memory:.',
  ONETICK_STORE_DRIVER: 'Install one of the drivers named above beside onetick.',
  ONETICK_STORE_NOT_MIGRATED: 'Run: npx onetick migrate',
  ONETICK_STORE_SCHEMA: 'Use an onetick release that is at most one schema version away from the store, or run: npx onetick migrate',
  ONETICK_STORE_UNREACHABLE: 'Check that the database is up and that this host may connect to it.',
  ONETICK_STORE_TIMEOUT: 'Look for long locks and for load on the database. What the call did is unknown.',
  ONETICK_STORE_BUSY: 'Let the other process that holds the database end its transaction sooner.',
  ONETICK_STORE_UNFIT: 'Give Onetick a store it can keep its promises on.',
  ONETICK_STORE_UNSUPPORTED: 'Use a store that can do this; docs/guarantees.md says which.',
  ONETICK_STORE_CLOSED: 'Open a new store; this one was closed.',
  ONETICK_IDENTIFIER: 'Use letters, digits and underscores, starting with a letter or underscore, at most 40 characters.',
  ONETICK_NAME: 'Use 1 to 255 bytes of text without control characters, invisible or direction-changing characters.',
  ONETICK_NAME_TAKEN: 'Give each job, and each task, a name of its own.',
  ONETICK_TASK_UNKNOWN: 'Define the task in this process, or correct the name.',
  ONETICK_JOB_UNKNOWN: 'Run: npx onetick list',
  ONETICK_JOB_SCHEDULED: 'A lease by name needs a name that no scheduled job has.',
  ONETICK_SCHEDULE: 'See docs/schedules.md for what a schedule may say.',
  ONETICK_SCHEDULE_NEVER: 'Name a day that exists, or an instant in the future.',
  ONETICK_TIME_ZONE: "Use an IANA name such as 'Europe/Berlin', or 'UTC'.",
  ONETICK_DURATION: "Use a whole number with a unit: '250ms', '30s', '5m', '2h', '1d'; or milliseconds as a number.",
  ONETICK_OPTION: 'Correct the option named above.',
  ONETICK_LEASE_LOST: 'Stop what the run was doing: another replica may have taken over.',
  ONETICK_HEARTBEAT: 'Leases are renewed on the event loop meanwhile: a handler that blocks it for long loses its lease.',
  ONETICK_FENCED_OFF: 'Nothing was written: this run is no longer the one that holds the lease.',
  ONETICK_RUN_CANCELLED: 'Nothing to mend: somebody asked for it.',
  ONETICK_RUN_SUPERSEDED: "Nothing to mend: overlap is 'replace'.",
  ONETICK_DRAINING: 'Nothing to mend: let the run stop where it can go on later.',
  ONETICK_STOPPED: 'Start a new Onetick instance; this one was stopped.',
  ONETICK_NOT_STARTED: 'Call start() first.',
  ONETICK_STARTED: 'Call it before start().',
  ONETICK_CONFIG: 'Correct the file named above.',
  ONETICK_CONFIG_MISSING: 'Run: npx onetick init',
  ONETICK_FILE_EXISTS: 'Move the file away, or write to another folder.',
  ONETICK_USAGE: 'Run: npx onetick --help',
} as const

export type ErrorCode = keyof typeof remedies

/** All codes in the order of the documentation. */
export const errorCodes: readonly ErrorCode[] = Object.keys(remedies) as ErrorCode[]

/** A value as it may stand in a message: cut to 80 characters, control and invisible characters escaped. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : String(value)
  const cut = text.length > 80 ? `${text.slice(0, 80)}…` : text
  return `'${cut.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, escaped)}'`
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

/** For switches over closed unions: a new member does not compile until each switch has it. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected ${quoted(JSON.stringify(value))}`)
}
