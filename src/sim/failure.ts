import { execFileSync } from 'node:child_process'
import type { Violation } from './history.ts'

/** Told of one seed, at most. */
const mostViolations = 5

/** Why a seed failed, the commit that it failed at, and the one command that replays it. */
export function failureOf(seed: number, violations: readonly Violation[], minutes: number | null = null): string {
  const told = violations.slice(0, mostViolations).map(({ promise, at, what }) => `${promise} broken at ${at}: ${what}`)
  const command = `npm run sim -- --seed ${seed}${minutes === null ? '' : ` --minutes ${minutes}`} --trace`
  return [`Seed ${seed} fails at commit ${commit()}.`, ...told, `Replay: ${command}`].join('\n')
}

/** Its abbreviated hash, marked where the tree differs from it. */
function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--exclude=*'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}
