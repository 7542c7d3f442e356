// Random lives: whatever replicas, people and releases do in whatever order, each step is what the pure functions say,
// and in the end each instant that a schedule asked for has one verdict.
import { describe, expect } from 'vitest'
import type { Arena } from './arena.ts'
import { Chance } from './chance.ts'
import { testsOf } from './driver.ts'
import type { Subject } from './subject.ts'
import { Walker } from './walker.ts'

const isSoak = process.env['ONETICK_SOAK'] === '1'
const named = process.env['ONETICK_SEED']

export function walking(subject: Subject): void {
  const test = testsOf(subject, isSoak ? 3_600_000 : 60_000)
  const [lives, steps] = isSoak ? [200, 400] : [4, 60]

  const live = async (arena: Arena, seed: number) => {
    const walker = new Walker(arena, new Chance(seed))
    try {
      await walker.begin()
      for (let step = 0; step < steps; step++) await walker.step()
      await walker.end()
      expect(await walker.unaccounted()).toEqual([])
    } catch (error) {
      const again = `${isSoak ? 'ONETICK_SOAK=1 ' : ''}ONETICK_SEED=${seed} npx vitest run test/stores -t 'random lives'`
      // the same steps; how much time passes between them is the machine's
      throw new Error(`seed ${seed}; once more: ${again}\n${walker.trace.join('\n')}`, { cause: error })
    }
  }

  describe('random lives', () => {
    // always the same; a soak tries new ones
    const first = named === undefined ? (isSoak ? Date.now() % 1_000_000_000 : 1) : Number(named)
    for (let life = 0; life < (named === undefined ? lives : 1); life++) {
      test(`every step is what the pure functions say, every instant has one verdict: life ${life + 1}`, arena => live(arena, first + life))
    }
  })
}
