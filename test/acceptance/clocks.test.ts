// S5 across threads: a deadline that the heartbeat's thread writes down is read by the loop on its own clock.
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'

const system = new URL('../../dist/platform/system.js', import.meta.url).href
const { systemClock, systemZero } = (await import(system)) as typeof import('../../src/platform/system.ts')

test('elapsed time is the same in every thread of a process, whenever it was started', async () => {
  await sleep(300)
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    import(workerData.system).then(({ clockSince }) => {
      const clock = clockSince(workerData.zero)
      parentPort.on('message', () => parentPort.postMessage(clock.elapsedMs()))
      parentPort.postMessage('up')
    })`
  const worker = new Worker(code, { eval: true, workerData: { system, zero: systemZero } })
  onTestFinished(() => void worker.terminate())
  const heard = (): Promise<unknown> => new Promise(resolve => worker.once('message', resolve))
  await heard()
  for (let look = 0; look < 20; look++) {
    const before = systemClock.elapsedMs()
    const answer = heard()
    worker.postMessage('look')
    const there = (await answer) as number
    // what was read in between lies in between, to the precision of the two clocks' own zeros
    expect(there).toBeGreaterThanOrEqual(before - 1)
    expect(there).toBeLessThanOrEqual(systemClock.elapsedMs() + 1)
    await sleep(20)
  }
})
