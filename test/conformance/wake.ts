import { describe, expect } from 'vitest'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { handedBack, runSettlement, seenOf } from './requests.ts'
import type { Subject } from './subject.ts'

export function waking(subject: Subject): void {
  const test = testsOf(subject)

  describe('a wake-up', () => {
    const causes: readonly { readonly title: string; readonly cause: (arena: Arena) => Promise<unknown> }[] = [
      { title: 'comes when a job is declared', cause: arena => arena.job({ name: 'new' }) },
      { title: 'comes when a run is asked for', cause: arena => arena.trigger('m') },
      {
        title: 'comes when a paused job is resumed',
        cause: async arena => {
          await arena.control({ kind: 'pause', name: 'job', until: 1e13, by: null, why: null })
          await arena.control({ kind: 'resume', name: 'job' })
        },
      },
      {
        title: 'comes when work is handed back',
        cause: async arena => {
          const grant = await arena.startOne({ tasks: ['handed'] })
          await arena.settle(runSettlement(grant, handedBack(grant)))
        },
      },
    ]
    for (const { title, cause } of causes) {
      test(title, async arena => {
        await arena.job()
        await arena.job({ name: 'handed', task: 'handed' })
        await arena.trigger('m', 'handed')
        const [listener, woken] = counter()
        const wakeup = await (await arena.connect()).wake(listener)
        await settledDown(arena, wakeup)
        await arena.sleep(100)
        const before = woken()
        await cause(arena)
        // a store that cannot wake says so, and replicas poll
        if (!wakeup.live()) return wakeup.close()
        for (let i = 0; i < 100 && woken() === before; i++) await arena.sleep(20)
        expect(woken()).toBeGreaterThan(before)
        await wakeup.close()
      })
    }

    test('comes no more once it is closed, nor to a store that is closed', async arena => {
      const row = await arena.job()
      const [first, firstWoken] = counter()
      const [second, secondWoken] = counter()
      const wakeup = await arena.store.wake(first)
      const other = await arena.subject.open({ namespace: arena.namespace })
      await settledDown(arena, await other.wake(second))
      await wakeup.close()
      await other.close()
      await arena.sleep(50)
      const before = [firstWoken(), secondWoken()]
      await arena.trigger('m')
      await arena.control({
        kind: 'skipNext',
        name: 'job',
        seen: seenOf({ ...row, asked: 1 }),
        cursor: { nextAt: row.nextAt + 1, afterAt: row.nextAt + 2 },
      })
      await arena.sleep(100)
      expect([firstWoken(), secondWoken()]).toEqual(before)
    })
  })

  describe('a closed store', () => {
    test('refuses every call with a code, and is closed twice without harm', async arena => {
      const store = await arena.subject.open({ namespace: arena.namespace })
      await store.read('status', {})
      await store.close()
      await store.close()
      const closed = { code: 'ONETICK_STORE_CLOSED' }
      await expect(store.read('status', {})).rejects.toMatchObject(closed)
      await expect(arena.claim({}, store)).rejects.toMatchObject(closed)
      await expect(store.control({ kind: 'resume', name: 'job' })).rejects.toMatchObject(closed)
    })

    test('leaves the others open', async arena => {
      const store = await arena.connect()
      await store.close()
      expect(await arena.now()).toBeGreaterThan(0)
    })

    test('tells what it is and where, without a secret', async arena => {
      expect(arena.store.kind).toMatch(/^[a-z]+$/)
      expect(arena.store.location).not.toBe('')
      expect(arena.store.location).not.toContain('secret')
    })
  })
}

function counter(): [listener: () => void, woken: () => number] {
  let count = 0
  return [
    () => {
      count++
    },
    () => count,
  ]
}

/** Wake-ups may need a connection of their own first. */
async function settledDown(arena: Arena, wakeup: { live(): boolean }): Promise<void> {
  for (let i = 0; i < 25 && !wakeup.live(); i++) await arena.sleep(20)
}
