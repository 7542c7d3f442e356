import { DAY_MS, firstDayOf, SECOND_MS, yearOf } from './calendar.ts'

/**
 * A span of time over which a zone keeps one distance from UTC. Spans are cut at the turn of a UTC year.
 *
 * The clock change at `from` shows in `reached`: less than `from + offsetMs`, and the clock jumped over what lies between
 * (a gap); more, and it was set back, so the local times until `reached` are a second pass (a fold).
 */
export interface Span {
  readonly from: number
  /** Exclusive. */
  readonly until: number
  /** Local time minus UTC. */
  readonly offsetMs: number
  /** The local time up to which the clock had come before this span. */
  readonly reached: number
  /** The local time to which the clock is set at the end: local times from here to that end come again. */
  readonly returnsTo: number
}

/** No zone has kept an offset for less than almost four days (Freetown, September 1939): a look every second day misses no change. */
const LOOK_EVERY_MS = 2 * DAY_MS
/** Clock changes this near to a turn of the year are seen from both sides of it; the largest on record is a day. */
const OVERLAP_MS = 2 * DAY_MS
const MAX_YEARS_KEPT = 64

/**
 * Where a zone's local clock stands at an instant. `Intl` is the only source, so the zone data are the host's own; asking it takes
 * microseconds, so what it says is kept, a year at a time.
 */
export class Zone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat
  readonly #years = new Map<number, readonly Span[]>()
  #recent: Span = { from: 0, until: 0, offsetMs: 0, reached: 0, returnsTo: 0 }

  /** Expects a name from `canonicalTimeZone`. */
  constructor(name: string) {
    this.name = name
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  }

  spanAt(instant: number): Span {
    const recent = this.#recent
    if (instant >= recent.from && instant < recent.until) return recent
    const year = yearOf(Math.floor(instant / DAY_MS))
    const spans = this.#years.get(year) ?? this.#readYear(year)
    const span = spans.find(({ until }) => instant < until) as Span
    this.#recent = span
    return span
  }

  #readYear(year: number): readonly Span[] {
    const opens = firstDayOf(year, 1) * DAY_MS
    const closes = firstDayOf(year + 1, 1) * DAY_MS
    const spans = withPasses(this.#offsetsBetween(opens - OVERLAP_MS, closes + OVERLAP_MS))
      .filter(({ from, until }) => from < closes && until > opens)
      .map(span => cut(span, { opens, closes }))
    if (this.#years.size >= MAX_YEARS_KEPT) this.#years.delete(this.#years.keys().next().value as number)
    this.#years.set(year, spans)
    return spans
  }

  #offsetsBetween(start: number, end: number): Offset[] {
    const offsets: Offset[] = [{ from: start, until: end, offsetMs: this.#offsetAt(start) }]
    for (let looked = start; looked < end; looked += LOOK_EVERY_MS) {
      const last = offsets[offsets.length - 1] as Offset
      const look = Math.min(looked + LOOK_EVERY_MS, end)
      const offsetMs = this.#offsetAt(look)
      if (offsetMs === last.offsetMs) continue
      const from = this.#firstSecondOf({ offsetMs, after: looked, until: look })
      last.until = from
      offsets.push({ from, until: end, offsetMs })
    }
    return offsets
  }

  /** The second of the one change between `after` and `until`. */
  #firstSecondOf({ offsetMs, after, until }: { offsetMs: number; after: number; until: number }): number {
    let before = after
    let since = until
    while (since - before > SECOND_MS) {
      const middle = before + Math.floor((since - before) / 2 / SECOND_MS) * SECOND_MS
      if (this.#offsetAt(middle) === offsetMs) since = middle
      else before = middle
    }
    return since
  }

  /** Reads `GMT`, `GMT+05:30` or `GMT-00:25:21` off the end of what `Intl` writes. */
  #offsetAt(instant: number): number {
    const text = this.#format.format(instant)
    const [sign, ...clock] = text.slice(text.lastIndexOf('GMT') + 3)
    const [hours = 0, minutes = 0, seconds = 0] = clock.join('').split(':').map(Number)
    const offsetMs = (hours * 3600 + minutes * 60 + seconds) * SECOND_MS
    return sign === '-' ? -offsetMs : offsetMs
  }
}

const zones = new Map<string, Zone>()

/** The one `Zone` of a canonical name: there are some six hundred names, so all may be kept. */
export function zoneOf(name: string): Zone {
  let zone = zones.get(name)
  if (zone === undefined) {
    zone = new Zone(name)
    zones.set(name, zone)
  }
  return zone
}

interface Offset {
  from: number
  until: number
  offsetMs: number
}

function withPasses(offsets: readonly Offset[]): Span[] {
  return offsets.map((offset, index) => ({
    ...offset,
    reached: Math.max(...offsets.slice(0, index).map(localEnd), index === 0 ? localStart(offset) : -Infinity),
    returnsTo: Math.min(...offsets.slice(index + 1).map(localStart), localEnd(offset)),
  }))
}

function cut(span: Span, { opens, closes }: { opens: number; closes: number }): Span {
  const { from, until, offsetMs, reached } = span
  return {
    ...span,
    from: Math.max(from, opens),
    until: Math.min(until, closes),
    // The clock change was before the cut: only a second pass may reach across it.
    reached: from < opens ? Math.max(reached, opens + offsetMs) : reached,
  }
}

function localStart({ from, offsetMs }: Offset): number {
  return from + offsetMs
}

function localEnd({ until, offsetMs }: Offset): number {
  return until + offsetMs
}
