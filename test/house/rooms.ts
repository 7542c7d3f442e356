// Rooms and floors: imports run down, never up, never in a circle; nothing lies about that no one uses.
import { isSource, type Package } from './files.ts'
import { type Module, resolveImport } from './syntax.ts'

/** A room may import rooms of lower floors; of its own floor, all, or only those named here. */
const rooms: Readonly<Record<string, { floor: number; beside?: readonly string[] }>> = {
  domain: { floor: 1, beside: [] },
  schedule: { floor: 1, beside: ['domain'] },
  platform: { floor: 1, beside: ['domain'] },
  store: { floor: 2 },
  strategy: { floor: 3 },
  execution: { floor: 3 },
  queue: { floor: 3 },
  scheduler: { floor: 4 },
  leases: { floor: 4 },
  server: { floor: 5 },
  cli: { floor: 5 },
  integrations: { floor: 5 },
  testing: { floor: 5 },
  'index.ts': { floor: 6 },
  sim: { floor: 7 },
}

interface Edge {
  readonly from: string
  readonly to: string
  readonly line: number
  readonly kind: 'import' | 'start'
}

export function edgesOf(modules: readonly Module[], manifest: Package): Edge[] {
  const known = new Set(modules.map(module => module.path))
  const self = selfImports(manifest)
  return modules.flatMap(module =>
    module.imports.flatMap(({ specifier, line, kind }) => {
      const to = resolveImport(module.path, specifier, known, self)
      return to === null ? [] : [{ from: module.path, to, line, kind }]
    }),
  )
}

export function strangeRooms(modules: readonly Module[]): string[] {
  return modules
    .filter(({ path }) => isSource(path) && rooms[roomOf(path)] === undefined)
    .map(
      ({ path }) =>
        `${path} stands in no room of the house: put it into one, or add src/${roomOf(path)} to docs/architecture.md and test/house/rooms.ts.`,
    )
}

export function upwardImports(edges: readonly Edge[]): string[] {
  return edges.flatMap(({ from, to, line }) => {
    if (!isSource(from)) return []
    const where = `${from}:${line} imports ${to}`
    if (!to.startsWith('src/') || !isSource(to)) return [`${where}: shipped code must not depend on tests.`]
    const [fromRoom, toRoom] = [roomOf(from), roomOf(to)]
    const [above, below] = [rooms[fromRoom], rooms[toRoom]]
    if (fromRoom === toRoom || above === undefined || below === undefined) return []
    if (toRoom === 'sim') return [`${where}: the simulator is never shipped.`]
    if (below.floor > above.floor) return [`${where}: floor ${above.floor} must not reach up to floor ${below.floor}.`]
    if (below.floor === above.floor && above.beside?.includes(toRoom) === false)
      return [`${where}: src/${fromRoom} must not know src/${toRoom}.`]
    return []
  })
}

/** One sentence per circle, type-only and lazy imports included. */
export function circles(edges: readonly Edge[]): string[] {
  const next = new Map<string, Set<string>>()
  for (const { from, to, kind } of edges) if (kind === 'import') next.set(from, (next.get(from) ?? new Set()).add(to))
  const found: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) found.push(`${[...trail.slice(at), path].join(' → ')} is a circle of imports.`)
    if (at >= 0 || done.has(path)) return
    for (const to of [...(next.get(path) ?? [])].sort()) visit(to, [...trail, path])
    done.add(path)
  }
  for (const path of [...next.keys()].sort()) visit(path, [])
  return found
}

/** Source files that no export of package.json, no command and no test kit leads to. */
export function orphans(modules: readonly Module[], edges: readonly Edge[], manifest: Package): string[] {
  const sources = modules.map(module => module.path).filter(isSource)
  const reached = new Set<string>([...entries(manifest), ...sources.filter(isTestKit)])
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) next.set(from, [...(next.get(from) ?? []), to])
  for (const path of reached) for (const to of next.get(path) ?? []) reached.add(to)
  return sources
    .filter(path => !reached.has(path))
    .map(path => `${path} is an orphan: no export of package.json, no command and no test kit leads to it. Use it or delete it.`)
}

export function missingEntries(modules: readonly Module[], manifest: Package): string[] {
  const known = new Set(modules.map(module => module.path))
  return entries(manifest)
    .filter(path => !known.has(path))
    .map(path => `package.json leads to ${path}, which does not exist.`)
}

function roomOf(path: string): string {
  return path.split('/')[1] ?? ''
}

/** Kits that only tests use: the published one, and the simulator. */
function isTestKit(path: string): boolean {
  return path.startsWith('src/testing/') || path.startsWith('src/sim/')
}

function entries(manifest: Package): string[] {
  return [...new Set([...selfImports(manifest).values(), ...Object.values(manifest.bin).flatMap(sourceOf)])]
}

function selfImports(manifest: Package): Map<string, string> {
  const found = new Map<string, string>()
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    for (const source of sourceOf(typeof target === 'string' ? target : target.default)) found.set(manifest.name + subpath.slice(1), source)
  }
  return found
}

function sourceOf(built: string): string[] {
  const match = /^(?:\.\/)?dist\/(.+)\.js$/.exec(built)
  return match === null ? [] : [`src/${match[1]}.ts`]
}
