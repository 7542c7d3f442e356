import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OnetickError } from '../../domain/errors.ts'

/** SQLite only says that it cannot open a file. What waiting does not mend is told apart here; null: a file can be at this path. */
export function unfitPlace(path: string, cause?: unknown): OnetickError | null {
  const unfit = (what: string, remedy: string): OnetickError =>
    new OnetickError('ONETICK_STORE_UNFIT', `${path}: ${what}.`, { remedy, cause })
  const directory = dirname(path)
  const forbidden = (): OnetickError =>
    unfit('this process may not write to it', `Give this process write access to the file and to its directory ${directory}.`)
  const [around, file] = [look(directory), look(path)]
  if (around === 'missing') return unfit(`the directory ${directory} does not exist`, 'Create it, or name a file in another one.')
  if (around === 'closed' || file === 'closed') return forbidden()
  if (around === null || file === null) return null
  if (!around.isDirectory()) return unfit(`${directory} is no directory`, 'Name a file in a directory.')
  if (file !== 'missing' && file.isDirectory()) return unfit('it is a directory', `Name a file in it: sqlite:${join(path, 'onetick.db')}`)
  // beside the file SQLite keeps its write-ahead log
  return isWritable(directory) && (file === 'missing' || isWritable(path)) ? null : forbidden()
}

/** Null: a failure of the moment. */
function look(path: string): Stats | 'missing' | 'closed' | null {
  try {
    return statSync(path)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing'
    return code === 'EACCES' || code === 'EPERM' ? 'closed' : null
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch (error) {
    return !['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
