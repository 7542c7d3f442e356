import { OnetickError, quoted } from './errors.ts'

/** A length of time: `'250ms'`, `'30s'`, `'5m'`, `'2h'`, `'1d'`; combinations as in `'1h30m'`. A number is milliseconds. */
export type Duration = string | number

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Milliseconds, a whole positive number. Throws `ONETICK_DURATION` naming `what`. */
export function parseDuration(what: string, value: Duration, bounds: { readonly minMs?: number; readonly maxMs?: number } = {}): number {
  const { minMs = 1, maxMs = 366 * 86_400_000 } = bounds
  const ms = typeof value === 'number' ? value : parsed(value)
  if (!Number.isSafeInteger(ms)) throw new OnetickError('ONETICK_DURATION', `${what} is ${quoted(value)}, not a duration.`)
  if (ms < minMs || ms > maxMs) {
    throw new OnetickError('ONETICK_DURATION', `${what} is ${quoted(value)}; it must lie between ${inUnits(minMs)} and ${inUnits(maxMs)}.`)
  }
  return ms
}

function parsed(text: unknown): number {
  if (typeof text !== 'string' || text.length > 40 || !/^(\d+(ms|[smhdw]))+$/.test(text)) return Number.NaN
  let ms = 0
  for (const [, amount, unit] of text.matchAll(/(\d+)(ms|[smhdw])/g)) ms += Number(amount) * (unitsMs[unit ?? ''] ?? Number.NaN)
  return ms
}

/** As short as it can be said exactly: `90000` is `90s`, `3600000` is `1h`. */
export function inUnits(ms: number): string {
  if (ms === 0) return '0s'
  for (const unit of ['d', 'h', 'm', 's']) {
    const size = unitsMs[unit] ?? 1
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`
  }
  return `${ms}ms`
}
