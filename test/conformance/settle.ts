import { describe, expect } from 'vitest'
import type { JobRow } from '../../src/domain/job.ts'
import type { Outcome, Verdict } from '../../src/domain/run.ts'
import type { RunEnd } from '../../src/domain/settle.ts'
import type { Grant, RunSettlement } from '../../src/store/store.ts'
import type { Arena } from './arena.ts'
import { testsOf } from './driver.ts'
import { handedBack, longMs, runSettlement, succeeded, threw } from './requests.ts'
import { listed } from './rows.ts'
import type { Subject } from './subject.ts'

export function settling(subject: Subject): void {
  const test = testsOf(subject)

  describe('settle', () => {
    test('ends a run: the row waits for its next instant, the ledger has the verdict', async arena => {
      await arena.due()
      const grant = await arena.grant()
      const { row } = grant
      expect(await arena.succeed(grant)).toEqual({ kind: 'settled' })
      const after = await arena.row()
      expect(after).toEqual({
        ...row,
        open: null,
        lease: null,
        afterAt: row.nextAt + 365 * 86_400_000,
        dueAt: row.nextAt,
        busy: { from: row.open?.openedAt, until: after.endedAt },
        lastAt: row.open?.scheduledAt,
        lastOwner: 'a',
        endedAt: after.endedAt,
      })
      const [run, ...others] = await arena.runs()
      expect(others).toEqual([])
      expect(run).toEqual({
        id: run?.id,
        job: 'job',
        rowId: row.id,
        jobId: row.id,
        cause: '',
        scheduledAt: row.open?.scheduledAt,
        untilAt: row.open?.scheduledAt,
        count: 1,
        attempt: 1,
        fence: row.fence,
        owner: 'a',
        startedAt: row.acquiredAt,
        endedAt: after.endedAt,
        end: 'succeeded',
        final: true,
        reason: null,
        error: null,
        result: null,
        logTail: null,
      })
    })

    for (const verdict of ['succeeded', 'failed', 'timedOut', 'cancelled', 'superseded', 'abandoned'] satisfies Verdict[]) {
      test(`writes down that a run ${verdict === 'timedOut' ? 'timed out' : `was ${verdict}`}, with all that is reported`, async arena => {
        await arena.due()
        const grant = await arena.grant()
        const report = {
          reason: 'byHand',
          error: { name: 'E', message: 'quote " \\ \n', stack: 'at x' },
          result: { n: [1, 'ü', null] },
          logTail: 'a\nb',
        } as const
        expect(await arena.settle(runSettlement(grant, { kind: 'final', verdict, successor: null, ...report }))).toEqual({
          kind: 'settled',
        })
        expect(await arena.runs()).toEqual([expect.objectContaining({ end: verdict, final: true, ...report })])
      })
    }

    test('repeated after a lost reply is found to be done', async arena => {
      await arena.due()
      const grant = await arena.grant()
      const item = runSettlement(grant, succeeded(grant))
      await arena.settle(item)
      const row = await arena.row()
      expect(await arena.settle(item)).toEqual({ kind: 'already' })
      expect(await arena.settle(item, 'a', await arena.connect())).toEqual({ kind: 'already' })
      expect(await arena.row()).toEqual(row)
      expect(await arena.verdicts()).toEqual(['= succeeded'])
    })

    test('repeated after the row went on is found to be done, and changes nothing', async arena => {
      await arena.due({ policy: { overlap: 'queue', retries: 1 } }, [1, 2])
      const first = await arena.startOne()
      const item = runSettlement(first, succeeded(first))
      await arena.settle(item)
      await arena.trigger()
      const { row } = await arena.startOne({ owner: 'b' })
      expect(row.open?.cause).toBe('by-hand')
      expect(await arena.settle(item)).toEqual({ kind: 'already' })
      expect(await arena.row()).toEqual(row)
    })

    const repeated: readonly { readonly title: string; readonly end: (grant: Grant) => RunEnd; readonly outcome: Outcome }[] = [
      { title: 'a retry repeated after another took it up is found to be done', end: grant => threw(grant), outcome: 'failed' },
      { title: 'a handover repeated after another took it up is found to be done', end: grant => handedBack(grant), outcome: 'handedBack' },
    ]
    for (const { title, end, outcome } of repeated) {
      test(title, async arena => {
        await arena.due({ policy: { retries: 1 } })
        const grant = await arena.grant()
        const item = runSettlement(grant, end(grant))
        expect(await arena.settle(item)).toEqual({ kind: 'settled' })
        expect(await arena.settle(item)).toEqual({ kind: 'already' })
        const { row } = await arena.grant({ owner: 'b' })
        expect(row.open?.attempt).toBe(2)
        expect(await arena.settle(item)).toEqual({ kind: 'already' })
        expect(await arena.row()).toEqual(row)
        expect(await arena.verdicts()).toEqual([outcome])
      })
    }

    test('by an old fence is lost and changes nothing, neither row nor ledger', async arena => {
      await arena.due({ policy: { retries: 2 } })
      const old = await arena.vanish({ owner: 'a' })
      const { row } = await arena.grant({ owner: 'a' })
      const runs = await arena.runs()
      for (const end of [succeeded(old), threw(old), handedBack(old), handedBack(old, false)]) {
        expect(await arena.settle(runSettlement(old, end))).toEqual({ kind: 'lost' })
      }
      expect(await arena.row()).toEqual(row)
      expect(await arena.runs()).toEqual(runs)
    })

    test('by an old fence is lost also when its successor has ended the occurrence', async arena => {
      await arena.due()
      const old = await arena.vanish({ owner: 'a' })
      await arena.succeed(await arena.grant({ owner: 'b' }))
      const row = await arena.row()
      expect(await arena.settle(runSettlement(old, succeeded(old)))).toEqual({ kind: 'lost' })
      expect(await arena.row()).toEqual(row)
      expect(await arena.verdicts()).toEqual(['leaseLost', '= succeeded'])
    })

    test('by another owner, or under a fence that never was, is lost and changes nothing', async arena => {
      await arena.due()
      const grant = await arena.grant({ owner: 'a' })
      const item = runSettlement(grant, succeeded(grant))
      for (const owner of ['b', 'A', '']) expect(await arena.settle(item, owner)).toEqual({ kind: 'lost' })
      for (const fence of [grant.row.fence + 1, grant.row.fence - 1, 0])
        expect(await arena.settle({ ...item, fence })).toEqual({ kind: 'lost' })
      expect(await arena.row()).toEqual(grant.row)
      expect(await arena.runs()).toEqual([])
    })

    test('of a row that never was is lost', async arena => {
      await arena.due()
      const grant = await arena.grant()
      expect(await arena.settle({ ...runSettlement(grant, succeeded(grant)), rowId: 2_000_000_000 })).toEqual({ kind: 'lost' })
    })

    test('of a run under a lease that may not start is lost and changes nothing', async arena => {
      await arena.job()
      await arena.trigger()
      const grant = await arena.grant()
      expect(await arena.settle({ ...runSettlement(grant, succeeded(grant)), occurrence: { cause: 'by-hand', scheduledAt: 0 } })).toEqual({
        kind: 'lost',
      })
      expect(await arena.row()).toEqual(grant.row)
    })

    test('after the lease has expired counts until somebody claims the row', async arena => {
      await arena.due()
      const late = await arena.vanish()
      expect(await arena.succeed(late)).toEqual({ kind: 'settled' })
      expect((await arena.claim()).grants).toEqual([])
      expect(await arena.verdicts()).toEqual(['= succeeded'])
    })

    test('of many ends each by itself and answers in their order', async arena => {
      await arena.manyDue(4)
      const { grants } = await arena.claim({ ttlMs: longMs })
      const [first, second, third, fourth] = grants as [Grant, Grant, Grant, Grant]
      await arena.succeed(second)
      const items: RunSettlement[] = [
        runSettlement(fourth, succeeded(fourth)),
        { ...runSettlement(third, succeeded(third)), fence: 1 },
        runSettlement(second, succeeded(second)),
        runSettlement(first, handedBack(first)),
      ]
      const bare = items.map(({ kind, rowId, fence, occurrence, end }) => ({ kind, rowId, fence, occurrence, end }))
      const { results } = await arena.store.settle({ owner: 'a', items: bare })
      expect(results.map(({ kind }) => kind)).toEqual(['settled', 'lost', 'already', 'settled'])
      expect(await arena.rowOf(third.row.id)).toEqual(third.row)
      expect(await arena.rowOf(first.row.id)).toMatchObject({ lease: null, open: { attempt: 1 } })
    })

    test('of the same run twice in one call ends it once', async arena => {
      await arena.due()
      const grant = await arena.grant()
      const { kind, rowId, fence, occurrence, end } = runSettlement(grant, succeeded(grant))
      const item: RunSettlement = { kind, rowId, fence, occurrence, end }
      const { results } = await arena.store.settle({ owner: 'a', items: [item, item] })
      expect(results.map(result => result.kind)).toEqual(['settled', 'already'])
      expect(await arena.verdicts()).toEqual(['= succeeded'])
    })

    test('of nothing is nothing', async arena => {
      expect((await arena.store.settle({ owner: 'a', items: [] })).results).toEqual([])
    })
  })

  describe('the next instant', () => {
    const settledAfter = async (arena: Arena, change: (row: JobRow) => Promise<unknown>): Promise<JobRow> => {
      await arena.due({}, [300_000, 400_000])
      const grant = await arena.grant()
      await change(grant.row)
      expect(await arena.succeed(grant)).toEqual({ kind: 'settled' })
      return arena.row()
    }

    test('is the one the cursor stood at, its successor the one the holder computed', async arena => {
      const row = await settledAfter(arena, async () => {})
      expect(row.afterAt).toBe(row.nextAt + 100_000)
    })

    test('is the new schedule’s after an edit during the run, and the holder’s successor is refused', async arena => {
      const row = await settledAfter(arena, async ({ nextAt }) =>
        arena.job({ schedule: listed(nextAt + 7000, nextAt + 8000, nextAt + 9000) }),
      )
      expect(row.nextAt).toBe((row.lastAt ?? 0) + 307_000)
      expect(row.afterAt).toBe(row.nextAt + 1000)
      expect(row.dueAt).toBe(row.nextAt)
    })

    test('is not taken from a holder who computed it before an edit', async arena => {
      const { definition } = await arena.due({}, [60, 300_000])
      const grant = await arena.grant()
      arena.inTime(grant.row.lease?.mayStart)
      const item = runSettlement(grant, succeeded(grant))
      await arena.until(grant.row.nextAt)
      await arena.job({ schedule: definition.schedule, data: 'edited' })
      expect(await arena.settle(item)).toEqual({ kind: 'settled' })
      expect(await arena.row()).toMatchObject({ nextAt: grant.row.nextAt, afterAt: null, dueAt: grant.row.nextAt })
      expect((await arena.planned()).result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['= succeeded', '= skipped overlap'])
    })

    test('is none for a job removed during the run', async arena => {
      const row = await settledAfter(arena, async ({ rev, asked, nextAt, open }) =>
        arena.control({ kind: 'remove', name: 'job', seen: { rev, asked, nextAt, open }, lines: [], nextAt }),
      )
      expect(row).toMatchObject({ removedAt: expect.any(Number), dueAt: Number.POSITIVE_INFINITY, open: null })
      expect(await arena.verdicts()).toEqual(['= succeeded'])
    })
  })
}
