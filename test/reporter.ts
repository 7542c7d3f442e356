// Closes each run with one plain line, `N passed, N failed`, whatever else is printed: the last thing a person or a program reads.
import type { SerializedError, TestModule, TestRunEndReason, TestSuite, Vitest } from 'vitest/node'
import type { Reporter } from 'vitest/reporters'
import { narrowing } from './servers/chosen.ts'

interface Tally {
  passed: number
  failed: number
  skipped: number
}

export default class ClosingLine implements Reporter {
  #watching = false
  // What is printed if the run never gets to its end, for example because a server does not start.
  #tally: Tally = { passed: 0, failed: 1, skipped: 0 }

  onInit(vitest: Vitest): void {
    this.#watching = vitest.config.watch
    if (!this.#watching) process.once('exit', () => this.#print())
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<SerializedError>, reason: TestRunEndReason): void {
    this.#tally = count(modules, unhandledErrors.length, reason)
    if (this.#tally.failed > 0) process.exitCode ||= 1
    if (this.#watching) this.#print()
  }

  #print(): void {
    const { passed, failed, skipped } = this.#tally
    const narrowed = narrowing()
    if (narrowed !== null) process.stdout.write(`${narrowed}\n`)
    process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
    if (failed > 0) process.exitCode ||= 1
  }
}

export function count(modules: ReadonlyArray<TestModule>, unhandledErrors: number, reason: TestRunEndReason): Tally {
  const tally: Tally = { passed: 0, failed: unhandledErrors, skipped: 0 }
  for (const module of modules) {
    // A file that does not load and a hook that throws fail without failing a test.
    for (const group of [module, ...module.children.allSuites()] as ReadonlyArray<TestModule | TestSuite>)
      tally.failed += group.errors().length
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed') tally.passed++
      else if (state === 'failed') tally.failed++
      else if (state === 'skipped') tally.skipped++
      // Pending: it never came to an end.
      else tally.failed++
    }
  }
  if (tally.failed === 0 && (reason !== 'passed' || tally.passed === 0)) tally.failed = 1
  return tally
}
