// The house rules. Each check returns sentences; a rule holds when there are none.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorCodes } from '../src/domain/errors.ts'
import { timeAndChance } from './house/chance.ts'
import { brokenLinks, errorTable, isTestFile, missingPages, promiseTable, testTitles } from './house/documents.ts'
import { isSource, type Package, repositoryFiles, root, type TextFile } from './house/files.ts'
import { circles, edgesOf, missingEntries, orphans, strangeRooms, upwardImports } from './house/rooms.ts'
import { parseModule } from './house/syntax.ts'
import { longFiles, tracesOfMachines, vagueNames } from './house/tidy.ts'

const promises = ['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'L1', 'L2', 'L3', 'L4', 'L5', 'D1']

function holds(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

describe('the house', () => {
  const files = repositoryFiles()
  const modules = files.filter(({ path }) => /^(src|test)\/.*\.ts$/.test(path)).map(parseModule)
  const sources = modules.filter(({ path }) => isSource(path))
  const pages = files.filter(({ path }) => path.endsWith('.md'))
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Package
  const edges = edgesOf(modules, manifest)
  const exists = (path: string): boolean => existsSync(join(root, path))
  const page = (path: string): TextFile => pages.find(found => found.path === path) ?? { path, text: '' }

  test('every source file stands in a room', () => holds(strangeRooms(modules)))
  test('imports run down, never up a floor', () => holds(upwardImports(edges)))
  test('imports never run in a circle, type-only ones included', () => holds(circles(edges)))
  test('no source file is an orphan', () => holds(orphans(modules, edges, manifest)))
  test('everything that package.json exports exists', () => holds(missingEntries(modules, manifest)))
  test('time and chance are named in src/platform only', () => holds(sources.flatMap(timeAndChance)))
  test('no file is named after nothing', () => holds(vagueNames(files.map(file => file.path))))
  test('no source file is longer than 300 lines', () => holds(longFiles(files)))
  test('docs/errors.md explains exactly the codes that exist', () => holds(errorTable(page('docs/errors.md'), errorCodes)))
  test('every promise names tests that exist', () =>
    holds(promiseTable(page('docs/guarantees.md'), promises, testTitles(modules.filter(module => isTestFile(module.path))))))
  test('relative links of the documents lead somewhere', () => holds(brokenLinks(pages, exists)))
  test('pages that the code names exist', () => holds(missingPages(sources, exists)))
  test('nothing in the repository mentions a machine or a registry', () => holds(tracesOfMachines(files)))
})

describe('each check can fail', () => {
  const manifest: Package = {
    name: 'onetick',
    version: '1.0.0',
    exports: { '.': { default: './dist/index.js' } },
    bin: { onetick: './dist/cli/main.js' },
  }
  const house = (files: Readonly<Record<string, string>>) => {
    const modules = Object.entries(files).map(([path, text]) => parseModule({ path, text }))
    return { modules, edges: edgesOf(modules, manifest) }
  }

  test('a file outside all rooms', () => {
    const { modules } = house({ 'src/attic/a.ts': '', 'src/loose.ts': '', 'src/store/a.ts': '', 'src/attic/a.test.ts': '' })
    expect(strangeRooms(modules).map(problem => problem.split(' ')[0])).toEqual(['src/attic/a.ts', 'src/loose.ts'])
  })

  test('an import that runs up, sideways on the first floor, into a test or into the simulator', () => {
    const { edges } = house({
      'src/domain/a.ts': "import { b } from '../schedule/b.ts'",
      'src/schedule/b.ts': "import type { a } from '../domain/a.ts'\nexport type C = import('../store/c.ts').C",
      'src/store/c.ts': "export * from '../index.ts'\nimport '../domain/a.ts'",
      'src/execution/d.ts': "import '../strategy/e.ts'",
      'src/strategy/e.ts': "await import('../scheduler/f.ts')",
      'src/scheduler/f.ts': "import '../sim/g.ts'\nimport './f.test.ts'",
      'src/scheduler/f.test.ts': "import '../cli/main.ts'",
      'src/cli/main.ts': "import { all } from 'onetick'",
      'src/sim/g.ts': "import '../cli/main.ts'",
      'src/index.ts': "import './cli/main.ts'",
    })
    expect(upwardImports(edges)).toEqual([
      'src/domain/a.ts:1 imports src/schedule/b.ts: src/domain must not know src/schedule.',
      'src/schedule/b.ts:2 imports src/store/c.ts: floor 1 must not reach up to floor 2.',
      'src/store/c.ts:1 imports src/index.ts: floor 2 must not reach up to floor 6.',
      'src/strategy/e.ts:1 imports src/scheduler/f.ts: floor 3 must not reach up to floor 4.',
      'src/scheduler/f.ts:1 imports src/sim/g.ts: the simulator is never shipped.',
      'src/scheduler/f.ts:2 imports src/scheduler/f.test.ts: shipped code must not depend on tests.',
      'src/cli/main.ts:1 imports src/index.ts: floor 5 must not reach up to floor 6.',
    ])
  })

  test('a circle, also one of types only', () => {
    const { edges } = house({
      'src/store/a.ts': "import { type B } from './b.ts'",
      'src/store/b.ts': "import type { C } from './c.ts'",
      'src/store/c.ts': "import type { A } from './a.ts'\nimport './d.ts'",
      'src/store/d.ts': '',
      'src/store/e.ts': "export { e } from './e.ts'",
    })
    expect(circles(edges)).toEqual([
      'src/store/a.ts → src/store/b.ts → src/store/c.ts → src/store/a.ts is a circle of imports.',
      'src/store/e.ts → src/store/e.ts is a circle of imports.',
    ])
  })

  test('a file that nothing leads to, and an export that leads to nothing', () => {
    const { modules, edges } = house({
      'src/index.ts': "export { a } from './store/a.ts'",
      'src/store/a.ts': "new Worker(new URL('./thread.js', import.meta.url))",
      'src/store/thread.ts': '',
      'src/store/lost.ts': "import './a.ts'",
      'src/store/lost.test.ts': "import './lost.ts'",
      'src/testing/kit.ts': '',
    })
    expect(orphans(modules, edges, manifest).map(problem => problem.split(' ')[0])).toEqual(['src/store/lost.ts'])
    expect(missingEntries(modules, manifest)).toEqual(['package.json leads to src/cli/main.ts, which does not exist.'])
  })

  test.each([
    'Date.now()',
    "Date['now']()",
    'globalThis.Date.now()',
    'const now = Date.now',
    'new Date()',
    'Date()',
    'setTimeout(f, 1)',
    'globalThis.setTimeout(f, 1)',
    'const timer = { setTimeout }',
    'clearTimeout(setInterval(f))',
    'setImmediate(f)',
    'Math.random()',
    'crypto.randomUUID()',
    'globalThis.crypto.getRandomValues(a)',
    'performance.now()',
    'process.hrtime.bigint()',
    'AbortSignal.timeout(5)',
    "import { randomUUID } from 'node:crypto'",
    "import { setTimeout } from 'node:timers/promises'",
    "import { performance as p } from 'perf_hooks'",
  ])('time and chance: %s', text => {
    expect(timeAndChance(parseModule({ path: 'src/store/a.ts', text }))).toHaveLength(1)
    expect(timeAndChance(parseModule({ path: 'src/platform/a.ts', text }))).toEqual([])
  })

  test.each([
    'new Date(5)',
    'Date.UTC(2026, 0)',
    'clock.setTimeout(f, 1)',
    'clock.performance',
    'interface Clock { setTimeout(f: () => void): void }',
    'const clock = { setTimeout: port }',
    "import { createHash } from 'node:crypto'",
    'let at: Date',
    '// Date.now()',
    '"Math.random()"',
  ])('no false alarm: %s', text => {
    expect(timeAndChance(parseModule({ path: 'src/store/a.ts', text }))).toEqual([])
  })

  test('a vague name and a long file', () => {
    expect(vagueNames(['src/store/_utils.ts', 'src/helpers/a.ts', 'test/types.test.ts', 'src/store/utility-model.ts'])).toHaveLength(3)
    expect(longFiles([{ path: 'src/a.ts', text: 'x\n'.repeat(301) }])).toEqual([
      'src/a.ts has 301 lines, 1 more than 300: it holds more than one noun.',
    ])
    expect(
      longFiles([
        { path: 'src/a.ts', text: 'x\n'.repeat(300) },
        { path: 'src/a.test.ts', text: 'x\n'.repeat(999) },
      ]),
    ).toEqual([])
  })

  test('an error without a line, and a line without an error', () => {
    const text = '| `ONETICK_A` | m | c | r |\n| `ONETICK_B` | m | c | |\n| `ONETICK_B` | m | c | r |'
    expect(errorTable({ path: 'e.md', text }, ['ONETICK_A', 'ONETICK_C'])).toEqual([
      'e.md has no line for ONETICK_C, which src/domain/errors.ts raises.',
      'e.md explains ONETICK_B, which src/domain/errors.ts does not know.',
      'e.md explains ONETICK_B, which src/domain/errors.ts does not know.',
      'e.md explains ONETICK_B twice.',
      'e.md: the line of `ONETICK_B` must give meaning, cause and remedy.',
    ])
  })

  test('a promise without a row, without a test, with a test that does not exist', () => {
    const text = `
      test('a holds', f)
      test.each(t)('b of %s', f)
      const c = [{ title: \`c of \${x}\` }]
      test.skipIf(y)('d', f)
      help('e')`
    const titles = testTitles([parseModule({ path: 'test/a.test.ts', text })])
    const rows = ['| S1 | words | `a holds`, `b of memory` `c of sqlite` and `d` |', '| S2 | words | — |', '| S3 | words | `e` |']
    expect(promiseTable({ path: 'g.md', text: rows.join('\n') }, ['S1', 'S2', 'S3', 'S4'], titles)).toEqual([
      'g.md: no test holds S2; name at least one.',
      "g.md: S3 is held by 'e', but no test has that title.",
      'g.md has no row for the promise S4.',
    ])
  })

  test('a link that leads nowhere', () => {
    const links = '[a](b.md) [b](../README.md#the-start) [c](#here) [d](https://x.org/y) ![e](e.png) `[f](f.md)`\n[g]: g.md\n'
    const pages = [
      { path: 'docs/a.md', text: `# Here\n${links}` },
      { path: 'README.md', text: '# The start!\n' },
    ]
    expect(brokenLinks(pages, path => path === 'README.md')).toEqual([
      'docs/a.md links to b.md, which does not exist.',
      'docs/a.md links to e.png, which does not exist.',
      'docs/a.md links to g.md, which does not exist.',
    ])
    expect(brokenLinks([{ path: 'a.md', text: '[a](#there)\n# Here' }], () => true)).toEqual([
      'a.md links to #there, but a.md has no such heading.',
    ])
    expect(missingPages([{ path: 'src/a.ts', text: 'See docs/lost.md.' }], () => false)).toEqual([
      'src/a.ts sends people to docs/lost.md, which does not exist.',
    ])
  })

  test('a machine path and a registry host', () => {
    const lines = [
      ['cd /', 'work/main'],
      ['/', 'home/me'],
      ['at file:///', 'root/x'],
      ['"resolved"', ': "https://x"'],
      ['see ../', 'shared/A.md'],
    ]
    const lost = lines.map(pieces => ({ path: 'a.md', text: pieces.join('') }))
    expect(tracesOfMachines(lost)).toHaveLength(lines.length)
    expect(tracesOfMachines([{ path: 'a.md', text: 'src/work/a.ts, /usr/lib/postgresql, http://127.0.0.1:8081/' }])).toEqual([])
  })
})
