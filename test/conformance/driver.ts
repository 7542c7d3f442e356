// What every conformance test stands on: a namespace of its own, and a check of the whole content at its end.
import { expect, test as vitest } from 'vitest'
import { Arena, TooSlow } from './arena.ts'
import type { Subject } from './subject.ts'

export type Test = (title: string, body: (arena: Arena) => Promise<void>) => void

/** `test` of a subject: tests run beside each other, each in a namespace of its own. */
export function testsOf(subject: Subject, timeoutMs = 60_000): Test {
  return (title, body) =>
    vitest.concurrent(title, { timeout: timeoutMs }, async () => {
      for (let pace = 1; !(await ran(subject, pace, body)); pace *= 2);
    })
}

/** False: the machine was too slow for what the test arranges, which says nothing of the store; once more, with more time. */
async function ran(subject: Subject, pace: number, body: (arena: Arena) => Promise<void>): Promise<boolean> {
  const arena = await Arena.enter(subject, pace)
  try {
    await body(arena)
    expect(await arena.violations()).toEqual([])
    return true
  } catch (error) {
    if (!(error instanceof TooSlow) || pace >= 32) throw error
    return false
  } finally {
    await arena.leave()
  }
}
