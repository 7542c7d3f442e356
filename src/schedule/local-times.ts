/** The figures a schedule waits for on a local clock, whatever the zone. Local times are written as in `calendar.ts`. */
export interface LocalTimes {
  /** The first that is `start` or later (milliseconds, whole seconds not required), or `Infinity`. */
  atLeast(start: number): number
}
