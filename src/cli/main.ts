#!/usr/bin/env node
import { Command, Option } from 'commander'
import { version } from '../domain/version.ts'
import { check } from './commands/check.ts'
import { dev } from './commands/dev.ts'
import { doctor } from './commands/doctor.ts'
import { explain } from './commands/explain.ts'
import { init } from './commands/init.ts'
import { leases } from './commands/leases.ts'
import { list } from './commands/list.ts'
import { migrate } from './commands/migrate.ts'
import { next } from './commands/next.ts'
import { runs } from './commands/runs.ts'
import { show } from './commands/show.ts'
import { start } from './commands/start.ts'
import { exitCodes, failureOf, Misuse } from './failure.ts'
import { Output } from './output.ts'
import { hushSqliteWarning } from './warnings.ts'

const program = new Command('onetick')
  .description('Scheduled jobs on many replicas: every tick, one replica.')
  .version(version, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'print this help')
  .helpCommand('help [command]', 'print the help of a command')
  .option('--config <file>', 'config file (default: onetick.config.{ts,js,mjs,json})')
  .option('--store <url>', "instead of the config's; also $ONETICK_STORE, and $DATABASE_URL where the config has none")
  .option('--namespace <name>', "instead of the config's")
  .option('--json', 'results, events and errors as JSON')
  .option('--tz <zone>', "print times in this zone (default: this host's)")
  .option('--quiet', 'only results and errors')
  .addOption(new Option('--no-color', 'no colours; also $NO_COLOR'))
  .configureHelp({ showGlobalOptions: true })
  .exitOverride()
  .showSuggestionAfterError()
  .configureOutput({ writeErr: () => undefined })
  .addHelpText('after', '\nExit codes: 0 ok · 1 a difference or a fault was found · 2 usage or config · 3 store unreachable')

for (const add of [init, start, dev, list, leases, next, runs, show, explain, check, doctor, migrate]) add(program)
for (const command of program.commands) {
  command.exitOverride(error => {
    throw error.exitCode === exitCodes.ok ? error : new Misuse(command.name(), error)
  })
}

hushSqliteWarning()
await main(process.argv)

async function main(argv: readonly string[]): Promise<void> {
  // whoever reads along has read enough: `onetick list | head`
  process.stdout.on('error', error => end((error as NodeJS.ErrnoException).code === 'EPIPE' ? exitCodes.ok : exitCodes.difference))
  if (argv.length <= 2) {
    program.outputHelp()
    return
  }
  try {
    await program.parseAsync(argv)
  } catch (error) {
    process.exitCode = reported(error, argv)
  }
  end(Number(process.exitCode ?? exitCodes.ok))
}

function reported(error: unknown, argv: readonly string[]): number {
  // help and version come as errors of code 0
  if ((error as { exitCode?: number }).exitCode === 0) return exitCodes.ok
  const failure = failureOf(error)
  new Output({ json: argv.includes('--json'), quiet: false, color: false }).fail(failure)
  return failure.exit
}

/** Ends the process also where the user's config left something open. */
function end(code: number): void {
  process.stdout.write('', () => process.exit(code))
}
