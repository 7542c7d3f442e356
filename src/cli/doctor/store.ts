import type { Fitness } from '../../store/fitness.ts'
import { lengthText } from '../times.ts'
import { type Check, fail, ok, unknown, warn } from './check.ts'
import { postgresChecks } from './postgres.ts'
import { sqliteChecks } from './sqlite.ts'

/** Each call of a replica waits at least this long for its answer. */
const slowMs = 100
/** Replicas put their timers right by the store's clock; whoever reads `Date.now()` in a handler does not. */
const apartMs = 1000

/** Those that do not look at what is in the store. */
export function storeChecks(fitness: Fitness, location: string): Check[] {
  const refused = fitness.refusals.map(({ what, remedy }) =>
    fail('refused', `A replica does not start: ${fitness.kind === 'postgres' ? 'the server ' : ''}${what}`, remedy),
  )
  if (fitness.kind === 'sqlite' && !fitness.isThere && refused.length > 0) return refused
  return [answering(fitness, location), ...refused, ...kindChecks(fitness), ...clockChecks(fitness), schemaCheck(fitness)]
}

function answering(fitness: Fitness, location: string): Check {
  if (fitness.kind === 'sqlite' && !fitness.isThere) return ok('store', `${location}: there is no file yet, and there can be one.`)
  const { latencyMs } = fitness
  const time = latencyMs < 0.1 ? 'less than 0.1 ms' : latencyMs < 10 ? `${latencyMs.toFixed(1)} ms` : lengthText(latencyMs)
  const answers = `${location} answers; the median call takes ${time}.`
  const remedy = 'Bring replicas and database nearer together, or look for load on it: runs start later by at least that.'
  return latencyMs > slowMs ? warn('store', answers, remedy) : ok('store', answers)
}

function kindChecks(fitness: Fitness): Check[] {
  switch (fitness.kind) {
    case 'postgres':
      return postgresChecks(fitness)
    case 'sqlite':
      return sqliteChecks(fitness)
    default: {
      const text = "A memory store is its process's own: replicas in other processes do not see it."
      return [warn('kind', text, 'Use sqlite: or postgres: for more than one process.')]
    }
  }
}

/** SQLite's clock is this host's. */
function clockChecks(fitness: Fitness): Check[] {
  return fitness.kind === 'postgres' ? [clockCheck(fitness)] : []
}

function clockCheck({ clock: { aheadMs, withinMs } }: Fitness): Check {
  const sure = `to within ${lengthText(Math.ceil(withinMs))}`
  if (Math.abs(aheadMs) <= withinMs) return ok('clock', `This host's clock and the store's agree, ${sure}.`)
  const text = `The store's clock is ${lengthText(aheadMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} this host's, ${sure}.`
  if (Math.abs(aheadMs) - withinMs < apartMs) return ok('clock', text)
  return warn('clock', `${text} Runs start by the store's clock; what handlers read of their own differs.`, 'Synchronize both by NTP.')
}

function schemaCheck({ schema: { found, wanted } }: Fitness): Check {
  if (found === null) return unknown('schema', 'This user may not look at the schema version.', 'Give it the rights named above.')
  if (found === 0) return fail('schema', 'The tables are missing.', 'Run: npx onetick migrate')
  if (found === wanted) return ok('schema', `Version ${found}, which this release is made for.`)
  const text = `Version ${found}; this release is made for ${wanted}.`
  const isNewer = found > wanted
  const remedy = isNewer ? 'Install a newer onetick here.' : 'Run: npx onetick migrate'
  if (Math.abs(found - wanted) > 1) return fail('schema', `${text} More than one version apart, it refuses to start.`, remedy)
  return warn('schema', `${text} One version apart works.`, remedy)
}
