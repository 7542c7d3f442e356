import type { Cancel } from '../domain/clock.ts'
import { OnetickError } from '../domain/errors.ts'
import { afterUnlessDone } from '../platform/system.ts'
import type { Onetick } from '../scheduler/onetick.ts'

export interface Supervision {
  /** The classes whose instances the config could start: ours, and that of its own copy of the package. */
  readonly classes: readonly (typeof Onetick)[]
  /** Hears that the config ends the process. There is no time left for anything but to say so. */
  readonly onExit: (error: OnetickError) => void
  readonly limitMs?: number
}

/** Longest that a config may take. */
const loadLimitMs = 60_000

/**
 * Runs `load`, in which a config is run. Rejects as soon as it starts an instance, which is refused before anything is
 * connected to; where it can never come to its end; and with what it throws beside its own course.
 */
export async function supervised<T>(load: () => Promise<T>, { classes, onExit, limitMs = loadLimitMs }: Supervision): Promise<T> {
  let releases: readonly Cancel[] = []
  try {
    return await new Promise<T>((resolve, reject) => {
      releases = [
        startRefused(classes, reject),
        // nothing is left to do for the process, and the config still waits
        heard('beforeExit', () => reject(new OnetickError('ONETICK_CONFIG', 'It never finishes loading.', { remedy: awaits }))),
        heard('exit', () => onExit(new OnetickError('ONETICK_CONFIG', 'It ends the process.', { remedy: exits }))),
        // a rejection that nobody handles is one too
        heard('uncaughtException', reject),
        afterUnlessDone(limitMs, () => reject(tooLong(limitMs))),
      ]
      load().then(resolve, reject)
    })
  } finally {
    for (const release of releases) release()
  }
}

const awaits = 'Something awaited at its top level never comes: take that await away.'
const exits = 'Take process.exit() out of what the config runs while it is loaded.'
const starts = 'Export it unstarted, and call start() in a file of its own: the commands start it themselves.'

/** Whoever waits for it waits for good. */
const never: Promise<void> = new Promise(() => undefined)

function startRefused(classes: readonly (typeof Onetick)[], refuse: (error: OnetickError) => void): Cancel {
  const kept = classes.map(({ prototype }) => ({ prototype, start: prototype.start }))
  for (const { prototype } of kept) {
    prototype.start = () => {
      refuse(startsItself())
      return never
    }
  }
  return () => {
    for (const { prototype, start } of kept) prototype.start = start
  }
}

export function startsItself(): OnetickError {
  return new OnetickError('ONETICK_CONFIG', 'It starts its instance.', { remedy: starts })
}

function tooLong(limitMs: number): OnetickError {
  const remedy = 'What takes long belongs into handlers, not into the top level of the config.'
  return new OnetickError('ONETICK_CONFIG', `It has not finished loading after ${limitMs / 1000} s.`, { remedy })
}

function heard(event: 'beforeExit' | 'exit' | 'uncaughtException', listener: (what: unknown) => void): Cancel {
  process.on(event, listener)
  return () => void process.off(event, listener)
}
