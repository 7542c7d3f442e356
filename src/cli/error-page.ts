import { readFileSync } from 'node:fs'

/** What docs/errors.md, which is in the package, says of a code. */
export interface CodeExplained {
  readonly code: string
  readonly meaning: string
  /** These two are null where the page only mentions the code in passing. */
  readonly cause: string | null
  readonly remedy: string | null
}

/** Null: the page does not know it. */
export function codeExplained(code: string): CodeExplained | null {
  const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  for (const line of page.split('\n')) {
    const [named, meaning = '', cause = '', remedy = ''] = cellsOf(line)
    if (named === `\`${code}\``) return { code, meaning: plain(meaning), cause: plain(cause), remedy: plain(remedy) }
  }
  const paragraph = page.split(/\n{2,}/).find(text => !text.startsWith('|') && text.includes(`\`${code}\``))
  return paragraph === undefined ? null : { code, meaning: plain(paragraph.replace(/\s+/g, ' ')), cause: null, remedy: null }
}

function cellsOf(line: string): string[] {
  return line.startsWith('|')
    ? line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim())
    : []
}

/** As text: links by what they say. */
function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
}
