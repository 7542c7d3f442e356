import type { Clock } from '../domain/clock.ts'
import type { Handler, JobContext } from '../execution/context.ts'
import type { Chance } from './chance.ts'
import type { HandlerRun, History } from './history.ts'

/** How a job's handlers behave, as chances. */
export interface Temper {
  /** Longest run, milliseconds. */
  readonly longestMs: number
  /** How often a run takes as long as that, rather than a few milliseconds. */
  readonly long: number
  readonly throws: number
  readonly ignoresAbort: number
  readonly checkpoints: number
}

export const calm: Temper = { longestMs: 60, long: 0, throws: 0, ignoresAbort: 0, checkpoints: 0 }

interface Stage {
  readonly clock: Clock
  readonly chance: Chance
  readonly replica: string
  readonly history: History
  readonly now: () => number
  readonly temper: (job: string) => Temper
  readonly onStart: (run: HandlerRun) => void
  readonly onEnd: (run: HandlerRun) => void
}

/** A handler of any length that may throw, keep checkpoints, and heed its signal or not. */
export function handlerOf(stage: Stage): Handler {
  return async context => {
    const { chance, history, clock, now } = stage
    const temper = stage.temper(context.job)
    const run = begin(stage, context)
    history.runs.push(run)
    stage.onStart(run)
    const heeds = !chance.yes(temper.ignoresAbort)
    const throws = chance.yes(temper.throws)
    const keeps = chance.yes(temper.checkpoints)
    const lastsMs = chance.yes(temper.long) ? chance.between(0, temper.longestMs) : chance.between(0, Math.min(60, temper.longestMs))
    const untilMs = clock.elapsedMs() + lastsMs
    const stop = stopped(context, run, now)
    try {
      if (throws && chance.yes(0.3)) throw new Error('at once')
      for (let leftMs = lastsMs; leftMs > 0; leftMs = untilMs - clock.elapsedMs()) {
        await slept(clock, Math.min(leftMs, 700), heeds ? stop : null)
        const { aborted } = context.signal
        if (!aborted) run.trustedAt = now()
        if (aborted && heeds) throw context.signal.reason
        if (keeps) await context.checkpoint({ leftMs: Math.round(leftMs) }).catch(error => heeds && Promise.reject(error))
      }
      if (throws) throw new Error('at the end')
    } finally {
      run.endedAt = now()
      stage.onEnd(run)
    }
  }
}

function begin({ now, replica }: Stage, context: JobContext): HandlerRun {
  const { job, cause, attempt, fence } = context
  const startedAt = now()
  return {
    job,
    cause,
    scheduledAt: context.scheduledAt.getTime(),
    attempt,
    fence,
    replica,
    startedAt,
    trustedAt: startedAt,
    abortedAt: null,
    endedAt: null,
  }
}

/** Resolves at the abort, which is noted. */
function stopped({ signal }: JobContext, run: HandlerRun, now: () => number): Promise<void> {
  return new Promise(resolve => {
    const note = (): void => {
      run.abortedAt ??= now()
      resolve()
    }
    if (signal.aborted) note()
    else signal.addEventListener('abort', note, { once: true })
  })
}

function slept(clock: Clock, ms: number, stop: Promise<void> | null): Promise<void> {
  return new Promise(resolve => {
    const cancel = clock.after(ms, resolve)
    void stop?.then(() => {
      cancel()
      resolve()
    })
  })
}
