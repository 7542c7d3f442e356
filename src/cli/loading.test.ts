import { expect, test } from 'vitest'
import { Onetick } from '../scheduler/onetick.ts'
import { supervised } from './loading.ts'

const onExit = (): void => undefined

test('what takes longer than its limit is given up', async () => {
  const forever = supervised(() => new Promise(() => undefined), { classes: [], onExit, limitMs: 20 })
  await expect(forever).rejects.toMatchObject({ code: 'ONETICK_CONFIG', message: expect.stringContaining('after 0.02 s') })
})

test('an instance that is started meanwhile is refused, and one that is started afterwards is not', async () => {
  const { start } = Onetick.prototype
  const onetick = new Onetick({ store: 'memory:' })
  const load = async (): Promise<void> => void (await onetick.start())
  await expect(supervised(load, { classes: [Onetick], onExit })).rejects.toMatchObject({ code: 'ONETICK_CONFIG' })
  expect(Onetick.prototype.start).toBe(start)
  await onetick.start()
  await onetick.stop()
})

test('nobody listens to the process any more when it is done', async () => {
  const count = (): number => ['exit', 'beforeExit', 'uncaughtException'].reduce((sum, event) => sum + process.listenerCount(event), 0)
  const before = count()
  await supervised(async () => expect(count()).toBe(before + 3), { classes: [], onExit })
  expect(count()).toBe(before)
})
