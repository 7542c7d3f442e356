import { expect, test } from 'vitest'
import { MemoryDatabase, memory } from '../store/memory/index.ts'
import { Onetick } from './onetick.ts'

test('three replicas in one process run each occurrence once', async () => {
  const database = new MemoryDatabase()
  const runs: string[] = []
  const replicas = [1, 2, 3].map(n => {
    const onetick = new Onetick({ store: memory({ database }), lease: '1s', replica: `r${n}` })
    onetick.job('fast', { schedule: 'every 100ms', misfireWindow: '1m' }, ({ scheduledAt }) => {
      runs.push(`${scheduledAt.getTime()}`)
    })
    return onetick
  })
  await Promise.all(replicas.map(replica => replica.start()))
  await new Promise(resolve => setTimeout(resolve, 2050))
  await Promise.all(replicas.map(replica => replica.stop()))
  expect(new Set(runs).size).toBe(runs.length)
  expect(runs.length).toBeGreaterThan(15)
  const { runs: lines } = await memory({ database }).read('runs', { limit: 100 })
  expect(lines.every(line => line.final && line.end === 'succeeded')).toBe(true)
})
