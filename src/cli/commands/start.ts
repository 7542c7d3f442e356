import type { Command } from 'commander'
import { parseDuration } from '../../domain/duration.ts'
import type { Onetick } from '../../scheduler/onetick.ts'
import { shortPath } from '../config.ts'
import { acting, type Session } from '../session.ts'
import { printable, widthOf } from '../text.ts'
import { jsonOf, listen, type Told } from '../told.ts'
import { lineOf, textOf } from '../told-line.ts'
import { wholeNumber } from '../whole-number.ts'

export function start(program: Command): void {
  program
    .command('start')
    .description('Run one replica of the config, until SIGTERM or Ctrl-C.')
    .option('--concurrency <count>', "runs at a time (default: the config's, else 10)")
    .option('--drain-timeout <duration>', "how long a stop waits for what runs (default: the config's, else 25s)")
    .addHelpText('after', help)
    .action(acting(run))
}

const help = `
Start as many as you like, on as many hosts as you like. The first SIGTERM or SIGINT drains and ends with code 0,
a second one ends at once with 128 + its number.

Examples:
  onetick start
  onetick start --concurrency 4 --drain-timeout 55s --json | my-log-shipper

JSON: a line an event: { event, at, job, scheduledAt, attempt, fence, … }`

interface Options {
  readonly concurrency?: string
  readonly drainTimeout?: string
}

/** Told with --quiet too. */
const troubles: ReadonlySet<Told['name']> = new Set([
  'leaseLost',
  'fencedOff',
  'storeFailed',
  'planFailed',
  'declareFailed',
  'listenerFailed',
])

async function run(session: Session, { concurrency, drainTimeout }: Options): Promise<number> {
  const { out, times } = session
  const { path } = await session.exported()
  const onetick = await session.onetick({
    ...(concurrency === undefined ? {} : { concurrency: wholeNumber('--concurrency', concurrency, { min: 1, max: 10_000 }) }),
    ...(drainTimeout === undefined ? {} : { drainTimeout: parseDuration('--drain-timeout', drainTimeout) }),
  })
  const jobWidth = Math.max(0, ...onetick.declared.map(({ name }) => widthOf(printable(name))))
  const stopped = new Promise<void>(resolve => onetick.on('stopped', () => resolve()))
  listen(onetick, told => {
    if (out.isQuiet && !troubles.has(told.name)) return
    if (out.isJson) return out.json(jsonOf(told), 'line')
    out.line(textOf(lineOf(told), { times, jobWidth, paint: (tone, text) => out.paint(tone, text) }))
  })
  await started(onetick)
  out.hint(out.paint('quiet', header(onetick, path, times.zone)))
  await stopped
  return 0
}

async function started(onetick: Onetick): Promise<void> {
  try {
    await onetick.start({ signals: true })
  } catch (error) {
    await onetick.stop().catch(() => undefined)
    throw error
  }
}

function header(onetick: Onetick, path: string, zone: string): string {
  const jobs = onetick.declared.length === 1 ? 'one job' : `${onetick.declared.length || 'no'} jobs`
  const where = `${jobs} of ${printable(shortPath(path))} on ${printable(onetick.store.location)}`
  return `Replica ${printable(onetick.replicaId)}: ${where}. Times in ${zone}. Ctrl-C stops it.`
}
