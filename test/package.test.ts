// The packed tarball in an empty project: what a user gets is what is tested here.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { brokenLinks } from './house/documents.ts'
import { type Package, root } from './house/files.ts'

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Package
const entries = Object.keys(manifest.exports)
  .filter(subpath => !subpath.endsWith('.json'))
  .map(subpath => manifest.name + subpath.slice(1))

let project = ''
let packed: readonly string[] = []

beforeAll(async () => {
  if (!existsSync(join(root, 'dist/index.js'))) throw new Error('dist/index.js is missing. Run: npm run build')
  project = mkdtempSync(join(tmpdir(), 'onetick-consumer-'))
  const told = await run(root, 'npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', project])
  const [{ filename, files }] = JSON.parse(told) as [{ filename: string; files: { path: string }[] }]
  packed = files.map(file => file.path)
  // Dependencies come from the checkout, so that the test needs no network.
  const dependencies = Object.fromEntries(shippedPackages().map(name => [name, `file:${join(root, 'node_modules', name)}`]))
  write('package.json', JSON.stringify({ name: 'consumer', private: true, type: 'module', dependencies }))
  await run(project, 'npm', ['install', '--offline', '--install-links', '--no-audit', '--no-fund', '--ignore-scripts', `./${filename}`])
})

afterAll(() => {
  if (project !== '') rmSync(project, { recursive: true, force: true })
})

describe('the packed tarball', () => {
  test('it holds what it needs and nothing else', () => {
    const wanted = /^(dist\/.+\.(js|d\.ts|js\.map)|package\.json|docs\/[\w-]+\.md|(README|CONTRIBUTING|CHANGELOG)\.md|LICENSE)$/
    expect(packed.filter(path => !wanted.test(path))).toEqual([])
    expect(packed.filter(path => /\.test\.|^dist\/sim\/|\.d\.ts\.map$/.test(path))).toEqual([])
    expect(packed).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
  })

  test('links of its pages lead to pages that it holds', () => {
    const pages = packed.filter(path => path.endsWith('.md')).map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    expect(pages.map(({ path }) => path)).toContain('docs/errors.md')
    expect(brokenLinks(pages, path => packed.includes(path))).toEqual([])
  })

  test('its source maps carry their sources, so that stack traces lead to lines that people can read', () => {
    const dist = join(project, 'node_modules', manifest.name, 'dist')
    const maps = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(path => path.endsWith('.map'))
    const bare = maps.filter(
      path => !(JSON.parse(readFileSync(join(dist, path), 'utf8')) as { sourcesContent?: unknown[] }).sourcesContent?.length,
    )
    expect(bare).toEqual([])
  })

  test('an empty project installs only what it asks for', () => {
    const installed = readdirSync(join(project, 'node_modules')).filter(name => !name.startsWith('.'))
    expect(installed.sort()).toEqual([manifest.name, ...shippedPackages()].sort())
  })

  test.each(entries)('import %s', async entry => {
    write('import.mjs', `import * as all from '${entry}'\nconsole.log(Object.keys(all).length > 0)`)
    expect(await run(project, process.execPath, ['import.mjs'])).toBe('true\n')
  })

  test.each(entries)('require %s', async entry => {
    write('require.cjs', `console.log(Object.keys(require('${entry}')).length > 0)`)
    expect(await run(project, process.execPath, ['--no-warnings', 'require.cjs'])).toBe('true\n')
  })

  test('import and require give the same thing', async () => {
    write('same.mjs', `import { createRequire } from 'node:module'\nimport { OnetickError } from 'onetick'\n${sameness}`)
    expect(await run(project, process.execPath, ['--no-warnings', 'same.mjs'])).toBe('true\n')
  })

  test('a consumer in strict TypeScript compiles against the types, the libraries checked too', async () => {
    // A project in TypeScript for Node has these; nothing else may be asked of it.
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true })
    for (const name of ['@types/node', 'undici-types']) symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name))
    write('consumer.ts', consumer + entries.map((entry, n) => `import * as entry${n} from '${entry}'\nvoid entry${n}\n`).join(''))
    const compilerOptions = {
      module: 'nodenext',
      moduleResolution: 'nodenext',
      target: 'es2023',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: ['node'],
    }
    write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['consumer.ts'] }))
    await run(project, process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json'])
  })

  test.each(Object.keys(manifest.bin))('the command %s tells its version', async name => {
    const told = await run(project, join(project, 'node_modules/.bin', name), ['--version'])
    expect(told.trim()).toBe(manifest.version)
  })
})

const sameness = `const required = createRequire(import.meta.url)('onetick')\nconsole.log(required.OnetickError === OnetickError)`

const consumer = `
import { OnetickError } from 'onetick'

export function remedyOf(error: unknown): string | null {
  return error instanceof OnetickError ? error.remedy : null
}
`

/** What npm installs with the package: its dependencies and theirs, no tools and no optional drivers. */
function shippedPackages(): string[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; peer?: true; devOptional?: true }>
  }
  return Object.entries(lock.packages).flatMap(([path, { dev, peer, devOptional }]) =>
    path.startsWith('node_modules/') && !dev && !peer && !devOptional ? [path.slice('node_modules/'.length)] : [],
  )
}

function write(file: string, text: string): void {
  writeFileSync(join(project, file), text)
}

async function run(cwd: string, command: string, args: readonly string[]): Promise<string> {
  // npm hands its own settings down to what it starts; a user's project has none of them.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$|NODE_PATH$|VITEST|ONETICK_)/.test(name)),
  )
  try {
    return (await promisify(execFile)(command, args, { cwd, env, timeout: 100_000 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    throw new Error(`${command} ${args.join(' ')} failed.\n${stdout ?? ''}${stderr ?? ''}`, { cause: error })
  }
}
