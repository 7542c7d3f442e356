import { describe, expect } from 'vitest'
import { planned } from '../../src/domain/planned.ts'
import { testsOf } from './driver.ts'
import { heldBy, longMs, planOf, planSettlement } from './requests.ts'
import { every, listed, never } from './rows.ts'
import type { Subject } from './subject.ts'

export function planning(subject: Subject): void {
  const test = testsOf(subject)

  describe('a plan', () => {
    test('is what the pure functions say: row and ledger change together', async arena => {
      const before = await arena.late({ data: { n: 1 } })
      const { grant, plan, result } = await arena.planned({ claimId: 'c1' })
      if (result.kind !== 'granted') throw new Error(result.kind)
      const expected = planned(grant.row, plan, { claimId: 'c1', ttlMs: longMs }, result.grant.row.acquiredAt ?? 0)
      expect(result.grant.row).toEqual(expected.kind === 'granted' ? expected.row : null)
      expect(result.grant.row).toMatchObject({
        open: { scheduledAt: before.nextAt + 2, attempt: 1 },
        lease: { mayStart: true },
        fence: grant.row.fence,
      })
      expect(await arena.row()).toEqual(result.grant.row)
      expect(await arena.runs()).toEqual(plan.lines.map(line => expect.objectContaining(line)))
      expect(await arena.verdicts()).toEqual(['= superseded misfire × 2'])
    })

    test('of a claim changes nothing before it is written down', async arena => {
      const before = await arena.late()
      const { row } = await arena.grant()
      const { fence, dueAt, lease, acquiredAt } = row
      expect(row).toEqual({ ...before, fence, dueAt, lease, acquiredAt })
      expect(lease?.mayStart).toBe(false)
      expect(await arena.runs()).toEqual([])
    })

    test('under a lease that has run out is lost, and costs the occurrence no attempt', async arena => {
      const before = await arena.late()
      const { grants, now } = await arena.claim({ owner: 'slow', ttlMs: 1 })
      const grant = grants[0]!
      await arena.until(grant.row.dueAt)
      expect(await arena.settle(planSettlement(grant, planOf(grant, now)))).toEqual({ kind: 'lost' })
      expect(await arena.row()).toEqual(grant.row)
      const { result } = await arena.planned()
      expect(result).toMatchObject({ kind: 'granted', grant: { row: { open: { scheduledAt: before.nextAt + 2, attempt: 1 } } } })
      expect(await arena.verdicts()).toEqual(['= superseded misfire × 2'])
    })

    test('that finds nothing to run lets the row go', async arena => {
      const before = await arena.late({ policy: { windowMs: 5 } })
      await arena.until(before.nextAt + 20)
      const { result, grant } = await arena.planned()
      expect(result).toEqual({ kind: 'settled' })
      const row = await arena.row()
      expect(row).toMatchObject({
        lease: null,
        open: null,
        lastOwner: 'a',
        fence: grant.row.fence,
        nextAt: before.nextAt + 365 * 86_400_000,
      })
      expect(row.dueAt).toBe(row.nextAt)
      expect(await arena.verdicts()).toEqual(['= missed window × 3'])
    })

    test('coalesces whatever was missed into one line of the ledger', async arena => {
      const { nextAt } = await arena.job({ schedule: every(1), policy: { windowMs: 0 } })
      await arena.until(nextAt + 120)
      const { plan } = await arena.planned()
      const [line, ...others] = await arena.runs()
      expect(others).toEqual([])
      expect(line).toMatchObject({ end: 'missed', scheduledAt: nextAt, untilAt: nextAt + (line?.count ?? 0) - 1 })
      expect(line?.count).toBeGreaterThan(100)
      expect((await arena.row()).nextAt).toBe(plan.cursor?.nextAt)
    })

    test('lets every late occurrence run in turn where all are to run', async arena => {
      const { nextAt } = await arena.late({ policy: { misfire: 'all', overlap: 'queue' } })
      for (const at of [nextAt, nextAt + 1, nextAt + 2]) {
        const grant = await arena.startOne()
        expect(grant.row.open?.scheduledAt).toBe(at)
        await arena.succeed(grant)
      }
      expect(await arena.verdicts()).toEqual(['= succeeded', '= succeeded', '= succeeded'])
    })

    test('lets no more late occurrences run than the limit allows', async arena => {
      const { nextAt } = await arena.late({ policy: { misfire: 'all', misfireLimit: 1 } })
      const { result } = await arena.planned()
      expect(result).toMatchObject({ kind: 'granted', grant: { row: { open: { scheduledAt: nextAt + 2 } } } })
      expect(await arena.verdicts()).toEqual(['= superseded misfire × 2'])
    })

    test('skips what came due while the job ran', async arena => {
      await arena.due({}, [60])
      const grant = await arena.grant()
      arena.inTime(grant.row.lease?.mayStart)
      await arena.until(grant.row.nextAt)
      await arena.succeed(grant)
      expect((await arena.planned()).result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['= succeeded', '= skipped overlap'])
    })

    test('skips what came due during a pause that ended by itself', async arena => {
      const first = (await arena.now()) + 60 * arena.pace
      const declared = await arena.job({ schedule: listed(first, first + 100_000, first + 200_000) })
      await arena.control({ kind: 'pause', name: 'job', until: first + 30, by: 'me', why: 'because' })
      const { pause, dueAt } = await arena.row()
      arena.inTime(declared.nextAt === first && (pause?.at ?? never) < first)
      expect(dueAt).toBe(first + 30)
      await arena.until(first + 30)
      const { result } = await arena.planned()
      expect(result).toEqual({ kind: 'settled' })
      expect(await arena.row()).toMatchObject({ pause: null, held: { from: pause?.at, until: first + 30 }, dueAt: first + 100_000 })
      expect(await arena.verdicts()).toEqual(['= skipped paused'])
    })

    test('ends the pause that it was made under, and none that began since', async arena => {
      const first = (await arena.now()) + 60 * arena.pace
      await arena.job({ schedule: listed(first, first + 100_000, first + 200_000) })
      await arena.control({ kind: 'pause', name: 'job', until: first + 30, by: 'me', why: null })
      await arena.until(first + 30)
      const { grants, now } = await arena.claim()
      const grant = grants[0]!
      arena.inTime((grant.row.pause?.at ?? never) < first)
      await arena.control({ kind: 'pause', name: 'job', until: never, by: 'you', why: 'again' })
      expect(await arena.settle(planSettlement(grant, planOf(grant, now)))).toEqual({ kind: 'settled' })
      expect(await arena.row()).toMatchObject({ lease: null, dueAt: never, pause: { until: never, by: 'you', why: 'again' } })
      expect(await arena.verdicts()).toEqual(['= skipped paused'])
    })

    test('lets another attempt start, with its checkpoint, where an edit has just allowed one', async arena => {
      const { definition } = await arena.due({ policy: { maxAttempts: 1 } })
      const first = await arena.grant({ owner: 'gone' })
      await arena.store.checkpoint(heldBy(first), { page: 3 })
      await arena.until((await arena.renew(heldBy(first), 1)).dueAt + 1)
      const { grants, now } = await arena.claim({ owner: 'b' })
      const grant = grants[0]!
      await arena.job({ ...definition, policy: { maxAttempts: 2 } })
      const stale = await arena.settle(planSettlement(grant, planOf(grant, now)))
      if (stale.kind !== 'stale') throw new Error(stale.kind)
      const made = planOf(stale.grant, now)
      expect(made.then.kind).toBe('again')
      const result = await arena.settle(planSettlement(stale.grant, made))
      expect(result).toMatchObject({
        kind: 'granted',
        grant: { row: { lease: { owner: 'b', mayStart: true }, fence: grant.row.fence, open: { attempt: 2, checkpoint: { page: 3 } } } },
      })
      expect(await arena.settle(planSettlement(stale.grant, made))).toEqual(result)
      expect(await arena.verdicts()).toEqual(['leaseLost'])
    })

    test('keeps a cancel that came while it was made', async arena => {
      const { definition } = await arena.due({ policy: { maxAttempts: 1 } })
      await arena.vanish()
      const { grants, now } = await arena.claim({ owner: 'b' })
      const { row } = grants[0]!
      await arena.job({ ...definition, policy: { maxAttempts: 2 } })
      const stale = await arena.settle(planSettlement(grants[0]!, planOf(grants[0]!, now)))
      if (stale.kind !== 'stale') throw new Error(stale.kind)
      expect(await arena.control({ kind: 'cancel', rowId: row.id })).toBe('done')
      expect((await arena.settle(planSettlement(stale.grant, planOf(stale.grant, now)))).kind).toBe('granted')
      expect(await arena.renew(heldBy({ row }))).toMatchObject({ state: 'held', cancelled: true })
    })

    test('gives a vanished run up for its replacement', async arena => {
      await arena.due({ policy: { overlap: 'replace' } }, [60])
      const { row } = await arena.vanish()
      arena.inTime(row.lease?.mayStart)
      await arena.until(row.nextAt)
      const { result } = await arena.planned({ owner: 'b' })
      expect(result).toMatchObject({ kind: 'granted', grant: { row: { open: { scheduledAt: row.nextAt, attempt: 1 } } } })
      expect(await arena.verdicts()).toEqual(['leaseLost', '= superseded replaced'])
    })

    test('of a vanished run that was cancelled ends it', async arena => {
      await arena.due()
      const { row } = await arena.vanish()
      expect(await arena.control({ kind: 'cancel', rowId: row.id })).toBe('done')
      expect((await arena.planned()).result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['leaseLost', '= cancelled byHand'])
    })

    test('of a vanished run whose job was removed ends it, whoever claims its task', async arena => {
      await arena.due()
      const { rev, asked, nextAt, open } = (await arena.vanish()).row
      expect(await arena.control({ kind: 'remove', name: 'job', seen: { rev, asked, nextAt, open }, lines: [], nextAt })).toBe('done')
      expect((await arena.planned()).result).toEqual({ kind: 'settled' })
      expect(await arena.verdicts()).toEqual(['leaseLost', '= abandoned removed'])
      expect(await arena.row()).toMatchObject({ dueAt: never, open: null })
      expect((await arena.claim()).grants).toEqual([])
    })
  })
}
