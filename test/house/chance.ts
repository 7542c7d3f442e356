// Time and chance are arguments: what the system gives of them is named in src/platform only, so that the code that ships runs in the simulator.
import { dotted, isNode, lineOf, literal, type Module, type Node, walk } from './syntax.ts'

const globals = ['setTimeout', 'setInterval', 'setImmediate', 'performance', 'Temporal']

const members = [
  'Date.now',
  'Math.random',
  'crypto.randomUUID',
  'crypto.randomBytes',
  'crypto.randomInt',
  'crypto.getRandomValues',
  'process.hrtime',
  'process.uptime',
  'os.uptime',
  'AbortSignal.timeout',
]

/** Modules of Node that exist for time, whole; of others, the names that are time or chance. */
const modules: Readonly<Record<string, readonly string[] | 'all'>> = {
  timers: 'all',
  'timers/promises': 'all',
  perf_hooks: 'all',
  crypto: ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync', 'webcrypto', 'getRandomValues'],
  os: ['uptime'],
  process: ['hrtime', 'uptime'],
}

export function timeAndChance(module: Module): string[] {
  if (module.path.startsWith('src/platform/')) return []
  const found = new Set<string>()
  const parents = parentsOf(module.program)
  for (const node of walk(module.program)) {
    for (const name of usesOf(node, parents)) {
      found.add(
        `${module.path}:${lineOf(module.text, node.start)} uses ${name}: take it as an argument (a port of src/domain, made in src/platform).`,
      )
    }
  }
  return [...found]
}

function usesOf(node: Node, parents: ReadonlyMap<Node, Node>): string[] {
  switch (node.type) {
    case 'Identifier':
      return globals.includes(node['name'] as string) && isReference(node, parents.get(node)) ? [node['name'] as string] : []
    case 'MemberExpression': {
      const name = (dotted(node) ?? '').replace(/^(globalThis|global)\./, '')
      return members.includes(name) || (globals.includes(name) && dotted(node) !== name) ? [name] : []
    }
    case 'NewExpression':
      return dotted(node['callee']) === 'Date' && (node['arguments'] as unknown[]).length === 0 ? ['new Date()'] : []
    case 'CallExpression':
      return dotted(node['callee']) === 'Date' ? ['Date()'] : []
    case 'ImportDeclaration':
      return importedFrom(node)
    case 'ImportExpression': {
      const name = (literal(node['source']) ?? '').replace(/^node:/, '')
      return modules[name] === 'all' ? [`node:${name}`] : []
    }
    default:
      return []
  }
}

function importedFrom(node: Node): string[] {
  if (node['importKind'] === 'type') return []
  const name = (literal(node['source']) ?? '').replace(/^node:/, '')
  const banned = Object.hasOwn(modules, name) ? modules[name] : undefined
  if (banned === undefined) return []
  if (banned === 'all') return [`node:${name}`]
  return (node['specifiers'] as Node[])
    .map(specifier => dotted(specifier['imported']))
    .filter(imported => imported !== null && banned.includes(imported))
    .map(imported => `${imported} of node:${name}`)
}

/** Not a reference: an imported name, or the name of a property, a method or a type's member. */
function isReference(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined) return true
  if (/^(Import|Export)/.test(parent.type)) return false
  if (parent.type === 'MemberExpression') return parent['object'] === node || parent['computed'] === true
  if (parent.type.startsWith('TS')) return parent.type === 'TSTypeQuery'
  const isKey = parent['key'] === node && parent['computed'] !== true
  return !isKey || (parent.type === 'Property' && parent['shorthand'] === true && parent['value'] !== node)
}

function parentsOf(root: Node): Map<Node, Node> {
  const parents = new Map<Node, Node>()
  for (const node of walk(root)) {
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) parents.set(child, node)
  }
  return parents
}
