// npm run sim -- [--seeds N] [--from S] [--seed S --trace] [--mutants] [--exhaustive [--mutants]]: the simulator, compiled beside the product and never part of it.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const fresh = mkdtempSync(join(root, '.build-'))
try {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.sim.json'), '--outDir', fresh], { cwd: root, stdio: 'inherit' })
  const { status } = spawnSync(process.execPath, [join(fresh, 'sim/main.js'), ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(fresh, { recursive: true, force: true })
}
