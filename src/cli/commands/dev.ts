import { type Command, Help, type Option } from 'commander'
import { type DevOptions, planOf } from '../dev/plan.ts'
import { Rehearsal } from '../dev/rehearsal.ts'
import { acting } from '../session.ts'

export function dev(program: Command): void {
  program
    .command('dev')
    .configureHelp({ ...program.configureHelp(), visibleGlobalOptions })
    .description('Replicas of the config on this machine, one of them killed now and then: see a takeover in a minute.')
    .option('--replicas <count>', 'how many, 1 to 20', '3')
    .option('--every <duration>', 'every job on this interval, instead of its own schedule')
    .option('--kill-every <duration>', 'pause between kills, 0: none', '30s')
    .option('--base-port <number>', "the first replica's name, the others count on; nothing listens there", '8081')
    .option('--for <duration>', 'stop by itself after this')
    .addHelpText('after', help)
    .action(acting<DevOptions>(async (session, options) => new Rehearsal(session, await planOf(session, options)).run()))
}

/** It makes a namespace of its own, so it takes none. */
function visibleGlobalOptions(this: Help, command: Command): Option[] {
  return Help.prototype.visibleGlobalOptions.call(this, command).filter(({ long }) => long !== '--namespace')
}

const help = `
Replicas are processes. What a killed one ran goes on elsewhere when its lease of 3s has run out; then it is started
again. Ctrl-C stops them by drain and prints the audit: exit code 1 if anything ran twice or was missed.

The store: --store or ONETICK_STORE, else the config's, else a fresh ./.onetick/dev.db. In a store that others use too,
a namespace of its own keeps its jobs apart; handlers do run, with whatever they do to the world.

Examples:
  onetick dev --every 5s
  onetick dev --replicas 5 --kill-every 10s --for 2m
  onetick dev --store postgres://app@localhost/app

JSON: a line an event, as of start, with replica; at the end { event: audit, clean, from, until, forMs, kills, all, jobs }
  all, and each of jobs: due = ran + failed + skipped + superseded + unfinished + waiting + missed; beside them twice, takenOver, repeated`
