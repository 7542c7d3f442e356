import { describe, expect, test } from 'vitest'
import { Counters } from '../../src/sim/counters.ts'
import { mutants } from '../../src/sim/mutants/all.ts'
import { simulate } from '../../src/sim/run.ts'
import { caughtAt, corpus } from './corpus.ts'

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const isSoak = process.env.ONETICK_SOAK === '1'
const seeds = isSoak ? 100_000 : 2000

test.each(corpus)('seed $seed breaks nothing any more: $found', async ({ seed }) => {
  expect((await simulate({ seed, turn })).violations).toEqual([])
})

describe('the simulator can fail', () => {
  test.each(mutants.map(mutant => ({ name: mutant.name, mutant })))(
    '$name is caught by the promise it breaks',
    async ({ name, mutant }) => {
      const { violations } = await simulate({ seed: caughtAt[name] ?? 1, turn, mutant })
      expect(violations.map(({ promise }) => promise)).toContain(mutant.promise)
    },
  )
})

test(
  'shipped code under seeded faults breaks no promise, and each fault is seen',
  async () => {
    const counters = new Counters()
    // other seeds with each run of a soak would find more; the same ones here, so that a failure is the change's
    for (let seed = 10_001; seed <= 10_000 + seeds; seed++) {
      const outcome = await simulate({ seed, turn })
      counters.join(outcome.counters)
      expect(outcome.violations, `npm run sim -- --seed ${seed} --trace`).toEqual([])
    }
    expect(counters.missing()).toEqual([])
  },
  isSoak ? 3_600_000 : 300_000,
)
