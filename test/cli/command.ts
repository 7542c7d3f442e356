// The built command, as a user starts it: in a folder of its own, with `onetick` installed beside it.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { root } from '../house/files.ts'

const bin: string = join(root, 'dist/cli/main.js')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const folders: string[] = []
const children: ChildProcess[] = []

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A folder with files, gone when the tests of this file are over. */
export function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'onetick-cli-'))
  folders.push(folder)
  mkdirSync(join(folder, 'node_modules'))
  for (const name of ['onetick', 'libsql', 'pg']) {
    symlinkSync(name === 'onetick' ? root : join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** What it has printed so far. */
  stdout(): string
  /** Resolves once it has printed this. */
  printed(what: RegExp): Promise<void>
}

/** In `folder`, without the tests' own environment. */
export function start(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  if (!existsSync(bin)) throw new Error('dist/cli/main.js is missing. Run: npm run build')
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_|VITEST|ONETICK_|DATABASE_URL|NO_COLOR|FORCE_COLOR|TZ)/.test(name),
  )
  const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env: { ...Object.fromEntries(own), TZ: 'UTC', ...env } })
  children.push(child)
  let [stdout, stderr] = ['', '']
  const looking = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    for (const look of [...looking]) look()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<Ended>(resolve => child.once('close', code => resolve({ code, stdout, stderr })))
  return {
    child,
    ended,
    stdout: () => stdout,
    printed: what =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!what.test(stdout)) return
          looking.delete(look)
          resolve()
        }
        looking.add(look)
        look()
        void ended.then(() => reject(new Error(`It ended without printing ${what}:\n${stdout}${stderr}`)))
      }),
  }
}

export function run(folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return start(folder, args, env).ended
}

/** All of them at once, which takes less time than one after the other. */
export function runAll(
  calls: readonly { readonly files?: Readonly<Record<string, string>>; readonly args: readonly string[] }[],
): Promise<Ended[]> {
  return Promise.all(calls.map(({ files, args }) => run(folderWith(files), args)))
}

/** A config with one job, in JavaScript. */
export function configWith(job: string, options = "{ store: 'sqlite:./jobs.db', lease: '3s' }"): string {
  return `import { Onetick } from 'onetick'\nconst onetick = new Onetick(${options})\n${job}\nexport default onetick\n`
}
