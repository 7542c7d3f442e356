// What the documents say is checked against the code: error codes, promises and their tests, links.
import { posix } from 'node:path'
import { isTest, type TextFile } from './files.ts'
import { dotted, isNode, literal, type Module, type Node, walk } from './syntax.ts'

/** docs/errors.md: a row per code, `| \`ONETICK_…\` | meaning | cause | remedy |`, no cell empty. */
export function errorTable(page: TextFile, codes: readonly string[]): string[] {
  const rows = rowsOf(page.text).filter(cells => /^`ONETICK_[A-Z_]+`$/.test(cells[0] ?? ''))
  const listed = rows.map(cells => (cells[0] ?? '').slice(1, -1))
  return [
    ...codes.filter(code => !listed.includes(code)).map(code => `${page.path} has no line for ${code}, which src/domain/errors.ts raises.`),
    ...listed.filter(code => !codes.includes(code)).map(code => `${page.path} explains ${code}, which src/domain/errors.ts does not know.`),
    ...listed.filter((code, at) => listed.indexOf(code) !== at).map(code => `${page.path} explains ${code} twice.`),
    ...rows
      .filter(cells => cells.length !== 4 || cells.some(cell => cell === ''))
      .map(cells => `${page.path}: the line of ${cells[0]} must give meaning, cause and remedy.`),
  ]
}

/** docs/guarantees.md: a row per promise, `| S1 | words | \`test title\` \`another\` |`; every title is one of a test that exists. */
export function promiseTable(page: TextFile, promises: readonly string[], titles: readonly RegExp[]): string[] {
  const rows = new Map(rowsOf(page.text).map(cells => [cells[0] ?? '', cells]))
  return promises.flatMap(promise => {
    const cells = rows.get(promise)
    if (cells === undefined) return [`${page.path} has no row for the promise ${promise}.`]
    if (cells.length !== 3 || cells[1] === '')
      return [`${page.path}: the row of ${promise} must be | ${promise} | what is promised | tests that hold it |.`]
    const named = [...(cells[2] ?? '').matchAll(/`([^`]+)`/g)].map(match => match[1] ?? '')
    if (named.length === 0) return [`${page.path}: no test holds ${promise}; name at least one.`]
    return named
      .filter(name => !titles.some(title => title.test(name)))
      .map(name => `${page.path}: ${promise} is held by '${name}', but no test has that title.`)
  })
}

/** Titles of tests and of the cases of test tables (`title: '…'`); what a template fills in matches anything. */
export function testTitles(modules: readonly Module[]): RegExp[] {
  return modules.flatMap(({ program }) =>
    [...walk(program)].flatMap(node => {
      const title = titleIn(node)
      return title === null ? [] : [title]
    }),
  )
}

/** Relative links of Markdown files lead to files, and their anchors to headings. */
export function brokenLinks(pages: readonly TextFile[], exists: (path: string) => boolean): string[] {
  const known = new Map(pages.map(page => [page.path, page]))
  return pages.flatMap(page =>
    linksOf(page.text).flatMap(link => {
      if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return []
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page.path : posix.join(posix.dirname(page.path), decodeURIComponent(file))
      if (file !== '' && !exists(target)) return [`${page.path} links to ${link}, which does not exist.`]
      const destination = known.get(target)
      if (anchor === undefined || destination === undefined || anchorsOf(destination.text).has(anchor)) return []
      return [`${page.path} links to ${link}, but ${target} has no such heading.`]
    }),
  )
}

/** A page of docs/ that code sends people to is there. */
export function missingPages(modules: readonly TextFile[], exists: (path: string) => boolean): string[] {
  return modules.flatMap(({ path, text }) =>
    [...new Set([...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(match => match[0]))]
      .filter(page => !exists(page))
      .map(page => `${path} sends people to ${page}, which does not exist.`),
  )
}

function rowsOf(markdown: string): string[][] {
  return withoutFences(markdown)
    .split('\n')
    .filter(line => line.startsWith('|'))
    .map(line =>
      line
        .trim()
        .replace(/^\|/, '')
        .replace(/(?<!\\)\|$/, ''),
    )
    .map(line => line.split(/(?<!\\)\|/).map(cell => cell.trim().replaceAll('\\|', '|')))
}

function linksOf(markdown: string): string[] {
  const text = withoutFences(markdown).replace(/`[^`\n]*`/g, '')
  const inline = [...text.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)]
  const references = [...text.matchAll(/^\s*\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)/gm)]
  const images = [...text.matchAll(/<(?:img|a|source)\s[^>]*?(?:src|href|srcset)="([^"]+)"/g)]
  return [...inline, ...references, ...images].map(match => match[1] ?? '')
}

function anchorsOf(markdown: string): Set<string> {
  const found = new Set<string>()
  for (const [, heading = ''] of withoutFences(markdown).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-')
    for (let n = 0; ; n++) {
      const anchor = n === 0 ? slug : `${slug}-${n}`
      if (found.has(anchor)) continue
      found.add(anchor)
      break
    }
  }
  return found
}

function withoutFences(markdown: string): string {
  return markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, '')
}

function titleIn(node: Node): RegExp | null {
  if (node.type === 'CallExpression' && ['test', 'it'].includes(calledName(node))) return titleOf((node['arguments'] as unknown[])[0])
  if (node.type === 'Property' && dotted(node['key']) === 'title') return titleOf(node['value'])
  return null
}

/** `test` of test('…'), test.skipIf(x)('…') and test.each(table)('…'). */
function calledName(node: Node): string {
  let at: unknown = node['callee']
  while (isNode(at)) {
    if (at.type === 'Identifier') return at['name'] as string
    at = at.type === 'CallExpression' ? at['callee'] : at.type === 'TaggedTemplateExpression' ? at['tag'] : at['object']
  }
  return ''
}

function titleOf(node: unknown): RegExp | null {
  const plain = literal(node)
  if (plain !== null) return whole(plain.split(/%[sdifjo#]|\$\w+/))
  if (!isNode(node) || node.type !== 'TemplateLiteral') return null
  return whole((node['quasis'] as Node[]).map(quasi => (quasi['value'] as { cooked: string }).cooked))
}

function whole(pieces: readonly string[]): RegExp | null {
  if (pieces.join('').trim() === '') return null
  return new RegExp(`^${pieces.map(piece => piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.+')}$`)
}

export function isTestFile(path: string): boolean {
  return isTest(path) || (path.startsWith('test/') && path.endsWith('.ts') && !path.startsWith('test/house'))
}
