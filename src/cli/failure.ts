import { CommanderError } from 'commander'
import { OnetickError, quoted } from '../domain/errors.ts'
import { oneLine, printable, withoutPasswords } from './text.ts'

/** How the process ends. */
export const exitCodes = { ok: 0, difference: 1, usage: 2, unreachable: 3 } as const

/** What is told of an error: never a password, and a stack only of what nobody planned. */
export interface Failure {
  readonly code: string | null
  /** One line: code, what, remedy; in front the place, where it is known. */
  readonly message: string
  readonly exit: number
  readonly stack: string | null
}

const unreachable: ReadonlySet<string> = new Set(['ONETICK_STORE_UNREACHABLE', 'ONETICK_STORE_TIMEOUT', 'ONETICK_STORE_BUSY'])

export function failureOf(error: unknown): Failure {
  if (error instanceof LocatedError) {
    const { code, message, exit } = failureOf(error.cause)
    return { code, exit, message: `${oneLine(error.place)}: ${message}`, stack: null }
  }
  if (error instanceof FailedElsewhere) return error.failure
  if (error instanceof Misuse) return failureOf(usageError(error.cause, `${error.command} --help`))
  if (error instanceof CommanderError) return failureOf(usageError(error, '--help'))
  if (isOnetickError(error)) {
    const exit = unreachable.has(error.code) ? exitCodes.unreachable : exitCodes.usage
    return { code: error.code, exit, message: tidy(error.message), stack: null }
  }
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { code: null, exit: exitCodes.difference, message: tidy(text), stack: error instanceof Error ? stackOf(error) : null }
}

function stackOf({ stack = '' }: Error): string {
  return withoutPasswords(stack).split('\n').map(printable).join('\n')
}

/** Also of another copy of the package, which the config may have loaded. */
export function isOnetickError(error: unknown): error is OnetickError {
  return error instanceof OnetickError || (error instanceof Error && error.name === 'OnetickError' && 'code' in error && 'remedy' in error)
}

/** An error whose place in the user's file is known: `onetick.config.mjs:12`. */
export class LocatedError extends Error {
  readonly place: string

  constructor(place: string, cause: OnetickError) {
    super(cause.message, { cause })
    this.place = place
  }
}

/** A command was called with what it does not take. */
export class Misuse extends Error {
  readonly command: string
  override readonly cause: CommanderError

  constructor(command: string, cause: CommanderError) {
    super(cause.message)
    this.command = command
    this.cause = cause
  }
}

/** What another process could not do. */
export class FailedElsewhere extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

export function usage(detail: string, remedy?: string): OnetickError {
  return new OnetickError('ONETICK_USAGE', detail, remedy === undefined ? {} : { remedy })
}

/** `where`: as `Session.whereabouts` says it. */
export function unknownJob(name: string, where: string): OnetickError {
  return new OnetickError('ONETICK_JOB_UNKNOWN', `There is no job ${quoted(name)} in ${where}.`)
}

/** `error: unknown option '--jsn'\n(Did you mean --json?)` */
function usageError({ code, message }: CommanderError, help: string): OnetickError {
  const remedy = `Run: npx onetick ${help}`
  // `onetick --quiet`, `onetick help nothing`
  if (code === 'commander.help') return usage('No command was named, or one that does not exist.', remedy)
  const [what = '', suggestion = ''] = message.replace(/^error: /, '').split('\n')
  const mean = /Did you mean (one of )?(.+)\?/.exec(suggestion)?.[2]
  const detail = `${what.charAt(0).toUpperCase()}${what.slice(1)}${/[.?]$/.test(what) ? '' : '.'}`
  return usage(detail, mean === undefined ? remedy : `Did you mean ${mean}? ${remedy}`)
}

const longestMessage = 2000

function tidy(message: string): string {
  return oneLine(withoutPasswords(message)).slice(0, longestMessage)
}
