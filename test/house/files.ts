// What the repository holds: the files git tracks or would track.
import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root: string = join(import.meta.dirname, '..', '..')

export interface TextFile {
  /** From the root, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** What the tests read of package.json. */
export interface Package {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}

export function repositoryFiles(): TextFile[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
  return listed
    .split('\0')
    .filter(path => path !== '' && lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile())
    .sort()
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .filter(file => !file.text.includes('\0'))
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts')
}

/** TypeScript of src/ that is not a test. */
export function isSource(path: string): boolean {
  return path.startsWith('src/') && path.endsWith('.ts') && !isTest(path)
}
