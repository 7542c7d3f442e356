// Several processes on one SQLite file: locks held by others, fairness, crashes, a full disk.
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DatabaseFile, declaration, declareRequest, heldLease, longMs, quickFolder, withFile } from './fixtures/sqlite-file.ts'
import { longestBlock, OtherProcess, together } from './fixtures/sqlite-process.ts'

const isSoak = process.env['ONETICK_SOAK'] === '1'
const isRoot = process.getuid?.() === 0

function isSound(file: DatabaseFile): void {
  expect(file.raw(database => database.prepare('pragma integrity_check').all())).toMatchObject([{ integrity_check: 'ok' }])
}

test('while another process holds the writer’s lock for 3 s, calls wait, reads do not, and the loop is never blocked for 100 ms', () =>
  withFile(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease')
    const other = new OtherProcess(file.path, 'hold', '3000')
    await other.says('ready')
    other.go()
    await other.says('held')
    const startMs = performance.now()
    const waited: number[] = []
    const { waitedMs } = await longestBlock(async () => {
      const calls = [heldLease(store, 'one'), heldLease(store, 'two'), store.renew({ owner: 'me', ttlMs: longMs, leases: [held] })]
      for (const call of calls) void call.then(() => waited.push(performance.now() - startMs))
      expect(await store.read('leases', {})).toMatchObject({ leases: [{ jobId: 'lease', held: true }] })
      expect(performance.now() - startMs).toBeLessThan(1000)
      await Promise.all(calls)
    })
    expect(Math.min(...waited)).toBeGreaterThan(2500)
    expect(Math.max(...waited)).toBeLessThan(4500)
    expect(waitedMs).toBeLessThan(100)
    await other.result()
  }, quickFolder))

test('a call that finds the lock taken for longer than it may take is turned away; nothing was done', () =>
  withFile(async file => {
    const store = await file.migrated({ callTimeoutMs: 150 })
    const other = new OtherProcess(file.path, 'hold', '600')
    await other.says('ready')
    other.go()
    await other.says('held')
    const startMs = performance.now()
    const calls = [heldLease(store, 'one'), heldLease(store, 'two'), store.transaction({ rowId: 1, owner: 'me', fence: 1 }, async () => 1)]
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ONETICK_STORE_BUSY' } })
    }
    expect(performance.now() - startMs).toBeLessThan(550)
    await other.result()
    expect((await store.read('leases', {})).leases).toEqual([])
    await heldLease(store, 'one')
  }, quickFolder))

test('of three processes that all want the lock all the time, the slowest gets half of a fair share at least', async () => {
  const file = new DatabaseFile(quickFolder)
  try {
    await (await file.migrated()).close()
    const ms = isSoak ? 20_000 : 2000
    const processes = ['a', 'b', 'c'].map(name => new OtherProcess(file.path, 'saturate', String(ms), name))
    await together(processes)
    const pairs = (await Promise.all(processes.map(process => process.result<{ pairs: number }>()))).map(result => result.pairs)
    const fair = pairs.reduce((sum, of) => sum + of, 0) / pairs.length
    expect(Math.min(...pairs) / fair, `pairs: ${pairs.join(', ')}`).toBeGreaterThanOrEqual(0.5)
    isSound(file)
  } finally {
    await file.remove()
  }
})

test('ten processes that migrate at once leave one schema, made by one of them', () =>
  withFile(async file => {
    const processes = Array.from({ length: 10 }, () => new OtherProcess(file.path, 'migrate'))
    await together(processes)
    const results = await Promise.all(processes.map(process => process.result<{ from: number; to: number }>()))
    expect(results.map(({ from, to }) => `${from} → ${to}`).sort()).toEqual(['0 → 2', ...Array.from({ length: 9 }, () => '2 → 2')])
    await heldLease(file.open(), 'lease')
    isSound(file)
  }))

test('a process killed in the middle of a transaction leaves nothing of it, and no lock', () =>
  withFile(async file => {
    const store = await file.migrated()
    const held = await heldLease(store, 'lease')
    const before = await store.read('leases', {})
    for (let time = 0; time < (isSoak ? 20 : 2); time++) {
      const other = new OtherProcess(file.path, 'linger')
      await other.says('ready')
      other.go()
      await other.says('held')
      const waiting = store.renew({ owner: 'me', ttlMs: longMs, leases: [held] })
      await other.kill()
      expect(await waiting).toMatchObject({ leases: [{ state: 'held' }] })
    }
    const after = await store.read('leases', {})
    expect(after.leases.map(({ expiredAt: _, ...lease }) => lease)).toEqual(before.leases.map(({ expiredAt: _, ...lease }) => lease))
    expect((await store.read('runs', { limit: 10 })).runs).toEqual([])
    isSound(file)
  }))

test('processes killed while they write leave a sound file', async () => {
  const file = new DatabaseFile()
  try {
    const store = await file.migrated()
    for (let time = 0; time < (isSoak ? 30 : 2); time++) {
      const processes = ['a', 'b'].map(name => new OtherProcess(file.path, 'saturate', '60000', `${name} ${time}`))
      await together(processes)
      await new Promise(resolve => setTimeout(resolve, 150))
      await Promise.all(processes.map(process => process.kill()))
      isSound(file)
      await heldLease(store, `after ${time}`)
    }
  } finally {
    await file.remove()
  }
})

test.runIf(isRoot)('a full disk refuses what it cannot keep; with space again, all goes on', async () => {
  await withFile(async ({ folder }) => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder])
    const file = new DatabaseFile(folder)
    try {
      const store = await file.migrated()
      const held = await heldLease(store, 'lease')
      const { now } = await store.read('status', {})
      const filler = join(folder, 'filler')
      writeFileSync(filler, Buffer.alloc(1_000_000))
      const declare = (from: number) =>
        store.declare(declareRequest(Array.from({ length: 100 }, (_, index) => declaration(`job ${from + index}`, [now + longMs]))))
      let [declared, failure]: [number, unknown] = [0, null]
      for (; failure === null && declared < 10_000; declared += 100) {
        await declare(declared).catch((error: unknown) => {
          failure = error
        })
      }
      expect(failure).toMatchObject({ code: 'ONETICK_STORE_UNREACHABLE', message: expect.stringMatching(/disk/) })
      // what was refused left nothing behind, what was promised is kept
      const { jobs } = await store.read('jobs', {})
      expect(jobs).toHaveLength(declared - 100)
      expect((await store.read('leases', {})).leases.filter(lease => lease.held)).toHaveLength(1)
      await expect(declare(declared)).rejects.toMatchObject({ code: 'ONETICK_STORE_UNREACHABLE' })
      rmSync(filler)
      expect((await declare(declared)).results.every(result => result === 'new')).toBe(true)
      expect(await store.renew({ owner: 'me', ttlMs: longMs, leases: [held] })).toMatchObject({ leases: [{ state: 'held' }] })
      isSound(file)
    } finally {
      await file.remove()
      // lazily: libsql keeps closed connections open until they are collected
      execFileSync('umount', ['-l', folder])
    }
  })
})
