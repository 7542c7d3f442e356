import type { Cancel } from '../domain/clock.ts'
import type { Calls } from './calls.ts'
import type { Declarer } from './declarer.ts'
import type { SchedulerOptions } from './options.ts'

/** The ledger is kept this long, and never below this many lines a job. */
const retention = { keepMs: 7 * 86_400_000, keepLines: 100 } as const

const pruneEveryMs = 3_600_000

export interface HousekeepingOptions extends SchedulerOptions {
  readonly calls: Calls
  readonly declarer: Declarer
}

/** What somebody has to do now and then; any replica may, and all do, at different times. */
export class Housekeeping {
  readonly #of: HousekeepingOptions
  #timers: Cancel[] = []

  constructor(of: HousekeepingOptions) {
    this.#of = of
  }

  start(): void {
    const { declarer, store, calls, timing } = this.#of
    this.#every(timing.liveForMs, () => declarer.declareOverruled())
    this.#every(pruneEveryMs, async () => {
      await calls.send('prune', () => store.control({ kind: 'prune', ...retention }), 60_000)
    })
  }

  stop(): void {
    for (const cancel of this.#timers) cancel()
    this.#timers = []
  }

  #every(intervalMs: number, task: () => Promise<void>): void {
    const index = this.#timers.length
    const arm = (): void => {
      // replicas that started together drift apart
      this.#timers[index] = this.#of.clock.after(intervalMs * (0.75 + 0.5 * this.#of.random.next()), () => {
        // told of by the call itself; next time
        void task()
          .catch(() => undefined)
          .then(() => this.#timers.length > 0 && arm())
      })
    }
    arm()
  }
}
