// An oracle that shares nothing with the code under test: it reads the wall clock of a zone through Intl, step by step, and takes every
// instant whose local time matches. Slow, and simple enough to be believed.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DstPolicy } from '../domain/timetable.ts'
import { compileSchedule } from './compile.ts'

const soaking = process.env['ONETICK_SOAK'] === '1'
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const zones = Intl.supportedValuesOf('timeZone').filter(zone => zone.includes('/'))

describe('brute force over the wall clock', () => {
  test('every clock change of 2026 and 2027 in every zone', { timeout: soaking ? 3_600_000 : 60_000 }, () => {
    let changes = 0
    for (const zone of zones) {
      const clock = new WallClock(zone)
      for (const at of changesOf(clock, { from: Date.UTC(2026, 0, 1), until: Date.UTC(2028, 0, 1) })) {
        changes++
        checkAround({ clock, at, jobs: jobsAround(clock, at, { seed: changes, count: soaking ? 200 : 5 }) })
      }
    }
    expect(changes).toBeGreaterThan(400)
  })

  test('zones without a change run by the same clock', () => {
    for (const zone of zones) {
      const clock = new WallClock(zone)
      const at = Date.UTC(2026, 6, 4, 12)
      checkWindow({ clock, jobs: jobsAround(clock, at, { seed: 7, count: 1 }), from: at, until: at + 2 * HOUR, step: MINUTE })
    }
  })

  test.each([
    ['Pacific/Apia', '2011-12-30T10:00:00Z', 'a whole day is struck out'],
    ['Pacific/Apia', '1892-07-05T11:26:56Z', 'a whole day comes twice'],
    ['Pacific/Kwajalein', '1969-10-01T00:00:00Z', 'a fold of 23 hours'],
    ['Pacific/Kwajalein', '1993-08-21T12:00:00Z', 'a whole day is struck out'],
    ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 'a fold of half an hour'],
    ['Australia/Lord_Howe', '2026-10-03T15:30:00Z', 'a gap of half an hour'],
    ['Antarctica/Troll', '2026-03-29T01:00:00Z', 'a gap of two hours'],
    ['Antarctica/Troll', '2026-10-25T01:00:00Z', 'a fold of two hours'],
    ['Africa/Casablanca', '2026-02-15T02:00:00Z', 'summer time is suspended for Ramadan'],
    ['Africa/Casablanca', '2026-03-22T02:00:00Z', 'and comes back'],
    ['America/Havana', '2026-03-08T05:00:00Z', 'a gap that begins at midnight'],
    ['America/Havana', '2026-11-01T05:00:00Z', 'a fold that ends at 1'],
    ['Asia/Amman', '2022-02-24T22:00:00Z', 'a gap that begins at midnight'],
    ['Asia/Amman', '2021-10-28T22:00:00Z', 'a fold that begins at midnight'],
    ['America/Nuuk', '2024-03-31T01:00:00Z', 'a gap that ends at midnight'],
    ['America/Nuuk', '2024-10-27T01:00:00Z', 'a fold that ends at midnight'],
    ['Asia/Pyongyang', '2018-05-04T15:00:00Z', 'half an hour before midnight is missing'],
    ['Asia/Pyongyang', '2015-08-14T15:00:00Z', 'half an hour before midnight comes twice'],
    ['America/Santiago', '2026-09-06T04:00:00Z', 'a gap that begins at midnight'],
    ['America/Santiago', '2026-04-05T03:00:00Z', 'a fold that ends at midnight'],
    ['Atlantic/Azores', '2026-03-29T01:00:00Z', 'a gap that begins at midnight'],
    ['Atlantic/Azores', '2026-10-25T01:00:00Z', 'a fold that begins at midnight'],
    ['America/Sao_Paulo', '2018-11-04T03:00:00Z', 'a gap that begins at midnight'],
    ['America/Caracas', '2007-12-09T07:00:00Z', 'half an hour back for good'],
    ['Asia/Kathmandu', '1985-12-31T18:30:00Z', 'a quarter of an hour forward, at the turn of a year'],
    ['America/Inuvik', '1953-01-01T00:00:00Z', 'eight hours back at the turn of a year'],
    ['Africa/Tunis', '1943-04-17T00:00:00Z', 'eight days of another time'],
    ['Antarctica/Casey', '2011-10-27T18:00:00Z', 'a gap of exactly three hours'],
    ['America/Juneau', '1983-10-30T09:00:00Z', 'two hours back'],
  ])('%s around %s: %s', (zone, near, _what) => {
    const clock = new WallClock(zone)
    const changes = changesOf(clock, { from: Date.parse(near) - 5 * DAY, until: Date.parse(near) + 5 * DAY })
    expect(changes.length).toBeGreaterThan(0)
    for (const at of changes) checkAround({ clock, at, jobs: jobsAround(clock, at, { seed: 11, count: soaking ? 500 : 12 }) })
  })

  test.each([
    ['Africa/Monrovia', '1972-01-07T00:44:30Z', '44 minutes and 30 seconds forward'],
    ['Europe/Dublin', '1916-10-01T02:25:21Z', 'an hour back, 25:21 forward'],
    ['Asia/Kolkata', '1905-12-31T18:38:50Z', 'from local mean time, at the turn of a year'],
    ['America/Guyana', '1911-08-01T03:52:39Z', 'from local mean time'],
    ['Africa/Sao_Tome', '1884-01-01T00:00:00Z', '36 minutes and 45 seconds come twice, on both sides of a turn of the year'],
    ['Asia/Singapore', '1905-05-31T17:04:35Z', 'from local mean time'],
  ])('to the second: %s around %s: %s', (zone, near, _what) => {
    const clock = new WallClock(zone)
    const changes = changesOf(clock, { from: Date.parse(near) - DAY, until: Date.parse(near) + DAY })
    expect(changes.length).toBeGreaterThan(0)
    for (const at of changes) {
      const jobs = jobsAround(clock, at, { seed: 13, count: 12, seconds: true })
      checkWindow({ clock, jobs, from: at - 2 * HOUR, until: at + 2 * HOUR, step: 1_000 })
    }
  })

  test.runIf(soaking)('every minute of two years in every tenth zone', { timeout: 3_600_000 }, () => {
    for (const zone of zones.filter((_, index) => index % 10 === 0)) {
      const clock = new WallClock(zone)
      const jobs = jobsAround(clock, Date.UTC(2026, 5, 1), { seed: 17, count: 10 })
      checkWindow({ clock, jobs, from: Date.UTC(2026, 0, 1), until: Date.UTC(2028, 0, 1), step: MINUTE })
    }
  })
})

interface Moment {
  readonly instant: number
  readonly local: number
}

interface Job {
  readonly expression: string
  readonly matches: (local: Date) => boolean
  readonly isIntervalLike: boolean
  readonly dst: DstPolicy
}

class WallClock {
  readonly zone: string
  readonly #format: Intl.DateTimeFormat

  constructor(zone: string) {
    this.zone = zone
    const figures = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
    this.#format = new Intl.DateTimeFormat('en-US', { ...figures, timeZone: zone, hourCycle: 'h23' })
  }

  /** What the clock shows, as if it were UTC. */
  localAt(instant: number): number {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (this.#format.format(instant).match(/\d+/g) ?? []).map(Number)
    return Date.UTC(year, month - 1, day, hour, minute, second)
  }
}

/** The instants at which the clock jumps, to the second. */
function changesOf(clock: WallClock, { from, until }: { from: number; until: number }): number[] {
  const offsetAt = (instant: number): number => clock.localAt(instant) - instant
  const found: number[] = []
  let offset = offsetAt(from)
  for (let start = from; start < until; start += DAY / 2) {
    const ends = offsetAt(start + DAY / 2)
    if (ends === offset) continue
    let [before, since] = [start, start + DAY / 2]
    while (since - before > 1_000) {
      const middle = Math.floor((before + since) / 2_000) * 1_000
      if (offsetAt(middle) === offset) before = middle
      else since = middle
    }
    found.push(since)
    offset = ends
  }
  return found
}

function checkAround({ clock, at, jobs }: { clock: WallClock; at: number; jobs: readonly Job[] }): void {
  const shift = Math.abs(clock.localAt(at) - 1_000 - clock.localAt(at - 1_000))
  checkWindow({ clock, jobs, from: at - shift - 3 * HOUR, until: at + shift + 3 * HOUR, step: MINUTE })
}

function checkWindow({
  clock,
  jobs,
  from,
  until,
  step,
}: {
  clock: WallClock
  jobs: readonly Job[]
  from: number
  until: number
  step: number
}): void {
  const moments: Moment[] = []
  for (let instant = from; instant < until; instant += step) moments.push({ instant, local: clock.localAt(instant) })
  for (const job of jobs) {
    const timetable = compileSchedule({ schedule: job.expression, timeZone: clock.zone, dst: job.dst })
    const runs: number[] = []
    for (let run = timetable.next(from); run < until; run = timetable.next(run)) runs.push(run)
    const wanted = wantedRuns(job, moments, step).filter(instant => instant > from)
    expect(runs.map(iso), `${job.expression} in ${clock.zone} with ${JSON.stringify(job.dst)}`).toEqual(wanted.map(iso))
  }
}

function wantedRuns({ matches, isIntervalLike, dst }: Job, moments: readonly Moment[], step: number): number[] {
  const wanted = new Set<number>()
  const passes = new Map<number, number[]>()
  for (const { instant, local } of moments) if (matches(new Date(local))) passes.set(local, [...(passes.get(local) ?? []), instant])
  for (const instants of passes.values()) {
    const fold = isIntervalLike ? 'both' : (dst.fold ?? 'first')
    for (const instant of fold === 'both' ? instants : [fold === 'first' ? Math.min(...instants) : Math.max(...instants)])
      wanted.add(instant)
  }
  for (const [index, { instant, local }] of moments.entries()) {
    const before = moments[index - 1]
    if (before === undefined || isIntervalLike || dst.gap === 'skip') continue
    const missing = local - before.local - step
    if (missing <= 0 || missing > 3 * HOUR) continue
    for (let lost = before.local + step; lost < local; lost += step) if (matches(new Date(lost))) wanted.add(instant)
  }
  return [...wanted].sort((a, b) => a - b)
}

/** Jobs whose local times lie near a clock change, so that it matters to them. */
function jobsAround(
  clock: WallClock,
  at: number,
  { seed, count, seconds = false }: { seed: number; count: number; seconds?: boolean },
): Job[] {
  const before = new Date(clock.localAt(at - 1_000))
  const hours = fc.uniqueArray(
    fc.integer({ min: -3, max: 4 }).map(away => (before.getUTCHours() + away + 24) % 24),
    { minLength: 1, maxLength: 4 },
  )
  const below60 = fc.uniqueArray(fc.oneof(fc.constantFrom(0, 30, 59, before.getUTCMinutes()), fc.integer({ min: 0, max: 59 })), {
    minLength: 1,
    maxLength: 4,
  })
  const days = fc.uniqueArray(
    fc.integer({ min: -1, max: 2 }).map(away => new Date(before.getTime() + away * DAY).getUTCDate()),
    { minLength: 1, maxLength: 2 },
  )
  const weekdays = fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 3 })
  const dst = fc.record({ gap: fc.constantFrom('shift', 'skip'), fold: fc.constantFrom('first', 'last', 'both') }, { requiredKeys: [] })
  const parts = fc.record({
    seconds: seconds ? below60 : fc.constant<number[]>([0]),
    minutes: below60,
    step: fc.option(fc.integer({ min: 1, max: 60 }), { freq: 3 }),
    hours: fc.option(hours, { freq: 4 }),
    days: fc.option(days, { freq: 1 }),
    weekdays: fc.option(weekdays, { freq: 1 }),
    dst: dst as fc.Arbitrary<DstPolicy>,
  })
  return fc.sample(parts, { seed, numRuns: count }).map(jobOf)
}

function jobOf(parts: {
  seconds: number[]
  minutes: number[]
  step: number | null
  hours: number[] | null
  days: number[] | null
  weekdays: number[] | null
  dst: DstPolicy
}): Job {
  const { seconds, minutes, step, hours, days, weekdays, dst } = parts
  const text = (values: number[] | null): string => values?.join(',') ?? '*'
  const isDay = (local: Date): boolean => {
    const isNamed = days?.includes(local.getUTCDate())
    const isNamedWeekday = weekdays?.includes(local.getUTCDay())
    return isNamed === undefined || isNamedWeekday === undefined ? (isNamed ?? isNamedWeekday ?? true) : isNamed || isNamedWeekday
  }
  return {
    expression: [text(seconds), step === null ? text(minutes) : `*/${step}`, text(hours), text(days), '*', text(weekdays)].join(' '),
    matches: local =>
      seconds.includes(local.getUTCSeconds()) &&
      (step === null ? minutes.includes(local.getUTCMinutes()) : local.getUTCMinutes() % step === 0) &&
      hours?.includes(local.getUTCHours()) !== false &&
      isDay(local),
    isIntervalLike: step !== null || hours === null,
    dst,
  }
}

function iso(instant: number): string {
  return new Date(instant).toISOString()
}
