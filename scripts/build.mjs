// Builds dist/ with plain tsc. Several builds may run at once (npm test beside npm start): each builds aside, then swaps its own in.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
const swapTries = 100

const fresh = mkdtempSync(join(root, '.build-'))
try {
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'tsconfig.build.json'), '--outDir', fresh]
  const { status } = spawnSync(process.execPath, tsc, { cwd: root, stdio: 'inherit' })
  if (status === 0) swap()
  else process.exitCode = status ?? 1
} finally {
  rmSync(fresh, { recursive: true, force: true })
}

function swap() {
  // mkdtemp makes it private; what is installed from it must be readable by all.
  chmodSync(fresh, 0o755)
  const bin = join(fresh, 'cli/main.js')
  if (existsSync(bin)) chmodSync(bin, 0o755)
  const old = `${fresh}.old`
  for (let attempt = 1; ; attempt++) {
    try {
      if (existsSync(dist)) renameSync(dist, old)
      renameSync(fresh, dist)
      break
    } catch (error) {
      // Another build was between its two renames: its dist is there now, or gone for a moment.
      if (attempt >= swapTries || !['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error
      rmSync(old, { recursive: true, force: true })
    }
  }
  rmSync(old, { recursive: true, force: true })
}
