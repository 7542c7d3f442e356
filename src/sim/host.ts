import type { Cancel, Clock } from '../domain/clock.ts'
import type { Chance } from './chance.ts'
import type { Planned, World } from './world.ts'

export interface Hardware {
  /** The wall clock's error, milliseconds. */
  readonly wallAheadMs: number
  /** How fast its clocks run: 1 is right, 1.05 is five percent fast. */
  readonly rate: number
  /** Timers come this much late at most. */
  readonly timerLateMs: number
}

interface Timer {
  readonly callback: () => void
  planned: Planned | null
  isCancelled: boolean
}

/** Below this a gap between up time and monotonic time is not taken for a suspension, as in src/platform/system.ts. */
const smallestGapMs = 100

/** A machine and the process on it: its clocks, and whether it runs, stands still, sleeps or is dead. */
export class Host {
  readonly clock: Clock
  readonly #world: World
  readonly #chance: Chance
  readonly #hardware: Hardware
  readonly #bootMs: number
  readonly #timers: Set<Timer> = new Set()
  #wallAheadMs: number
  #suspendedMs = 0
  #knownSuspendedMs = 0
  #backlog: (() => void)[] = []
  #frozen: 'no' | 'paused' | 'suspended' = 'no'
  #thaw: Planned | null = null
  isUp = true
  /** Told after everything that happened here. */
  readonly #onChange: () => void

  constructor(of: { world: World; chance: Chance; hardware: Hardware; onChange: () => void }) {
    this.#world = of.world
    this.#chance = of.chance
    this.#hardware = of.hardware
    this.#onChange = of.onChange
    this.#bootMs = of.world.nowMs
    this.#wallAheadMs = of.hardware.wallAheadMs
    this.clock = {
      now: () => Math.floor(this.#world.nowMs + this.#wallAheadMs),
      elapsedMs: () => this.#elapsedMs(),
      after: (delayMs, callback) => this.#after(delayMs, callback),
    }
  }

  get isFrozen(): boolean {
    return this.#frozen !== 'no'
  }

  /** Something arrives at the process: now, or, where it stands still, when it goes on. */
  deliver(run: () => void): void {
    if (!this.isUp) return
    if (this.#frozen !== 'no') {
      this.#backlog.push(run)
      return
    }
    run()
    this.#onChange()
  }

  /** SIGSTOP, or a blocked loop: time goes on, nothing runs; what arrived meanwhile comes in any order afterwards. */
  pause(forMs: number): void {
    if (!this.isUp || this.#frozen !== 'no') return
    this.#frozen = 'paused'
    this.#thaw = this.#world.after(forMs, () => this.#goOn())
    this.#onChange()
  }

  /** The machine sleeps: its monotonic clock stands still and its timers with it; its up time goes on. */
  suspend(forMs: number): void {
    if (!this.isUp || this.#frozen !== 'no') return
    this.#frozen = 'suspended'
    const from = this.#world.nowMs
    const sleeping = [...this.#timers].map(timer => ({ timer, leftMs: (timer.planned?.atMs ?? from) - from }))
    for (const { timer } of sleeping) if (timer.planned !== null) timer.planned.isCancelled = true
    this.#thaw = this.#world.after(forMs, () => {
      this.#suspendedMs += this.#world.nowMs - from
      for (const { timer, leftMs } of sleeping) if (!timer.isCancelled) this.#arm(timer, leftMs)
      this.#goOn()
    })
    this.#onChange()
  }

  stepWall(byMs: number): void {
    this.#wallAheadMs += byMs
  }

  setWall(aheadMs: number): void {
    this.#wallAheadMs = aheadMs
  }

  /** SIGKILL: nothing of it goes on. */
  crash(): void {
    this.isUp = false
    this.#backlog = []
    if (this.#thaw !== null) this.#thaw.isCancelled = true
    for (const timer of this.#timers) {
      timer.isCancelled = true
      if (timer.planned !== null) timer.planned.isCancelled = true
    }
    this.#timers.clear()
    this.#onChange()
  }

  #goOn(): void {
    if (!this.isUp) return
    this.#frozen = 'no'
    const waiting = this.#chance.shuffled(this.#backlog)
    this.#backlog = []
    // each in a turn of its own, as a loop that wakes up would
    for (const run of waiting) this.#world.after(this.#chance.between(0, 0.2), () => this.deliver(run))
    this.#onChange()
  }

  #elapsedMs(): number {
    const sinceBootMs = this.#world.nowMs - this.#bootMs
    const gapMs = this.#suspendedMs * this.#hardware.rate
    if (gapMs - this.#knownSuspendedMs > smallestGapMs) this.#knownSuspendedMs = gapMs
    return (sinceBootMs - this.#suspendedMs) * this.#hardware.rate + this.#knownSuspendedMs
  }

  #after(delayMs: number, callback: () => void): Cancel {
    const timer: Timer = { callback, planned: null, isCancelled: false }
    this.#arm(timer, Math.max(0, delayMs) / this.#hardware.rate + this.#chance.next() * this.#hardware.timerLateMs)
    return () => {
      timer.isCancelled = true
      if (timer.planned !== null) timer.planned.isCancelled = true
      this.#timers.delete(timer)
    }
  }

  #arm(timer: Timer, delayMs: number): void {
    this.#timers.add(timer)
    timer.planned = this.#world.after(delayMs, () =>
      this.deliver(() => {
        this.#timers.delete(timer)
        if (!timer.isCancelled) timer.callback()
      }),
    )
  }
}
