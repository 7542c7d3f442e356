// What the README says of options and of what is printed is what the code has.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { OnetickError } from '../src/domain/errors.ts'
import { Onetick } from '../src/index.ts'
import { root } from './house/files.ts'

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const line = /^\| (`.+?`) \| .+ \| .* \|$/gm

/** The options that a table lists in its first column. */
function listed(title: string): string[] {
  const table = readme.split(`| ${title} | default | |`)[1]?.split('\n\n')[0] ?? ''
  return [...table.matchAll(line)].flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, option = '']) => option)).sort()
}

/** Those that there are: whoever names another is told. */
function known(give: () => unknown): string[] {
  try {
    give()
  } catch (error) {
    return (
      /^It may have (.+)\.$/
        .exec((error as OnetickError).remedy)?.[1]
        ?.split(', ')
        .sort() ?? []
    )
  }
  return []
}

test('the tables list each option that a replica and a job have', () => {
  const forTests = ['clock', 'random']
  const options = known(() => new Onetick({ none: 1 } as object))
  expect(listed('of the replica')).toEqual(options.filter(option => !forTests.includes(option)))
  expect(listed('of a job')).toEqual(known(() => new Onetick().job('a', { none: 1 } as object)))
})

test('what onetick dev prints is called what it prints', () => {
  const printed = readFileSync(join(root, 'src/cli/told-line.ts'), 'utf8')
  const named = [...(readme.split('## Use it')[0] ?? '').matchAll(/`((?:claimed|stood|finished|took)[a-z ]*)`/g)].map(([, word]) => word)
  expect(named).toHaveLength(4)
  for (const word of named) expect(printed).toContain(`word: '${word}'`)
})
