import { describe, expect } from 'vitest'
import type { RunView } from '../../src/store/readings.ts'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { runSettlement, threw } from './requests.ts'
import type { Subject } from './subject.ts'

export function remembering(subject: Subject): void {
  const test = testsOf(subject)

  /** Runs a job by hand, `count` times. */
  const runs = async (arena: Arena, name: string, count: number, prefix = 'm'): Promise<void> => {
    await arena.job({ name, policy: { retries: 1 } })
    for (let i = 0; i < count; i++) {
      await arena.trigger(`${prefix}${i}`, name)
      await arena.succeed(await arena.startOne())
    }
  }
  const read = async (arena: Arena, filter: object) => (await arena.store.read('runs', { limit: 1000, ...filter })).runs
  const causes = (lines: readonly RunView[]) => lines.map(line => line.cause)

  describe('the ledger', () => {
    test('is read newest first, a page at a time, each line once', async arena => {
      await runs(arena, 'job', 7)
      const all = await read(arena, {})
      expect(causes(all)).toEqual(['m6', 'm5', 'm4', 'm3', 'm2', 'm1', 'm0'])
      expect(all.map(line => line.id)).toEqual(all.map(line => line.id).toSorted((a, b) => b - a))
      const paged: RunView[] = []
      for (;;) {
        const last = paged.at(-1)
        const page = await read(arena, { limit: 3, ...(last === undefined ? {} : { before: last.id }) })
        if (page.length === 0) break
        paged.push(...page)
      }
      expect(paged).toEqual(all)
    })

    test('is read by job, by time and by whether a line is final', async arena => {
      await runs(arena, 'job', 1)
      await arena.sleep(2)
      const since = await arena.now()
      await runs(arena, 'Job', 1, 'other')
      await arena.trigger('retried', 'Job')
      const grant = await arena.startOne()
      await arena.settle(runSettlement(grant, threw(grant)))
      await arena.succeed(await arena.startOne())
      expect(causes(await read(arena, { job: 'job' }))).toEqual(['m0'])
      expect(causes(await read(arena, { job: 'Job' }))).toEqual(['retried', 'retried', 'other0'])
      expect(causes(await read(arena, { job: 'JOB' }))).toEqual([])
      expect(causes(await read(arena, { since }))).toEqual(['retried', 'retried', 'other0'])
      expect((await read(arena, { final: false })).map(({ end }) => end)).toEqual(['failed'])
      expect(causes(await read(arena, { final: true, job: 'Job' }))).toEqual(['retried', 'other0'])
      expect(causes(await read(arena, { limit: 1, final: true, since }))).toEqual(['retried'])
      expect(await read(arena, { since: since + 3_600_000 })).toEqual([])
      expect(await read(arena, { limit: 0 })).toEqual([])
    })

    test('is read by instant: all lines of the occurrence, and of the range that holds it', async arena => {
      await runs(arena, 'job', 2)
      await arena.trigger('retried', 'job')
      const grant = await arena.startOne()
      await arena.settle(runSettlement(grant, threw(grant)))
      await arena.succeed(await arena.startOne())
      const at = grant.row.open?.scheduledAt ?? 0
      const lines = (await read(arena, { job: 'job', at })).filter(({ cause }) => cause === 'retried')
      expect(lines.map(({ end }) => end)).toEqual(['succeeded', 'failed'])
      expect(await read(arena, { at, final: false })).toEqual([lines[1]])
      expect(await read(arena, { job: 'job', at: at + 3_600_000 })).toEqual([])
      await arena.late({ name: 'late' }, [20, 40, 60])
      await arena.succeed(await arena.startOne())
      const late = await read(arena, { job: 'late' })
      const [range] = late.filter(({ count }) => count > 1)
      expect(range).toMatchObject({ end: 'superseded', count: 3 })
      for (const inside of [range?.scheduledAt, (range?.scheduledAt ?? 0) + 1, range?.untilAt]) {
        expect(await read(arena, { job: 'late', at: inside })).toEqual([range])
      }
    })

    test('holds one final verdict an occurrence, whatever is written', async arena => {
      await arena.due()
      const grant = await arena.grant()
      await arena.succeed(grant)
      const [line] = await arena.runs()
      const { rev, asked, nextAt } = await arena.row()
      const twice = [{ ...line!, end: 'skipped' as const, reason: 'removed' as const }]
      await arena
        .control({ kind: 'remove', name: 'job', seen: { rev, asked, nextAt, open: null }, lines: twice, nextAt })
        .catch(() => undefined)
      expect(await arena.verdicts()).toEqual(['= succeeded'])
    })

    test('is pruned by age and by count, and keeps each job’s last verdict', async arena => {
      await runs(arena, 'a', 4)
      await runs(arena, 'b', 1)
      await arena.sleep(5)
      const prune = (keepMs: number, keepLines: number) => arena.control({ kind: 'prune', keepMs, keepLines })
      expect(await prune(3_600_000, 0)).toBe('done')
      expect(causes(await read(arena, { job: 'a' }))).toEqual(['m3', 'm2', 'm1', 'm0'])
      expect(await prune(0, 3)).toBe('done')
      expect(causes(await read(arena, { job: 'a' }))).toEqual(['m3', 'm2', 'm1'])
      expect(causes(await read(arena, { job: 'b' }))).toEqual(['m0'])
      await arena.trigger('open', 'a')
      const grant = await arena.startOne()
      await arena.settle(runSettlement(grant, threw(grant, 600_000)))
      await arena.sleep(5)
      for (let i = 0; i < 2; i++) expect(await prune(0, 0)).toBe('done')
      expect(causes(await read(arena, {}))).toEqual(['m0', 'm3'])
    })

    test('is pruned only in its own namespace', async arena => {
      const elsewhere = await arena.connect(`${arena.namespace}-other`)
      await runs(arena, 'job', 2)
      await arena.sleep(5)
      await elsewhere.control({ kind: 'prune', keepMs: 0, keepLines: 0 })
      expect(await arena.runs()).toHaveLength(2)
    })

    test('forgets an ask only with its line, so that a late repetition is still known', async arena => {
      await runs(arena, 'job', 3)
      expect(await arena.trigger('m0')).toBe('none')
      expect(await arena.trigger('m2')).toBe('none')
    })
  })
}
