// A TypeScript file as its syntax tree: what it imports, and a walk over its nodes.
import { posix } from 'node:path'
import { parseSync } from 'vite'
import type { TextFile } from './files.ts'

export interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

export interface Import {
  readonly specifier: string
  readonly line: number
  /** `start`: not imported but started, as `new URL('./thread.js', import.meta.url)`. */
  readonly kind: 'import' | 'start'
}

export interface Module extends TextFile {
  readonly program: Node
  readonly imports: readonly Import[]
}

export function parseModule({ path, text }: TextFile): Module {
  const { program, errors } = parseSync(path, text, { lang: path.endsWith('.ts') ? 'ts' : 'js' })
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0]?.message}`)
  const imports: Import[] = []
  const root = program as unknown as Node
  for (const node of walk(root)) {
    const found = importIn(node)
    if (found !== null) imports.push({ ...found, line: lineOf(text, node.start) })
  }
  return { path, text, program: root, imports }
}

export function* walk(node: Node): Generator<Node> {
  yield node
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* walk(child)
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

/** `Date.now` of a member expression, however it is written; null for what is computed at run time. */
export function dotted(node: unknown): string | null {
  if (!isNode(node)) return null
  if (node.type === 'Identifier') return node['name'] as string
  if (node.type === 'ChainExpression' || node.type === 'ParenthesizedExpression') return dotted(node['expression'])
  if (node.type !== 'MemberExpression') return null
  const object = dotted(node['object'])
  const property = node['computed'] === true ? literal(node['property']) : dotted(node['property'])
  return object === null || property === null ? null : `${object}.${property}`
}

export function literal(node: unknown): string | null {
  return isNode(node) && node.type === 'Literal' && typeof node['value'] === 'string' ? node['value'] : null
}

/** The file that a specifier of `from` names, as its TypeScript source; null for packages and for what is not there. */
export function resolveImport(
  from: string,
  specifier: string,
  known: ReadonlySet<string>,
  self: ReadonlyMap<string, string>,
): string | null {
  const own = self.get(specifier)
  if (own !== undefined) return own
  if (!specifier.startsWith('.')) return null
  const target = posix.join(posix.dirname(from), specifier)
  return [target, target.replace(/\.js$/, '.ts'), `${target}.ts`, `${target}/index.ts`].find(path => known.has(path)) ?? null
}

function importIn(node: Node): Omit<Import, 'line'> | null {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
    case 'TSImportType': {
      const specifier = literal(node['source'])
      return specifier === null ? null : { specifier, kind: 'import' }
    }
    case 'NewExpression': {
      const [path, base] = node['arguments'] as unknown[]
      const specifier = literal(path)
      const here = isNode(base) && base.type === 'MemberExpression' && isNode(base['object']) && base['object'].type === 'MetaProperty'
      return dotted(node['callee']) === 'URL' && here && specifier !== null ? { specifier, kind: 'start' } : null
    }
    default:
      return null
  }
}
