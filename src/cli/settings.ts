import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { OnetickError, quoted } from '../domain/errors.ts'
import { LocatedError } from './failure.ts'

/** What a JSON config can say: which store to look at. Jobs have handlers, which JSON cannot hold. */
export interface Settings {
  readonly store?: string
  readonly namespace?: string
}

const known = ['store', 'namespace'] as const
const longestFile = 1_000_000

export function readSettings(path: string): Settings {
  const text = readFileSync(path, 'utf8')
  if (text.length > longestFile) throw refused(path, null, `It is ${text.length} characters long.`)
  const parsed = parse(path, text)
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) throw refused(path, 1, 'It is not an object.')
  for (const [field, value] of Object.entries(parsed)) {
    const line = lineOfField(text, field)
    if (field === 'jobs') throw refused(path, line, 'It has jobs, but JSON cannot hold their handlers.', inCode)
    if (!known.some(name => name === field)) throw refused(path, line, `It has a field ${quoted(field)} that does not exist.`, onlyThese)
    if (typeof value !== 'string' || value === '') throw refused(path, line, `Its ${field} is not text.`)
  }
  return parsed as Settings
}

/** For commands that need jobs. */
export function settingsOnly(path: string): OnetickError {
  return new OnetickError('ONETICK_CONFIG', `${relative(process.cwd(), path)} names a store, but declares no jobs.`, { remedy: inCode })
}

const inCode = 'Declare jobs in onetick.config.mjs or .ts.'
const onlyThese = `Fields may be ${known.join(' and ')}.`

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { message } = error as SyntaxError
    throw refused(path, lineOfFault(text, message), `Syntax error: ${message.replace(/ in JSON at position.*| \(line.*/s, '')}.`)
  }
}

function refused(path: string, line: number | null, detail: string, remedy?: string): Error {
  const place = relative(process.cwd(), path)
  const error = new OnetickError('ONETICK_CONFIG', detail, remedy === undefined ? {} : { remedy })
  return new LocatedError(line === null ? place : `${place}:${line}`, error)
}

/** Node 20 tells a position, later releases a line. */
function lineOfFault(text: string, message: string): number {
  const line = /\(line (\d+)/.exec(message)?.[1]
  if (line !== undefined) return Number(line)
  const position = /at position (\d+)/.exec(message)?.[1]
  return text.slice(0, position === undefined ? text.length : Number(position)).split('\n').length
}

function lineOfField(text: string, field: string): number {
  const at = text.indexOf(JSON.stringify(field))
  return at < 0 ? 1 : text.slice(0, at).split('\n').length
}
