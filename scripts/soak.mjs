// npm run soak -- NAME: one acceptance in full length. `npm test` runs the same files, shorter.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const acceptances = {
  skew: ['test/acceptance/skew.test.ts', 'clocks and wake-ups that differ: nothing twice, nothing missed'],
  takeover: ['test/acceptance/takeover.test.ts', 'a holder killed with SIGKILL: the occurrence runs elsewhere in time'],
  pause: ['test/acceptance/pause.test.ts', 'a holder paused beyond its lease: its successor is left alone'],
  tick: ['test/acceptance/tick.test.ts', 'many jobs due at once: one claim a replica and tick'],
  drain: ['test/acceptance/drain.test.ts', 'replicas told to stop: runs end or are handed over, nothing is left to expire'],
  loop: ['test/acceptance/loop.test.ts', 'handlers that block the event loop: the lease is kept, or given up on purpose'],
  pooler: ['test/acceptance/pooler.test.ts', 'behind PgBouncer in transaction mode'],
  misbehave: ['test/acceptance/misbehave.test.ts', 'handlers, listeners and stores that fail in every way: one verdict an occurrence'],
  'store-restart': ['test/acceptance/store-restart.test.ts', 'PostgreSQL restarted and killed under runs: the processes live'],
  sim: ['test/sim/sim.test.ts', 'the simulator: 100,000 seeds, no promise broken'],
  exhaustive: ['test/sim/exhaustive.test.ts', 'a small model gone through whole: every order of steps and up to two faults'],
  schedule: ['src/schedule', 'every zone and transition against the oracles'],
}

const [name, ...rest] = process.argv.slice(2)
const files = name === 'all' ? Object.values(acceptances).map(([file]) => file) : acceptances[name]?.slice(0, 1)

if (files === undefined) {
  if (name !== undefined) console.error(`There is no acceptance '${name}'.`)
  console.error('npm run soak -- NAME, where NAME is one of')
  for (const [known, [, what]] of Object.entries(acceptances)) console.error(`  ${known.padEnd(14)} ${what}`)
  console.error('  all            all of them')
  process.exit(2)
}

for (const args of [['scripts/build.mjs'], [join('node_modules', 'vitest', 'vitest.mjs'), 'run', ...files, ...rest]]) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ONETICK_SOAK: '1' } })
  if (status !== 0) process.exit(status ?? 1)
}
