// Names, lengths, and what must never be written down.
import { isSource, type TextFile } from './files.ts'

const longestFile = 300
const vague = /^(utils?|helpers?|commons?|types?|misc)$/i

export function vagueNames(paths: readonly string[]): string[] {
  return paths
    .filter(path =>
      path
        .split('/')
        .map(part => part.replace(/^_+/, '').split('.')[0] ?? '')
        .some(name => vague.test(name)),
    )
    .map(path => `${path} is named after nothing: find the noun that it is about.`)
}

export function longFiles(files: readonly TextFile[]): string[] {
  return files
    .filter(({ path }) => isSource(path))
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > longestFile)
    .map(({ path, lines }) => `${path} has ${lines} lines, ${lines - longestFile} more than ${longestFile}: it holds more than one noun.`)
}

// Put together from pieces, so that this file does not find itself.
const traces: ReadonlyArray<readonly [RegExp, string]> = [
  [pattern('(?<![\\w.$}])/', '(work|root)', '/'), 'a path of one machine'],
  [pattern('(?<![\\w.$}])/', '(home|Users)', '/\\w'), 'a path of one machine'],
  [pattern('\\.\\./', 'shared\\b'), 'a folder outside the repository'],
  [pattern('\\b(registry', '|npm\\.pkg|proxy)\\.(npmjs|yarnpkg|github|golang|npmmirror)\\b'), 'a registry host'],
  [pattern('https?://', '[\\w.-]*(registry|mirror|artifactory|nexus|verdaccio)[\\w.-]*[:/]'), 'a registry host'],
  [pattern('\\b(deb|security|archive)\\.', '(debian\\.org|ubuntu\\.com)\\b'), 'a registry host'],
  [pattern('"resolved"', ': "http'), 'a registry host'],
  [pattern('https?://', '(10|172|192)\\.\\d+\\.\\d+'), 'a host of a private network'],
]

export function tracesOfMachines(files: readonly TextFile[]): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) =>
      traces.flatMap(([trace, what]) => {
        const found = trace.exec(line)
        return found === null ? [] : [`${path}:${index + 1} mentions ${what}: '${found[0]}'.`]
      }),
    ),
  )
}

function pattern(...pieces: readonly string[]): RegExp {
  return new RegExp(pieces.join(''))
}
