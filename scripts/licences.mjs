// Every installed package has a licence we can live with: permissive for what ships, more for the tools that only build and test.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Permissive, asks for attribution at most: allowed everywhere. */
const anywhere = {
  MIT: 'our own licence',
  ISC: 'MIT in fewer words',
  'BSD-2-Clause': 'attribution only',
  'BSD-3-Clause': 'attribution only, and no endorsement',
  'Apache-2.0': 'attribution, with a patent grant',
  '0BSD': 'no conditions',
  'BlueOak-1.0.0': 'attribution only, in plain words',
  'CC0-1.0': 'public domain',
  'Python-2.0': 'attribution only (argparse)',
}

/** Weak copyleft or for data: fine for tools, as nothing of them is shipped. */
const toolsOnly = {
  'MPL-2.0': 'copyleft by file; lightningcss, which the test runner brings',
  'CC-BY-4.0': 'attribution; data of browsers',
  'CC-BY-3.0': 'attribution; lists of licences',
}

/** Packages whose package.json does not tell; each read by hand. */
const read = {}

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const packages = [...installed(join(root, 'node_modules'))]
const problems = packages.flatMap(({ folder, manifest }) => {
  const id = `${manifest.name}@${manifest.version}`
  const expression = read[id] ?? licenceOf(manifest)
  const isTool = lock.packages[relative(root, folder)]?.dev === true
  if (expression === '') return [`${id} names no licence.`]
  if (allowed(expression, isTool)) return []
  return [`${id} is under '${expression}', which is not on the list for what ${isTool ? 'builds and tests' : 'ships'}.`]
})

if (packages.length === 0) problems.push('Nothing is installed. Run: npm ci')
for (const problem of problems) console.error(problem)
if (problems.length > 0) {
  console.error('Choose another package, or add the licence with its reason to scripts/licences.mjs.')
  process.exit(1)
}
console.log(`${packages.length} packages, all under a licence on the list.`)

function* installed(modules) {
  if (!existsSync(modules)) return
  for (const entry of readdirSync(modules, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue
    const folder = join(modules, entry.name)
    if (entry.name.startsWith('@')) {
      yield* installed(folder)
      continue
    }
    if (existsSync(join(folder, 'package.json'))) yield { folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }
    yield* installed(join(folder, 'node_modules'))
  }
}

function licenceOf({ license, licenses }) {
  if (typeof license === 'string') return license
  if (typeof license?.type === 'string') return license.type
  return Array.isArray(licenses) ? licenses.map(entry => entry.type ?? entry).join(' OR ') : ''
}

/** SPDX expressions without nesting deeper than one pair of parentheses. */
function allowed(expression, isTool) {
  const parts = expression.replace(/^\((.*)\)$/, '$1').split(' OR ')
  return parts.some(part =>
    part
      .replace(/[()]/g, '')
      .split(' AND ')
      .every(id => Object.hasOwn(anywhere, id) || (isTool && Object.hasOwn(toolsOnly, id))),
  )
}
