import type { Instant } from './timetable.ts'

/** Time as an argument: the code that ships is the code that runs in the simulator. */
export interface Clock {
  /** The host's wall clock. For people to read; nothing is decided on it. */
  now(): Instant
  /** Milliseconds that only rise and go on while the machine is suspended. S5: local deadlines are kept on this. */
  elapsedMs(): number
  /** Calls back once, `delayMs` from now (any length; 0 or less: as soon as possible). Returns what cancels it. */
  after(delayMs: number, callback: () => void): Cancel
}

export type Cancel = () => void

/** Chance as an argument. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** An identifier that no other call on any replica returns. */
  id(): string
}
