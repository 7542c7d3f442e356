import { describe, expect, test } from 'vitest'
import { canonicalTimeZone } from './time-zone.ts'
import { zoneOf } from './zone.ts'

const zones = Intl.supportedValuesOf('timeZone').filter(zone => zone.includes('/'))

describe('time zone names', () => {
  test('letter case is put right in every name that Intl lists', () => {
    for (const zone of zones) {
      expect(canonicalTimeZone(zone)).toBe(zone)
      expect(canonicalTimeZone(zone.toLowerCase())).toBe(zone)
      expect(canonicalTimeZone(zone.toUpperCase())).toBe(zone)
    }
  })

  // Releases of Node differ in which of two linked names they prefer; a stored name must not depend on that.
  test.each([
    'Asia/Kolkata',
    'Asia/Calcutta',
    'Europe/Kyiv',
    'Europe/Kiev',
    'US/Pacific',
    'US/East-Indiana',
    'Australia/ACT',
    'Australia/LHI',
    'Australia/NSW',
    'Antarctica/DumontDUrville',
    'Antarctica/McMurdo',
    'America/Argentina/ComodRivadavia',
    'America/Knox_IN',
    'America/Port-au-Prince',
    'Brazil/DeNoronha',
    'Chile/EasterIsland',
    'Mexico/BajaNorte',
    'Mexico/BajaSur',
    'Africa/Dar_es_Salaam',
    'Europe/Isle_of_Man',
    'Etc/UTC',
    'Etc/GMT-5',
    'Etc/GMT+12',
    'Etc/Greenwich',
    'UTC',
    'GMT',
  ])('links keep their name: %s', name => {
    expect(canonicalTimeZone(name)).toBe(name)
    expect(canonicalTimeZone(name.toLowerCase())).toBe(name)
    expect(canonicalTimeZone(name.toUpperCase())).toBe(name)
  })

  test('the default is UTC', () => {
    expect(canonicalTimeZone()).toBe('UTC')
    expect(canonicalTimeZone(undefined)).toBe('UTC')
  })
})

describe('spans of one offset', () => {
  test('tell the wall clock of every zone at any instant', () => {
    for (const zone of zones) {
      const figures = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
      const wall = new Intl.DateTimeFormat('en-US', { ...figures, timeZone: zone, hourCycle: 'h23' })
      for (const year of [1883, 1945, 1974, 2026, 2090]) {
        for (let instant = Date.UTC(year, 0, 1); instant < Date.UTC(year + 1, 0, 1); instant += 37 * 86_400_000 + 5_000_000) {
          const [month = 0, day = 0, ofYear = 0, ...time] = (wall.format(instant).match(/\d+/g) ?? []).map(Number)
          expect(instant + zoneOf(zone).spanAt(instant).offsetMs, `${zone} at ${instant}`).toBe(Date.UTC(ofYear, month - 1, day, ...time))
        }
      }
    }
  })

  test('a year is seamless, and so is the turn to the next', () => {
    for (const zone of ['Europe/Berlin', 'Africa/Casablanca', 'Asia/Kathmandu', 'Pacific/Apia']) {
      let instant = Date.UTC(1980, 0, 1)
      while (instant < Date.UTC(2030, 0, 1)) {
        const span = zoneOf(zone).spanAt(instant)
        expect(span.from).toBe(instant)
        expect(zoneOf(zone).spanAt(span.until - 1)).toEqual(span)
        instant = span.until
      }
    }
  })

  test('a gap and a fold show in what the clock had reached and where it returns to', () => {
    const berlin = zoneOf('Europe/Berlin')
    const summer = berlin.spanAt(Date.parse('2026-07-01T00:00Z'))
    expect(summer.from).toBe(Date.parse('2026-03-29T01:00Z'))
    expect(summer.reached).toBe(Date.parse('2026-03-29T02:00Z'))
    expect(summer.until).toBe(Date.parse('2026-10-25T01:00Z'))
    expect(summer.returnsTo).toBe(Date.parse('2026-10-25T02:00Z'))
    expect(berlin.spanAt(summer.until).reached).toBe(Date.parse('2026-10-25T03:00Z'))
  })

  test('a second pass that reaches into the new year is still one', () => {
    const saoTome = zoneOf('Africa/Sao_Tome')
    const newYear = saoTome.spanAt(Date.parse('1884-01-01T00:00Z'))
    expect(saoTome.spanAt(newYear.from - 1).offsetMs).toBe(newYear.offsetMs)
    expect(newYear.reached).toBeGreaterThan(newYear.from + newYear.offsetMs)
  })
})
