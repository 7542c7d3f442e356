// The SQLite store and its file: opening, migrating, schemas of other versions, what it answers when something is wrong.
import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/platform/system.ts'
import { Onetick } from '../../src/scheduler/onetick.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import {
  acquireRequest,
  claimRequest,
  declaration,
  declareRequest,
  heldLease,
  longMs,
  untilStoreTime,
  withFile,
} from './fixtures/sqlite-file.ts'

const isRoot = process.getuid?.() === 0

describe('a file that is not there', () => {
  test('is not made by asking, claiming or planning a migration', () =>
    withFile(async file => {
      const store = file.open()
      const refused = { code: 'ONETICK_STORE_NOT_MIGRATED' }
      await expect(store.read('jobs', {})).rejects.toMatchObject(refused)
      await expect(store.declare(declareRequest([]))).rejects.toMatchObject(refused)
      await expect(store.transaction({ rowId: 1, owner: 'me', fence: 1 }, async () => 1)).rejects.toMatchObject(refused)
      expect(await store.migrate('plan')).toMatchObject({ from: 0, to: 2 })
      expect(existsSync(file.path)).toBe(false)
    }))

  test('is made by migrate, once its folder is there', () =>
    withFile(async file => {
      const path = join(file.folder, 'missing', 'onetick.db')
      await expect(file.open({ path }).migrate('apply')).rejects.toMatchObject({
        code: 'ONETICK_STORE_UNFIT',
        message: expect.stringContaining(join(file.folder, 'missing')),
      })
      const store = file.open()
      expect(await store.migrate('apply')).toMatchObject({ from: 0, to: 2 })
      expect(await store.migrate('apply')).toEqual({ from: 2, to: 2, statements: [] })
      expect(await store.read('status', {})).toMatchObject({ schemaVersion: 2 })
    }))
})

describe('a place where no file can be', () => {
  test.each([
    ['in a folder that is not there', 'missing/onetick.db', /the directory \S+\/missing does not exist\. Create it/],
    ['that is a folder', '.', /it is a directory\. Name a file in it: sqlite:\S+\/onetick\.db$/],
    ['in a file', 'file/onetick.db', /file is no directory\. Name a file in a directory/],
    ['in a folder within a file', 'file/a/onetick.db', /the directory \S+\/file\/a does not exist/],
  ])('%s ends the start at once, and says what to do', (_title, path, says) =>
    withFile(async file => {
      writeFileSync(join(file.folder, 'file'), '')
      const onetick = new Onetick({ store: `sqlite:${join(file.folder, path)}` })
      const told: unknown[] = []
      onetick.on('storeFailed', event => told.push(event))
      const refused = await onetick.start().catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'ONETICK_STORE_UNFIT', message: expect.stringMatching(says) })
      // it does not go on, so nobody is told that it does
      expect(told).toEqual([])
      await onetick.stop()
    }),
  )

  test.runIf(isRoot)('on a disk that is only read ends the start at once', () =>
    withFile(async file => {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,ro', 'tmpfs', file.folder])
      try {
        const onetick = new Onetick({ store: `sqlite:${file.path}` })
        await expect(onetick.start()).rejects.toMatchObject({
          code: 'ONETICK_STORE_UNFIT',
          message: expect.stringMatching(/may not write to it\. Give this process write access/),
        })
        await onetick.stop()
      } finally {
        execFileSync('umount', ['-l', file.folder])
      }
    }),
  )
})

describe('a migration', () => {
  test('as it is printed does the same when executed by hand', () =>
    withFile(async file => {
      const store = file.open({ prefix: 'cron_' })
      const { statements } = await store.migrate('plan')
      file.raw(database => database.exec(`${statements.join(';\n')};`))
      expect(await store.migrate('plan')).toEqual({ from: 2, to: 2, statements: [] })
      await heldLease(store, 'lease')
    }))

  test('leaves tables of the application alone, and a file without any of Onetick asks for it', () =>
    withFile(async file => {
      file.raw(database => database.exec("create table mine (a text); insert into mine values ('kept')"))
      const store = file.open()
      await expect(store.read('jobs', {})).rejects.toMatchObject({ code: 'ONETICK_STORE_NOT_MIGRATED' })
      await store.migrate('apply')
      expect(await store.read('jobs', {})).toMatchObject({ jobs: [] })
      expect(file.raw(database => database.prepare('select a from mine').all())).toMatchObject([{ a: 'kept' }])
    }))
})

describe('a schema', () => {
  /** All verbs, on whatever schema is there. */
  async function works(store: Store): Promise<void> {
    const { now } = await store.read('status', {})
    const declared = await store.declare(declareRequest([declaration('job', [now + 400, now + longMs])]))
    expect(declared.results).toEqual(['new'])
    await untilStoreTime(store, now + 400)
    const { grants } = await store.claim(await claimRequest(store))
    const row = grants[0]!.row
    expect(await store.renew({ owner: 'me', ttlMs: longMs, leases: [{ rowId: row.id, fence: row.fence }] })).toMatchObject({
      leases: [{ state: 'held' }],
    })
    expect(await store.checkpoint({ rowId: row.id, owner: 'me', fence: row.fence }, { step: 1 })).toBe(true)
    const occurrence = { cause: '', scheduledAt: row.open!.scheduledAt }
    const end = { kind: 'final', verdict: 'succeeded', successor: null } as const
    const settled = await store.settle({ owner: 'me', items: [{ kind: 'run', rowId: row.id, fence: row.fence, occurrence, end }] })
    expect(settled.results).toEqual([{ kind: 'settled' }])
    expect((await store.control({ kind: 'trigger', name: 'job', id: 'by-hand' })).kind).toBe('done')
    expect((await store.read('asks', { name: 'job' })).asks).toHaveLength(1)
    expect((await store.read('runs', { limit: 10 })).runs).toHaveLength(1)
    expect((await store.read('leases', {})).leases).toContainEqual(expect.objectContaining({ jobId: 'job', held: false }))
    expect((await store.read('replicas', {})).replicas).toHaveLength(1)
  }

  test('one version back is enough', () =>
    withFile(async file => {
      await file.migrated()
      file.raw(database => database.exec("drop view cron_with_leases; update onetick_meta set value = 1 where key = 'schema_version'"))
      const store = file.open()
      await works(store)
      expect(await store.migrate('apply')).toMatchObject({ from: 1, to: 2 })
    }))

  test('one version ahead is not in the way', () =>
    withFile(async file => {
      await (await file.migrated()).close()
      file.raw(database =>
        database.exec(`
          alter table onetick_jobs add column colour text not null default 'blue';
          alter table onetick_runs add column weight integer;
          create table onetick_extra (a text);
          update onetick_meta set value = 3 where key = 'schema_version'`),
      )
      const store = file.open()
      await works(store)
      expect(await store.migrate('apply')).toEqual({ from: 3, to: 3, statements: [] })
    }))

  test('that gets a column while the store is open is not in the way either', () =>
    withFile(async file => {
      const store = await file.migrated()
      await heldLease(store, 'before')
      file.raw(database => database.exec("alter table onetick_jobs add column colour text not null default 'blue'"))
      await works(store)
    }))

  test('two versions away is refused', () =>
    withFile(async file => {
      await (await file.migrated()).close()
      file.raw(database => database.exec("update onetick_meta set value = 4 where key = 'schema_version'"))
      await expect(file.open().read('status', {})).rejects.toMatchObject({ code: 'ONETICK_STORE_SCHEMA' })
    }))
})

describe('the options', () => {
  test('refuse what names no shared file', () => {
    for (const path of ['', ':memory:']) {
      expect(() => sqlite({ path })).toThrow(
        expect.objectContaining({ code: 'ONETICK_STORE_URL', remedy: expect.stringContaining('memory:') }),
      )
    }
  })

  test('refuse a prefix that is more than an identifier', () => {
    for (const prefix of ['', '1_', 'a b', 'x;', 'x"', 'sqlite_x', 'é', 'a'.repeat(41)]) {
      expect(() => sqlite({ path: 'x.db', prefix })).toThrow(expect.objectContaining({ code: 'ONETICK_IDENTIFIER' }))
    }
  })

  test('refuse a time-out that is none, and words that are none', () => {
    for (const options of [{ callTimeoutMs: 0 }, { callTimeoutMs: Number.NaN }, { synchronous: 'off' as 'full' }]) {
      expect(() => sqlite({ path: 'x.db', ...options })).toThrow(expect.objectContaining({ code: 'ONETICK_OPTION' }))
    }
  })

  test('name all drivers where the one asked for is not there', () =>
    withFile(async file => {
      const store = file.open({ driver: 'nonsense' as 'libsql' })
      await expect(store.read('status', {})).rejects.toMatchObject({
        code: 'ONETICK_STORE_DRIVER',
        message: expect.stringMatching(/nonsense.*node:sqlite, better-sqlite3, libsql/),
      })
    }))
})

test('a file that is no database is said to be none, and works once it is moved away', () =>
  withFile(async file => {
    writeFileSync(file.path, 'no database at all. '.repeat(100))
    const store = file.open()
    await expect(store.read('status', {})).rejects.toMatchObject({
      code: 'ONETICK_STORE_UNFIT',
      message: expect.stringContaining(file.path),
    })
    writeFileSync(file.path, '')
    await store.migrate('apply')
    await heldLease(store, 'lease')
  }))

test('a refusal in the middle of a verb leaves no transaction open', () =>
  withFile(async file => {
    const [store, other] = [await file.migrated(), file.open()]
    const { now } = await store.read('status', {})
    await store.declare(declareRequest([declaration('job', [now + longMs])]))
    await expect(heldLease(store, 'job')).rejects.toMatchObject({ code: 'ONETICK_JOB_SCHEDULED' })
    await heldLease(other, 'lease')
    await heldLease(store, 'another')
  }))

test('prefixes and namespaces keep apart in one file', () =>
  withFile(async file => {
    const stores = [await file.migrated(), await file.migrated({ prefix: 'cron_' }), await file.migrated({ namespace: 'other' })]
    for (const store of stores) await heldLease(store, 'lease')
    for (const store of stores) expect((await store.read('leases', {})).leases).toMatchObject([{ jobId: 'lease', held: true }])
    const names = file.raw(database => database.prepare("select name from sqlite_master where type = 'view' order by name").all())
    expect(names).toMatchObject([{ name: 'cron_cron_with_leases' }, { name: 'cron_with_leases' }])
  }))

test('the view shows leases to whoever opens the file', () =>
  withFile(async file => {
    const store = await file.migrated({ namespace: 'shop' })
    const request = await acquireRequest(store, 'nightly')
    const reply = await store.acquire(request)
    const row = reply.kind === 'granted' ? reply.row : null
    const view = (): unknown[] => file.raw(database => database.prepare('select * from cron_with_leases').all())
    const time = (at: number | null | undefined): string => new Date(at ?? Number.NaN).toISOString()
    const line = { jobId: 'nightly', owner: 'me', acquiredAt: time(row?.acquiredAt), namespace: 'shop' }
    expect(view()).toMatchObject([{ ...line, expiredAt: time(row?.dueAt) }])
    const end = { kind: 'final', verdict: 'succeeded', successor: null } as const
    const settled = await store.settle({
      owner: 'me',
      items: [{ kind: 'run', rowId: row!.id, fence: row!.fence, occurrence: null, end }],
    })
    expect(view()).toMatchObject([{ ...line, expiredAt: time(settled.now) }])
  }))

test('time is the host’s, whatever clock the replica was handed', () =>
  withFile(async file => {
    const skewed = { ...systemClock, now: () => systemClock.now() + 90_000 }
    const store = await file.migrated({ clock: skewed })
    const before = Date.now()
    const { now } = await store.read('status', {})
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThanOrEqual(Date.now())
    expect(Number.isInteger(now)).toBe(true)
  }))

test('stores of one process wake each other, by whatever path they know the file', () =>
  withFile(async file => {
    const store = await file.migrated()
    const link = join(file.folder, 'link.db')
    symlinkSync(file.path, link)
    const heard: string[] = []
    const listeners = { linked: file.open({ path: link }), other: file.open({ namespace: 'other' }) }
    const wakeups = await Promise.all(Object.entries(listeners).map(([name, listener]) => listener.wake(() => heard.push(name))))
    expect(wakeups.map(wakeup => wakeup.live())).toEqual([false, false])
    const { now } = await store.read('status', {})
    await store.declare(declareRequest([declaration('job', [now + longMs])]))
    expect(heard).toEqual(['linked'])
    await store.declare(declareRequest([declaration('job', [now + longMs])]))
    await store.control({ kind: 'pause', name: 'nothing', until: now, by: null, why: null })
    expect(heard).toEqual(['linked'])
    await wakeups[0]!.close()
    await store.control({ kind: 'trigger', name: 'job', id: 'ask' })
    expect(heard).toEqual(['linked'])
  }))

test('a closed store says so, and closing twice is closing once', () =>
  withFile(async file => {
    const store = await file.migrated()
    const waiting = [heldLease(store, 'a'), heldLease(store, 'b')]
    await Promise.all([store.close(), store.close()])
    const closed = { code: 'ONETICK_STORE_CLOSED' }
    for (const outcome of await Promise.allSettled(waiting)) expect(outcome).toMatchObject({ status: 'rejected', reason: closed })
    await expect(store.read('status', {})).rejects.toMatchObject(closed)
    await expect(store.migrate('plan')).rejects.toMatchObject(closed)
    await expect(store.wake(() => {})).rejects.toMatchObject(closed)
    await expect(store.transaction({ rowId: 1, owner: 'me', fence: 1 }, async () => 1)).rejects.toMatchObject(closed)
  }))
