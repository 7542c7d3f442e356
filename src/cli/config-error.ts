import { readFileSync } from 'node:fs'
import { basename, dirname, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OnetickError } from '../domain/errors.ts'
import { isOnetickError, LocatedError } from './failure.ts'

/** An error thrown while the config was loaded, with the user's line that raised it. */
export function locatedConfigError(path: string, error: unknown): Error {
  const parsed = typescriptSyntax(error)
  if (parsed !== null) return new LocatedError(placeOf(parsed.file, parsed.line), syntaxError(parsed.message, error))
  if (isOnetickError(error)) return new LocatedError(placeIn(error, path), error)
  const missing = missingImport(error, path)
  return missing ?? new LocatedError(placeIn(error, path), thrown(error))
}

/** Node tells the line of a syntax error to nobody but the console, so the file is read once more by another parser. */
export async function locatedSyntaxError(path: string, error: SyntaxError): Promise<Error> {
  // an import or export that does not exist does come with its line
  const told = /^(file:\S+):(\d+)\n/.exec(error.stack ?? '')
  if (told?.[1] !== undefined) return new LocatedError(placeOf(fileURLToPath(told[1]), Number(told[2])), syntaxError(error.message, error))
  const line = await lineByParser(path)
  return new LocatedError(placeOf(path, line), syntaxError(error.message, error))
}

async function lineByParser(path: string): Promise<number | null> {
  const { createJiti } = await import('jiti')
  const source = readFileSync(path, 'utf8')
  const transformed = createJiti(import.meta.url, { fsCache: false }).transform({ source, filename: path, async: true })
  const line = /__JITI_ERROR__ = .*"line":(\d+)/.exec(transformed)?.[1]
  return line === undefined ? null : Number(line)
}

/** `ParseError: Unexpected token\n /app/onetick.config.ts:4:0` */
function typescriptSyntax(error: unknown): { message: string; file: string; line: number } | null {
  if (!(error instanceof Error)) return null
  const found = /^ParseError: ([\s\S]*?)\n\s*(\S.*):(\d+):\d+$/.exec(error.message.trimEnd())
  return found === null ? null : { message: found[1] ?? '', file: found[2] ?? '', line: Number(found[3]) }
}

function syntaxError(message: string, cause: unknown): OnetickError {
  return new OnetickError('ONETICK_CONFIG', `Syntax error: ${sentence(message)}`, { cause })
}

function thrown(error: unknown): OnetickError {
  return new OnetickError('ONETICK_CONFIG', `It throws: ${sentence(textOf(error))}`, { cause: error })
}

function textOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  } catch {
    return 'something that cannot be read'
  }
}

/** `Cannot find package 'pg' imported from /app/onetick.config.mjs`; of TypeScript, the importer follows `Require stack:`. */
function missingImport(error: unknown, path: string): LocatedError | null {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return null
  const missing = /^Cannot find (?:package|module) '([^']+)'/.exec(String(message))?.[1]
  if (missing === undefined) return null
  const importer = /(?: imported from |Require stack:\n- )(.+)/.exec(String(message))?.[1] ?? path
  const isPackage = !/^[./\\]|^[a-z]:|^file:/i.test(missing)
  const name = isPackage ? packageOf(missing) : relative(process.cwd(), missing)
  const remedy = isPackage ? `Run: npm install ${name}` : 'Correct the path.'
  const cause = new OnetickError('ONETICK_CONFIG', `It imports '${name}', which is not there.`, { cause: error, remedy })
  return new LocatedError(placeOf(importer, lineWith(importer, isPackage ? missing : basename(missing))), cause)
}

/** Null: no line of the file has this text. */
function lineWith(file: string, text: string): number | null {
  try {
    const at = readFileSync(file, 'utf8')
      .split('\n')
      .findIndex(line => line.includes(text))
    return at < 0 ? null : at + 1
  } catch {
    return null
  }
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function sentence(text: string): string {
  const line = text.split('\n')[0]?.trim() ?? ''
  return /[.!?]$/.test(line) ? line : `${line}.`
}

/** The innermost frame in a file of the user's: not ours, not a package's, not Node's. */
function placeIn(error: unknown, path: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  for (const [, place = '', line] of stack.matchAll(/^\s+at (?:async )?(?:.* \()?((?:file:\/\/)?\/[^()]*?):(\d+):\d+\)?$/gm)) {
    const file = place.startsWith('file:') ? fileURLToPath(place) : place
    if (!/[\\/]node_modules[\\/]/.test(file) && !file.startsWith(ours)) return placeOf(file, Number(line))
  }
  return placeOf(path, null)
}

/** Where the package's own compiled files lie. */
const ours = dirname(dirname(fileURLToPath(import.meta.url))) + sep

function placeOf(file: string, line: number | null): string {
  const near = relative(process.cwd(), file)
  const short = near.startsWith('..') && near.length > file.length ? file : near
  return line === null ? short : `${short}:${line}`
}
