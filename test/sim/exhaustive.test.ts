import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { exhaust } from '../../src/sim/exhaustive/exhaust.ts'
import { type Mistake, mistakes } from '../../src/sim/exhaustive/mistakes.ts'
import { modelOf } from '../../src/sim/exhaustive/model.ts'
import { countsOf, pathOf } from '../../src/sim/exhaustive/report.ts'
import { everyday, settings } from '../../src/sim/exhaustive/setting.ts'
import { type Path, shortest } from '../../src/sim/exhaustive/shortest.ts'

const isSoak = process.env.ONETICK_SOAK === '1'

/** What has to be seen in some ledger. */
const seen: Readonly<Record<string, readonly string[]>> = {
  'one attempt': ['abandoned', 'leaseLost', 'missed', 'skipped', 'succeeded', 'superseded'],
  'two attempts': ['abandoned', 'leaseLost', 'missed', 'skipped', 'succeeded', 'superseded'],
  'a retry after a throw': ['abandoned', 'failed', 'handedBack', 'leaseLost', 'skipped', 'succeeded'],
}

test.each(isSoak ? settings : everyday)(
  'every path of two replicas, one job and two occurrences keeps the promises: $name',
  setting => {
    const model = modelOf(setting)
    const found = exhaust(model)
    console.log(countsOf(setting, found))
    const path = found.broken === null ? null : shortest(model)
    if (path !== null) throw new Error(pathOf(path).join('\n'))
    expect(found.broken).toBeNull()
    expect([...found.seen]).toEqual(expect.arrayContaining([...(seen[setting.name] ?? ['succeeded'])]))
  },
  isSoak ? 3_600_000 : 120_000,
)

describe('the search can fail', () => {
  const paths = new Map<Mistake, Path | null>()
  const pathTo = (mistake: Mistake): Path | null => {
    const setting = settings.find(({ name }) => name === mistake.setting)!
    if (!paths.has(mistake)) paths.set(mistake, shortest(modelOf(setting, mistake)))
    return paths.get(mistake)!
  }

  test.each(mistakes.map(mistake => ({ name: mistake.name, mistake })))('$name is caught by the promise it breaks', ({ mistake }) => {
    expect(pathTo(mistake)?.promise).toBe(mistake.promise)
  })

  test('a path is told line by line', () => {
    const path = pathTo(mistakes.find(({ name }) => name === 'settle ignores the fence')!)
    expect(pathOf(path!)).toEqual([
      'S4 broken by 1 fault and in 9 moves: A0 settles under fence 2000, which is not current',
      '   0  it is 2',
      '   2  A0 asks',
      "   2  the store serves A0's ask A0.1 (not after 3): fence 2000 until 8 (2, attempt 1); A0 hears of it, and starts 2 under fence 2000",
      '   2  A0 has its handler back: returned',
      "   2  the store serves A0's settle under fence 2000 (final): settled; FAULT: it comes twice; A0 hears of it",
      '   2  it is 6',
      '   6  A0 asks',
      "   6  the store serves A0's ask A0.2 (not after 7): fence 6000 until 12 (6, attempt 1); A0 hears of it, and starts 6 under fence 6000",
      "   6  late, the store serves A0's settle under fence 2000 (final): settled",
    ])
  })

  test('the page lists each mistake, what catches it, and how far the shortest path to it is', () => {
    const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| (.+?) \| (\w+) \| (\d+) \| (\d+) \|$/gm)].map(([, ...cells]) => cells)
    const expected = mistakes.map(mistake => {
      const path = pathTo(mistake)
      return [mistake.name, mistake.promise, `${path?.faults}`, `${path?.lines.length}`]
    })
    expect(rows).toEqual(expected)
  })
})
