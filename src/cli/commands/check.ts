import type { Command } from 'commander'
import { OnetickError, quoted } from '../../domain/errors.ts'
import type { Schedule } from '../../domain/timetable.ts'
import { systemClock } from '../../platform/system.ts'
import { assertFires } from '../../schedule/index.ts'
import type { Declarable } from '../../scheduler/jobs.ts'
import type { Onetick } from '../../scheduler/onetick.ts'
import { openStore } from '../../store/open.ts'
import { noJobs, shortPath } from '../config.ts'
import { exitCodes, type Failure, failureOf } from '../failure.ts'
import { isStoreNamed } from '../named-store.ts'
import { scheduleInWords } from '../schedule-in-words.ts'
import { acting, type Session } from '../session.ts'
import { printable } from '../text.ts'

export function check(program: Command): void {
  program
    .command('check')
    .description('Load the config without starting, and tell what is wrong with it.')
    .option('--strict', 'warnings are errors')
    .addHelpText('after', help)
    .action(acting(run))
}

const help = `
Connects to nothing and starts nothing. Each problem is a line: file:line: code: what, and what to do. Exit code 2 where there is one.

Example:
  onetick check --strict && docker build .

JSON: { config, jobs: [{ name, task, schedule, timeZone, words }], problems: [{ severity, code, message }] }
  severity: error or warning`

interface Problem extends Failure {
  readonly severity: 'error' | 'warning'
}

async function run(session: Session, { strict = false }: { readonly strict?: boolean }): Promise<number> {
  const { out } = session
  const { path, onetick } = await session.exported()
  if (session.options.store !== undefined) await openStore(session.options.store, {}).close()
  const problems = [...errorsOf(onetick, session), ...warningsOf(onetick, session)].map(problem => located(problem, path))
  const jobs = onetick.declared
  const isBad = problems.some(({ severity }) => strict || severity === 'error')
  if (out.isJson) {
    out.json({
      config: path,
      jobs: jobs.map(jsonOf),
      problems: problems.map(({ severity, code, message }) => ({ severity, code, message })),
    })
    return isBad ? exitCodes.usage : exitCodes.ok
  }
  if (jobs.length > 0) {
    out.table(
      [
        { title: 'job', text: ({ name }) => printable(name), atMost: 40 },
        { title: 'task', text: ({ task }) => printable(task), atMost: 40 },
        { title: 'schedule', text: ({ definition }) => printable(definition.schedule?.schedule ?? '–'), atMost: 30 },
        { title: 'in words', text: ({ definition }) => scheduleInWords(definition.schedule), atMost: 80 },
      ],
      jobs,
    )
  }
  for (const { severity, message } of problems) out.line(out.paint(severity === 'error' ? 'bad' : 'notice', `${severity}: ${message}`))
  out.hint(`\n${printable(shortPath(path))}: ${verdict(problems, jobs.length)}`)
  return isBad ? exitCodes.usage : exitCodes.ok
}

function errorsOf(onetick: Onetick, { options }: Session): Problem[] {
  const tasks = onetick.declared
    .filter(({ task }) => !onetick.tasks.includes(task))
    .map(({ name, task }) =>
      problem('error', new OnetickError('ONETICK_TASK_UNKNOWN', `The job ${quoted(name)} names the task ${quoted(task)}.`)),
    )
  return options.store === undefined && isStoreNamed(onetick) ? [...tasks, ...storeOf(onetick)] : tasks
}

/** Its URL shows only when it is used. */
function storeOf(onetick: Onetick): Problem[] {
  try {
    void onetick.configured({}).store
    return []
  } catch (error) {
    return [problem('error', error)]
  }
}

function warningsOf(onetick: Onetick, { options }: Session): Problem[] {
  const warnings = onetick.declared.flatMap(({ definition }) => pastOf(definition.schedule))
  if (onetick.declared.length === 0) warnings.push(noJobs('It'))
  if (options.store === undefined && !isStoreNamed(onetick)) {
    const remedy = 'Name one there, or set ONETICK_STORE or DATABASE_URL where it runs.'
    warnings.push(new OnetickError('ONETICK_STORE_MISSING', 'It names no store.', { remedy }))
  }
  return warnings.map(warning => problem('warning', warning))
}

/** No error: a single instant was in the future once. */
function pastOf(schedule: Schedule | null): unknown[] {
  try {
    if (schedule !== null) assertFires(schedule, systemClock.now())
    return []
  } catch (error) {
    return [error]
  }
}

function problem(severity: Problem['severity'], error: unknown): Problem {
  return { severity, ...failureOf(error) }
}

/** What only shows once all is loaded has no line of its own. */
function located(problem: Problem, path: string): Problem {
  return { ...problem, message: `${printable(shortPath(path))}: ${problem.message}` }
}

function verdict(problems: readonly Problem[], jobs: number): string {
  const declared = jobs === 1 ? 'one job' : `${jobs === 0 ? 'no' : jobs} jobs`
  if (problems.length === 0) return `${declared}, nothing wrong.`
  return `${declared}, ${problems.length === 1 ? 'one problem' : `${problems.length} problems`}.`
}

function jsonOf({ name, task, definition: { schedule } }: Declarable): object {
  const timeZone = schedule === null ? null : (schedule.timeZone ?? 'UTC')
  return { name, task, schedule: schedule?.schedule ?? null, timeZone, words: scheduleInWords(schedule) }
}
