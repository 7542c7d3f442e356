import { randomUUID } from 'node:crypto'
import { uptime } from 'node:os'
import type { Cancel, Clock, Random } from '../domain/clock.ts'

/** setTimeout fires at once above this, so longer waits are cut into pieces. */
const longestTimerMs = 2 ** 31 - 1

/** From where elapsed time counts: the same in every thread of the process. */
export interface ClockZero {
  /** Of the monotonic clock that all threads share. */
  readonly hrMs: number
  /** The machine's up time then. */
  readonly bootMs: number
}

export const systemZero: ClockZero = { hrMs: hrNowMs(), bootMs: uptime() * 1000 }

/** This machine's time. In another thread: `clockSince` with this one's zero. */
export const systemClock: Clock = clockSince(systemZero)

/** A clock whose elapsed time is that of another thread's. */
export function clockSince(zero: ClockZero): Clock {
  return { now: () => Date.now(), elapsedMs: elapsed(zero), after }
}

function hrNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function after(delayMs: number, callback: () => void): Cancel {
  if (delayMs <= 0) {
    const immediate = setImmediate(callback)
    return () => clearImmediate(immediate)
  }
  const dueMs = performance.now() + delayMs
  let timer: NodeJS.Timeout
  const cancel: Cancel = () => clearTimeout(timer)
  // Node counts a timer from the start of the loop's turn, so one set late in a long turn fires early: look again
  const wait = (): void => {
    const leftMs = Math.ceil(dueMs - performance.now())
    timer = setTimeout(() => (performance.now() < dueMs ? wait() : callback()), Math.min(Math.max(0, leftMs), longestTimerMs))
  }
  wait()
  return cancel
}

/** For what is only of use while the process has something else to do: it does not wait for this. */
export function afterUnlessDone(delayMs: number, callback: () => void): Cancel {
  const timer = setTimeout(callback, delayMs)
  timer.unref()
  return () => clearTimeout(timer)
}

/**
 * S5: Node's monotonic clock stands still while the machine is suspended, its up time does not;
 * whichever has gone further is what has elapsed.
 */
function elapsed({ hrMs, bootMs }: ClockZero): () => number {
  const startMs = performance.now() - (hrNowMs() - hrMs)
  let suspendedMs = 0
  let lookedMs = Number.NEGATIVE_INFINITY
  let wallAheadMs = 0
  return () => {
    const nowMs = performance.now()
    const runningMs = nowMs - startMs
    // the up time costs a system call: looked at once a second, and whenever the wall clock has left the monotonic one behind
    const aheadMs = Date.now() - nowMs
    if (nowMs - lookedMs > 1000 || Math.abs(aheadMs - wallAheadMs) > 50) {
      lookedMs = nowMs
      wallAheadMs = aheadMs
      // it comes in steps of 10 ms: only a real gap counts as a suspension
      const gapMs = uptime() * 1000 - bootMs - runningMs
      if (gapMs - suspendedMs > 100) suspendedMs = gapMs
    }
    return runningMs + suspendedMs
  }
}

/** This process's chance. */
export const systemRandom: Random = {
  next: () => Math.random(),
  id: () => randomUUID(),
}
