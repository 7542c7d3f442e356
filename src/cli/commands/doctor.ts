import type { Command } from 'commander'
import type { Fitness } from '../../store/fitness.ts'
import type { Store } from '../../store/store.ts'
import { type Check, fail, unknown } from '../doctor/check.ts'
import { fleetChecks } from '../doctor/fleet.ts'
import { drainCheck, nodeCheck } from '../doctor/setup.ts'
import { storeChecks } from '../doctor/store.ts'
import { exitCodes, failureOf } from '../failure.ts'
import type { Tone } from '../output.ts'
import { acting, type Session } from '../session.ts'
import { oneLine, padded, printable, withoutPasswords } from '../text.ts'

export function doctor(program: Command): void {
  program
    .command('doctor')
    .description('Whether the store and the setup can keep what Onetick promises, and what to do where not.')
    .addHelpText('after', help)
    .action(acting(run))
}

const help = `
Changes nothing. A line for each check: ok, warn, fail, or unknown where it could not be found out. Exit code 1 where one
fails, 3 where the store cannot be reached.

Example:
  onetick doctor --store postgres://app@db/app

JSON: { healthy, store: { kind, location }, checks: [{ name, status, text, remedy }] }
  healthy: no check fails; status: ok, warn, fail or unknown`

/** What a replica without a config of its own goes by. */
const defaults = { liveForMs: 30_000, pollMs: 2000 } as const

async function run(session: Session): Promise<number> {
  const config = await session.config()
  const onetick = config?.kind === 'instance' ? config.onetick : null
  const store = await session.store()
  const setup = [nodeCheck(), drainCheck(onetick?.drain ?? null)]
  const { checks, exit } = await storeOf(session, store)
  const all = [...setup, ...checks]
  report(session, store, all)
  return exit ?? (all.some(({ status }) => status === 'fail') ? exitCodes.difference : exitCodes.ok)
}

interface Looked {
  readonly checks: readonly Check[]
  /** Null: as the checks say. */
  readonly exit: number | null
}

async function storeOf(session: Session, store: Store): Promise<Looked> {
  let fitness: Fitness
  try {
    fitness = await session.read('fitness', {})
  } catch (error) {
    const { message, exit } = failureOf(error)
    return { checks: [fail('store', message, null)], exit: exit === exitCodes.unreachable ? exit : null }
  }
  return { checks: [...storeChecks(fitness, printable(store.location)), ...(await contentOf(session, fitness))], exit: null }
}

/** What the tables say; of those that cannot be read there is nothing to say. */
async function contentOf(session: Session, { schema }: Fitness): Promise<readonly Check[]> {
  if (schema.found === null || schema.found === 0) return []
  const config = await session.config()
  const { liveForMs, pollMs } = config?.kind === 'instance' ? config.onetick.timing : defaults
  try {
    const [{ now, jobs }, { replicas }] = await Promise.all([session.read('jobs', {}), session.read('replicas', {})])
    return fleetChecks({ now, jobs, replicas, liveForMs, pollMs })
  } catch (error) {
    return [unknown('jobs', `They could not be read: ${failureOf(error).message}`)]
  }
}

const tones: { readonly [K in Check['status']]: Tone } = { ok: 'good', warn: 'notice', fail: 'bad', unknown: 'quiet' }

function report({ out }: Session, { kind, location }: Store, checks: readonly Check[]): void {
  const [failed, warned] = [
    checks.filter(({ status }) => status === 'fail').length,
    checks.filter(({ status }) => status === 'warn').length,
  ]
  if (out.isJson) {
    out.json({ healthy: failed === 0, store: { kind, location: printable(location) }, checks: checks.map(told) })
    return
  }
  const width = Math.max(...checks.map(({ name }) => name.length))
  for (const check of checks.map(told)) {
    const { name, status, text, remedy } = check
    if (out.isQuiet && status === 'ok') continue
    out.line(`${out.paint(tones[status], padded(status, 7))}  ${padded(name, width)}  ${text}${remedy === null ? '' : ` ${remedy}`}`)
  }
  out.hint(`\n${checks.length} checks, ${failed} failed, ${warned} warned.`)
}

function told({ name, status, text, remedy }: Check): Check {
  const safe = (of: string): string => oneLine(withoutPasswords(of))
  return { name, status, text: safe(text), remedy: remedy === null ? null : safe(remedy) }
}
