import { parseArgs } from 'node:util'
import { systemClock } from '../platform/system.ts'
import { Counters } from './counters.ts'
import { goThrough, showMistakes } from './exhaustive/report.ts'
import { failureOf } from './failure.ts'
import type { Violation } from './history.ts'
import { mutants } from './mutants/all.ts'
import type { Mutant } from './mutants/mutant.ts'
import { simulate } from './run.ts'

/** A turn of the real event loop runs every promise chain to its end. */
const turn = (): Promise<void> => new Promise(resolve => systemClock.after(0, resolve))

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    trace: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    exhaustive: { type: 'boolean', default: false },
  },
})

if (values.exhaustive) process.exitCode = (values.mutants ? showMistakes(say) : goThrough(say)) ? 0 : 1
else if (values.mutants) await printMutants(Number(values.seeds))
else if (values.seed !== undefined) await replay(Number(values.seed))
else await many(Number(values.from), Number(values.seeds))

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

async function replay(seed: number): Promise<void> {
  const lines: string[] = []
  const { violations } = await simulate({
    seed,
    turn,
    minutes: minutesAsked(),
    ...(values.trace ? { onTrace: line => lines.push(line) } : {}),
  })
  for (const line of lines) say(line)
  if (violations.length > 0) fail(seed, violations)
  else say(`Seed ${seed}: no promise broken.`)
}

async function many(from: number, count: number): Promise<void> {
  const counters = new Counters()
  const startedMs = systemClock.elapsedMs()
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await simulate({ seed, turn, minutes: minutesAsked() })
    counters.join(outcome.counters)
    if (outcome.violations.length > 0) fail(seed, outcome.violations)
  }
  const perMinute = Math.round((count / (systemClock.elapsedMs() - startedMs)) * 60_000)
  say(`${count} seeds from ${from}, ${perMinute} a minute.`)
  const seen = [...counters.seen].sort(([a], [b]) => (a < b ? -1 : 1))
  say(seen.map(([name, times]) => `${name} ${times}`).join(', '))
  const rare = counters.rare(count)
  if (rare.length > 0) {
    say(`Seen less than once in a thousand seeds: ${rare.join(', ')}. What does not happen proves nothing.`)
    process.exitCode = 1
  }
}

function fail(seed: number, violations: readonly Violation[]): void {
  say(failureOf(seed, violations, minutesAsked()))
  process.exitCode = 1
}

async function printMutants(limit: number): Promise<void> {
  for (const mutant of mutants) {
    const caughtAt = await firstCaught(mutant, limit)
    say(`| ${mutant.name} | ${mutant.promise} | ${caughtAt ?? `not in ${limit}`} |`)
    if (caughtAt === null) process.exitCode = 1
  }
}

/** The first seed that breaks the promise named. */
async function firstCaught(mutant: Mutant, limit: number): Promise<number | null> {
  for (let seed = 1; seed <= limit; seed++) {
    const { violations } = await simulate({ seed, turn, mutant })
    if (violations.some(({ promise }) => promise === mutant.promise)) return seed
  }
  return null
}

function minutesAsked(): number | null {
  return values.minutes === undefined ? null : Number(values.minutes)
}
