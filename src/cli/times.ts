import type { Instant } from '../domain/timetable.ts'
import { localText, offsetText } from '../schedule/calendar.ts'
import { canonicalTimeZone } from '../schedule/time-zone.ts'
import { type Zone, zoneOf } from '../schedule/zone.ts'

/** Instants as people read them, in one zone. */
export class Times {
  readonly zone: string
  readonly #zone: Zone

  /** Throws `ONETICK_TIME_ZONE`. */
  constructor(zone: string) {
    this.zone = canonicalTimeZone(zone)
    this.#zone = zoneOf(this.zone)
  }

  /** `2026-10-25 02:30:00`, milliseconds where there are any; a dash for never. */
  full(instant: Instant | null): string {
    return instant === null || !Number.isFinite(instant) ? '–' : this.#local(instant).replace('T', ' ')
  }

  /** `02:30:00.000` */
  clock(instant: Instant): string {
    const [time = '', ms = '000'] = this.#local(instant).slice(11).split('.')
    return `${time}.${ms}`
  }

  /** As short as it can be said on the day of `near`: `02:30:00`. */
  short(instant: Instant, near: Instant): string {
    const text = this.full(instant)
    return text.slice(0, 10) === this.full(near).slice(0, 10) ? text.slice(11) : text
  }

  /** `2026-10-25T02:30:00+02:00` */
  withOffset(instant: Instant): string {
    return `${this.#local(instant)}${offsetText(this.#zone.spanAt(instant).offsetMs)}`
  }

  #local(instant: Instant): string {
    return localText(instant + this.#zone.spanAt(instant).offsetMs)
  }
}

/** Where this process stands, for times that nobody gave a zone. */
export function hostTimeZone(): string {
  try {
    return canonicalTimeZone(new Intl.DateTimeFormat().resolvedOptions().timeZone)
  } catch {
    return 'UTC'
  }
}

/** For programs; null: never, or unknown. */
export function iso(instant: Instant | null): string | null {
  return instant === null || !Number.isFinite(instant) ? null : new Date(instant).toISOString()
}

const units: ReadonlyArray<readonly [number, string]> = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]

/** A length of time in at most two units: `340 ms`, `1.2 s`, `4 min 12 s`. */
export function lengthText(ms: number): string {
  const abs = Math.abs(Math.round(ms))
  if (abs < 1000) return `${abs} ms`
  if (abs < 10_000) return `${(abs / 1000).toFixed(1)} s`
  const at = units.findIndex(([size]) => abs >= size)
  const [size, unit] = units[at] ?? [1, 'ms']
  const [below = 1, lesser = ''] = units[at + 1] ?? []
  const whole = Math.floor(abs / size)
  const rest = Math.floor((abs - whole * size) / below)
  return rest === 0 || lesser === '' ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${lesser}`
}

/** `in 12 s`, `3 min ago`. */
export function awayText(instant: Instant, now: Instant): string {
  const ms = instant - now
  if (Math.abs(ms) < 1000) return 'now'
  const text = lengthText(Math.floor(Math.abs(ms) / 1000) * 1000).replace('.0 s', ' s')
  return ms > 0 ? `in ${text}` : `${text} ago`
}
