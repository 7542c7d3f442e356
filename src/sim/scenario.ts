import type { JobOptions } from '../scheduler/job-options.ts'
import type { Chance } from './chance.ts'
import type { Temper } from './handler.ts'
import type { JobSpec, Release } from './replica.ts'

/** What may go wrong, and what people may do. A seed draws some of them. */
export const faults = [
  'crash',
  'crashAll',
  'pause',
  'pauseLong',
  'suspend',
  'stall',
  'wallStep',
  'skew',
  'drift',
  'cut',
  'blackhole',
  'lossy',
  'slow',
  'late',
  'storeRestart',
  'lostSuffix',
  'drain',
  'deploy',
  'rollback',
  'crashAtGrant',
  'pauseAtGrant',
  'crashAtEnd',
  'pauseAtEnd',
  'crashBeforeDue',
  'scale',
  'trigger',
  'backfill',
  'pauseJob',
  'resumeJob',
  'skipNext',
  'cancel',
  'remove',
  'edit',
] as const

/** Drawn after all else and for few seeds, so that most seeds from before them stay what they were. */
const laterFaults = ['deafAtGrant', 'removeBackfilled'] as const

export type Fault = (typeof faults)[number] | (typeof laterFaults)[number]

export interface Scenario {
  readonly replicas: number
  readonly release: Release
  readonly tempers: ReadonlyMap<string, Temper>
  readonly faults: readonly Fault[]
  readonly faultEveryMs: number
  readonly chaosMs: number
  readonly healMs: number
  readonly startsAtMs: number
  readonly timerLateMs: number
}

/** Drawn from the seed alone. `minutes`: how long the chaos lasts, where that is asked for. */
export function scenarioOf(chance: Chance, minutes: number | null): Scenario {
  const startsAtMs = 1_800_000_000_000 + chance.whole(0, 86_400_000)
  const share = chance.pick([0.08, 0.15, 0.15, 0.25, 0.25, 0.4, 0.7])
  const calmly = chance.yes(0.05)
  const drawn = faults.filter(fault => !calmly && chance.yes(fault === 'lostSuffix' ? 0.02 : share))
  const jobs = chance.pick([1, 1, 1, 2, 2, 3])
  const release = Array.from({ length: jobs }, (_, index): JobSpec => specOf(`job${index}`, chance, startsAtMs))
  const deploys = drawn.includes('deploy') || drawn.includes('rollback')
  const chaosMs =
    minutes !== null ? minutes * 60_000 : chance.pick([20_000, 25_000, 30_000, 30_000, 45_000, chance.yes(0.05) ? 480_000 : 35_000])
  const scenario = {
    replicas: chance.pick([2, 2, 2, 3, 3, 3, 4, chance.whole(5, 8)]),
    release,
    tempers: new Map(release.map(({ name }) => [name, temperOf(chance)])),
    faultEveryMs: chance.pick([700, 1500, 3000, 3000, 6000]),
    chaosMs,
    healMs: deploys && chance.yes(0.4) ? 85_000 : 35_000,
    startsAtMs,
    timerLateMs: chance.pick([0.5, 2, 2, 15]),
  }
  const isAlone = chance.yes(0.06)
  const own = chance.fork()
  const later = own.yes(0.14) && !calmly ? laterFaults.filter(() => own.yes(0.8)) : []
  return { ...scenario, replicas: isAlone ? 1 : scenario.replicas, faults: [...drawn, ...later] }
}

export function specOf(name: string, chance: Chance, nowMs: number): JobSpec {
  return { name, options: optionsOf(chance, nowMs), jitterMs: chance.yes(0.12) ? chance.whole(1, 700) : 0 }
}

function optionsOf(chance: Chance, nowMs: number): JobOptions {
  const schedule = scheduleOf(chance, nowMs)
  return {
    ...(schedule === null ? {} : { schedule }),
    overlap: chance.pick(['skip', 'skip', 'skip', 'queue', 'queue', 'replace', 'allow']),
    misfire: chance.pick(['latest', 'latest', 'skip', 'all', 'all']),
    misfireWindow: chance.pick(['4s', '10s', '1m', '24h', '24h']),
    misfireLimit: chance.pick([2, 5, 100]),
    maxAttempts: chance.pick([1, 2, 3, 3, 5]),
    retries: chance.pick([0, 0, 1, 2]),
    backoff: chance.pick(['200ms', '1s', '3s']),
    onTakeover: chance.pick(['retry', 'retry', 'retry', 'skip']),
  }
}

function scheduleOf(chance: Chance, nowMs: number): string | null {
  switch (chance.pick(['interval', 'interval', 'interval', 'cron', 'cron', 'once', 'never'])) {
    case 'interval':
      return `every ${chance.pick(['1s', '2s', '3s', '3s', '5s', '7s', '11s', '20s', '1500ms'])}`
    case 'cron':
      return chance.pick(['*/5 * * * * *', '*/4 * * * * *', '3,4,30 * * * * *', '*/13 * * * * *', '* * * * *'])
    case 'once':
      return new Date(Math.floor(nowMs + chance.between(2000, 30_000))).toISOString()
    default:
      return null
  }
}

function temperOf(chance: Chance): Temper {
  return {
    longestMs: chance.pick([50, 900, 2500, 5000, 12_000]),
    long: chance.pick([0.1, 0.4, 0.9]),
    throws: chance.pick([0, 0, 0.1, 0.5, 1]),
    ignoresAbort: chance.pick([0, 0, 0.2, 0.6]),
    checkpoints: chance.pick([0, 0.3]),
  }
}
