import { describe, expect } from 'vitest'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { aDeclaration, aReplica, heldBy, longMs, runSettlement, succeeded } from './requests.ts'
import { never } from './rows.ts'
import type { Subject } from './subject.ts'

/** Each is a name of its own. */
const strangeNames: readonly string[] = [
  'job',
  'Job',
  'JOB',
  'job ',
  ' job',
  'jöb',
  'jo\u0308b',
  'job\u00a0',
  'ｊｏｂ',
  'straße',
  'strasse',
  'i',
  'I',
  'ı',
  'İ',
  'a}:{b',
  '{a}:b',
  'a:b',
  "'; DROP TABLE onetick_jobs--",
  "''",
  '"',
  '`',
  '\\',
  '\\\\',
  '%',
  '_',
  '*',
  '?',
  '$1',
  ':id',
  '@lease',
  '@queue',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NULL',
  'undefined',
  '0',
  '00',
  '1e3',
  '-1',
  'true',
  'Infinity',
  '[1,2]',
  '{}',
  '<img src=x onerror=alert(1)>',
  '../../etc/passwd',
  '漢字',
  'עברית',
  '😀',
  '👩‍👩‍👧',
  '🏳️‍🌈',
  'x'.repeat(255),
  `${'ü'.repeat(127)}x`,
  '😀'.repeat(63),
]

export function naming(subject: Subject): void {
  const test = testsOf(subject)

  describe('names', () => {
    test('each strange name is a job of its own', async arena => {
      const now = await arena.now()
      const jobs = strangeNames.map((name, i) => aDeclaration({ name, data: i, schedule: null }, now))
      const declare = () => arena.store.declare({ replica: aReplica(), jobs, liveForMs: longMs })
      expect(new Set((await declare()).results)).toEqual(new Set(['new']))
      expect(new Set((await declare()).results)).toEqual(new Set(['unchanged']))
      const rows = await arena.rows()
      expect(rows.map(({ name }) => name).sort()).toEqual([...strangeNames].sort())
      for (const [i, name] of strangeNames.entries()) {
        expect((await arena.store.read('jobs', { name })).jobs.map(({ definition }) => definition.data)).toEqual([i])
      }
    })

    test('each strange name is asked for, claimed, settled and remembered by itself', async arena => {
      const now = await arena.now()
      const jobs = strangeNames.map(name => aDeclaration({ name, schedule: null }, now))
      await arena.store.declare({ replica: aReplica(), jobs, liveForMs: longMs })
      for (const name of strangeNames) expect(await arena.trigger('m', name)).toBe('done')
      const started = await arena.start({ limit: strangeNames.length })
      expect(started.map(({ row }) => row.name).sort()).toEqual([...strangeNames].sort())
      for (const grant of started) expect(await arena.succeed(grant)).toEqual({ kind: 'settled' })
      for (const name of strangeNames) {
        expect((await arena.runs(name)).map(({ job, end }) => `${job} ${end}`)).toEqual([`${name} succeeded`])
        expect(await arena.asks(name)).toEqual([])
      }
    })

    test('each strange name is a lease, an owner, a claim, an ask, a task and a replica of its own', async arena => {
      const at = await arena.now()
      for (const name of strangeNames)
        expect(await arena.acquire({ name, owner: name, claimId: name, at })).toMatchObject({ kind: 'granted' })
      for (const name of strangeNames) {
        expect(await arena.acquire({ name, owner: name, claimId: name, at })).toMatchObject({
          kind: 'granted',
          row: { name, lease: { owner: name, claimId: name } },
        })
      }
      const [task] = ['a task that has no lease']
      await arena.job({ name: 'a job that has no lease', schedule: null, task })
      for (const id of strangeNames) expect(await arena.trigger(id, 'a job that has no lease')).toBe('done')
      expect(await arena.row('a job that has no lease')).toMatchObject({ asked: strangeNames.length })
      const replicas = strangeNames.map(id => aReplica({ id, host: id, release: id, tasks: [id] }))
      for (const replica of replicas) await arena.store.declare({ replica, jobs: [], liveForMs: longMs })
      const read = (await arena.store.read('replicas', {})).replicas
      expect(read.map(({ id }) => id).sort()).toEqual(['client', ...strangeNames].sort())
      for (const { id, host, release, tasks } of read) if (id !== 'client') expect([host, release, ...tasks]).toEqual([id, id, id])
      for (const name of strangeNames) expect((await arena.claim({ tasks: [name], owner: name })).grants).toEqual([])
    })

    test('tasks are told apart to the letter', async arena => {
      const tasks = ['task', 'Task', 'task ', 'täsk', 'ta\u0308sk', '%', '_', "t'", '@lease ']
      for (const task of tasks) await arena.job({ name: `job of ${task}`, schedule: null, task })
      for (const task of tasks) await arena.trigger('m', `job of ${task}`)
      for (const task of tasks) expect((await arena.claim({ tasks: [task] })).grants.map(({ row }) => row.task)).toEqual([task])
    })
  })

  describe('namespaces', () => {
    test('do not see each other’s jobs, runs, asks, leases and replicas', async arena => {
      const other = await neighbour(arena)
      await arena.due()
      await arena.trigger('m')
      await arena.acquire()
      await arena.store.declare({ replica: aReplica({ id: 'a', tasks: ['task'] }), jobs: [], liveForMs: longMs })
      const grant = await arena.startOne()
      await arena.succeed(grant)
      expect(await other.rows()).toEqual([])
      expect(await other.runs()).toEqual([])
      expect(await other.asks()).toEqual([])
      expect((await other.store.read('leases', {})).leases).toEqual([])
      expect((await other.store.read('replicas', {})).replicas).toEqual([])
      expect(await other.claim()).toMatchObject({ grants: [], nextDueAt: never, moreDue: false, anyLeased: false })
      expect(await other.trigger('m')).toBe('unknown')
      await other.leave()
    })

    test('keep jobs of one name apart', async arena => {
      const other = await neighbour(arena)
      await arena.due({ data: 'here' })
      await other.job({ data: 'there' })
      expect((await arena.claim()).grants.map(({ row }) => row.definition.data)).toEqual(['here'])
      expect((await other.claim()).grants).toEqual([])
      await other.trigger('m')
      expect((await other.claim()).grants.map(({ row }) => row.definition.data)).toEqual(['there'])
      expect((await other.acquire({ name: 'lease' })).kind).toBe('granted')
      expect((await arena.acquire({ name: 'lease' })).kind).toBe('granted')
      await other.leave()
    })

    test('do not touch each other’s rows by number', async arena => {
      const other = await neighbour(arena)
      await arena.due()
      const grant = await arena.grant()
      expect((await other.renew(heldBy(grant), 1)).state).toBe('lost')
      expect(await other.store.checkpoint(heldBy(grant), 'other')).toBe(false)
      expect(await other.settle(runSettlement(grant, succeeded(grant)))).toEqual({ kind: 'lost' })
      expect(await other.control({ kind: 'cancel', rowId: grant.row.id })).toBe('unknown')
      expect(await arena.row()).toEqual(grant.row)
      await other.leave()
    })
  })
}

/** A namespace that differs in one letter’s case. */
async function neighbour(arena: Arena): Promise<Arena> {
  return arena.beside(arena.namespace.replace('test', 'Test'))
}
