import { createHash } from 'node:crypto'
import type { Declaration } from '../domain/declare.ts'
import { OnetickError, quoted } from '../domain/errors.ts'
import type { Definition } from '../domain/job.ts'
import { checkName } from '../domain/name.ts'
import type { Compile, Instant } from '../domain/timetable.ts'
import type { Handler } from '../execution/context.ts'

/** A declaration but for the instants, which depend on the store's now. */
export type Declarable = Omit<Declaration, 'upcoming'>

/** How many instants a declaration hands in, so that one is still to come when it reaches the store. */
const upcomingCount = 8

/** The tasks and jobs of this process. */
export class Jobs {
  readonly #handlers: Map<string, Handler> = new Map()
  readonly #declared: Map<string, Declarable> = new Map()

  addTask(name: string, handler: Handler): void {
    checkName('The task name', name)
    if (typeof handler !== 'function')
      throw new OnetickError('ONETICK_OPTION', `The handler ${quoted(name)} is ${typeof handler}, not a function.`)
    if (this.#handlers.has(name)) throw new OnetickError('ONETICK_NAME_TAKEN', `The task ${quoted(name)} is defined twice.`)
    this.#handlers.set(name, handler)
  }

  /** With a handler of its own, which then is the task of its name. */
  addJob(job: Declarable, handler?: Handler): void {
    const { name } = job
    if (this.#declared.has(name)) throw new OnetickError('ONETICK_NAME_TAKEN', `The job ${quoted(name)} is declared twice.`)
    if (handler !== undefined && this.#handlers.has(name)) {
      const remedy = `Leave the handler out and write { task: ${quoted(name)} }, or give the job another name.`
      throw new OnetickError('ONETICK_NAME_TAKEN', `The job ${quoted(name)} has a handler, and there is a task of that name.`, { remedy })
    }
    if (handler !== undefined) this.addTask(name, handler)
    this.#declared.set(name, job)
  }

  handler(task: string): Handler | undefined {
    return this.#handlers.get(task)
  }

  get tasks(): string[] {
    return [...this.#handlers.keys()].sort()
  }

  get declared(): readonly Declarable[] {
    return [...this.#declared.values()]
  }

  /** Of all that this process declares; replicas of one release agree on it. */
  get release(): string {
    const hashes = this.declared.map(({ name, hash }) => `${name}\n${hash}`).sort()
    return digest(hashes.join('\n'))
  }
}

export function declarable(name: string, task: string, definition: Definition): Declarable {
  checkName('The job name', name)
  checkName('The task name', task)
  return { name, task, definition, hash: digest(canonical([task, definition])) }
}

/** With the next few instants after `now`; closed by `Infinity` where the schedule ends. */
export function declarationAt(job: Declarable, now: Instant, compile: Compile): Declaration {
  const { schedule } = job.definition
  const upcoming: Instant[] = []
  let at = now
  while (upcoming.length < upcomingCount && at !== Number.POSITIVE_INFINITY) {
    at = schedule === null ? Number.POSITIVE_INFINITY : compile(schedule).next(at)
    upcoming.push(at)
  }
  return { ...job, upcoming }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** JSON whose keys are sorted, so that equal definitions have one hash. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
