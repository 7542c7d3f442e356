// npm run check: everything but the tests that CI asks of a change. A line a step; the first failure ends it and names its command.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packed = mkdtempSync(join(tmpdir(), 'onetick-pack-'))

/** name, then the command as a person would type it. */
const steps = [
  ['format and lint', 'npx biome check . --error-on-warnings'],
  ['types', 'npx tsc --noEmit'],
  ['unused code', 'npx knip --no-progress'],
  ['build', 'npm run -s build'],
  ['pack', `npm pack --silent --ignore-scripts --pack-destination ${packed}`],
  ['packaging', () => `npx publint run ${tarball()} --strict`],
  ['types as published', () => `npx attw ${tarball()} --profile esm-only --no-emoji`],
  ['licences', 'node scripts/licences.mjs'],
  ['house rules', 'npx vitest run --project unit test/house.test.ts'],
]

const started = performance.now()
try {
  process.exitCode = check() ? 0 : 1
} finally {
  rmSync(packed, { recursive: true, force: true })
}

function check() {
  for (const [name, given] of steps) {
    const command = typeof given === 'function' ? given() : given
    const from = performance.now()
    const { status, stdout, stderr, error } = run(command)
    if (status === 0) {
      console.log(`ok      ${name.padEnd(20)} ${seconds(from)}`)
      continue
    }
    console.log(`${stdout ?? ''}${stderr ?? ''}`.trimEnd())
    console.log(`FAILED  ${name}${error ? `: ${error.message}` : ''}. To see it alone: ${command.replace(packed, '.')}`)
    return false
  }
  console.log(`All of it holds. ${seconds(started)}`)
  return true
}

function run(command) {
  const [program, ...args] = command.split(' ')
  // npx only to print what can be typed: the binary is taken directly, which saves half a second a step.
  const local = program === 'npx' ? join(root, 'node_modules', '.bin', args.shift()) : program
  return spawnSync(local, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, FORCE_COLOR: '0', NO_COLOR: '1' },
  })
}

function tarball() {
  const file = readdirSync(packed).find(name => name.endsWith('.tgz'))
  if (file === undefined) throw new Error('npm pack wrote no tarball')
  return join(packed, file)
}

function seconds(from) {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`
}
