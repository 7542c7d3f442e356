// An app that was bundled into one file: the heartbeat's thread is a module of its own, and is there, or is told of.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { root } from './house/files.ts'

// inside the checkout, so that drivers are found
const folder = mkdtempSync(join(root, '.build-bundle-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Blocks its loop for a lease and a half, and prints what was told. */
const app = (name: string) => `
import { Onetick } from ${JSON.stringify(join(root, 'dist/index.js'))}
const onetick = new Onetick({ store: 'sqlite:${join(folder, name)}.db', lease: '2s' })
const told = []
for (const event of ['heartbeatDegraded', 'leaseLost']) onetick.on(event, ({ error }) => told.push(error?.code ?? event))
onetick.on('settled', ({ attempt, verdict }) => {
  console.log(JSON.stringify({ told, attempt, verdict }))
  onetick.stop()
})
onetick.job('blocks', { schedule: new Date(Date.now() + 1500).toISOString() }, () => {
  const until = performance.now() + 3000
  while (performance.now() < until);
})
onetick.start()
`

async function bundled(name: string, format: 'esm' | 'cjs', entries: Readonly<Record<string, string>> = {}): Promise<unknown> {
  writeFileSync(join(folder, `${name}.mjs`), app(name))
  const out = format === 'esm' ? '.mjs' : '.cjs'
  await build({
    entryPoints: { [name]: join(folder, `${name}.mjs`), ...entries },
    outdir: join(folder, `${name}-out`),
    outExtension: { '.js': name === 'beside' ? '.js' : out },
    external: ['pg', 'better-sqlite3', 'libsql', 'node:sqlite'],
    ...({ bundle: true, platform: 'node', format, logLevel: 'silent' } as const),
  })
  if (name === 'beside') writeFileSync(join(folder, `${name}-out/package.json`), '{ "type": "module" }')
  const path = join(folder, `${name}-out`, `${name}${name === 'beside' ? '.js' : out}`)
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', path], { timeout: 60_000 })
  return JSON.parse(stdout)
}

test('with the thread’s module bundled beside it, a handler may block the loop', async () => {
  const worker = { 'heartbeat-worker': join(root, 'dist/execution/heartbeat-worker.js') }
  expect(await bundled('beside', 'esm', worker)).toEqual({ told: [], attempt: 1, verdict: 'succeeded' })
})

test.each(['esm', 'cjs'] as const)('without it, in %s, the loop renews, and the app is told so by a code', async format => {
  const { told, verdict } = (await bundled(`alone-${format}`, format)) as { told: string[]; verdict: string }
  expect(told[0]).toBe('ONETICK_HEARTBEAT')
  expect(verdict).toBe('succeeded')
})
