import { describe, expect, test } from 'vitest'
import { rowWith } from '../../../test/kit/rows.ts'
import type { ReplicaView } from '../../store/store.ts'
import { fleetChecks } from './fleet.ts'
import { drainCheck, nodeCheck } from './setup.ts'
import { fileSystem } from './sqlite.ts'

const now = 1_000_000

function replica(parts: Partial<ReplicaView> = {}): ReplicaView {
  const kept = { id: 'a-1', host: 'h', version: '1.0.0', release: 'r', role: 'all', tasks: ['task'], capacity: 10 } as const
  return { ...kept, running: 0, draining: false, clockOffsetMs: 3, loopLagMs: 1, startedAt: 0, seenAt: now - 500, ...parts }
}

function statuses(
  replicas: readonly ReplicaView[],
  jobs = [rowWith({ name: 'job', task: 'task', dueAt: now + 1 })],
): Record<string, string> {
  const checks = fleetChecks({ now, jobs, replicas, liveForMs: 30_000, pollMs: 2000 })
  return Object.fromEntries(checks.map(({ name, status, text }) => [name, `${status}: ${text}`]))
}

describe('the fleet', () => {
  test('that is well is all ok', () => {
    const checks = Object.values(statuses([replica(), replica({ id: 'b-2' })]))
    expect(checks).toHaveLength(6)
    for (const check of checks) expect(check).toMatch(/^ok: /)
  })

  test('without a live replica, clients aside, runs nothing', () => {
    const dead = [replica({ seenAt: now - 31_000 }), replica({ role: 'client' })]
    expect(statuses(dead)['replicas']).toMatch(/^warn: None is live, so nothing runs\. 2 were heard of earlier\./)
    expect(statuses([], [rowWith({ dueAt: now - 2001 })])['overdue']).toMatch(/^warn: /)
  })

  test.each([
    ['replicas', 'of which all are full', { running: 10 }, /^warn: 1 live \(a-1\), 10 of 10 runs under way/],
    ['clocks', 'with a clock that is wrong', { clockOffsetMs: -1001 }, /^warn: Those of a-1 are up to 1\.0 s from the store's/],
    ['loops', 'with a loop that lags', { loopLagMs: 700 }, /^warn: The event loop of a-1 is up to 700 ms behind/],
    ['orphans', 'that knows not all tasks', { tasks: [] }, /^warn: No live replica knows the task of job/],
  ] as const)('%s: a fleet %s is warned of', (name, _title, parts, says) => {
    expect(statuses([replica(parts)])[name]).toMatch(says)
  })

  test('of two releases, or two versions, is told so', () => {
    expect(statuses([replica(), replica({ release: 's' })])['releases']).toMatch(/^warn: 2 sets of jobs .+ onetick 1\.0\.0;/)
    expect(statuses([replica(), replica({ version: '1.1.0' })])['releases']).toMatch(/^warn: One set of jobs .+ onetick 1\.0\.0, 1\.1\.0;/)
  })

  test('a job that is due for longer than a poll is overdue, an orphan is an orphan only', () => {
    const late = rowWith({ name: 'late', task: 'task', dueAt: now - 2001 })
    expect(statuses([replica()], [late])['overdue']).toMatch(/^warn: late came due up to 2\.0 s ago/)
    expect(statuses([replica()], [rowWith({ task: 'task', dueAt: now - 2000 })])['overdue']).toMatch(/^ok/)
    expect(statuses([replica({ tasks: [] })], [late])['overdue']).toMatch(/^ok/)
  })
})

test('a drain that outlasts the grace period is warned of, with the number to set', () => {
  expect(drainCheck({ drainMs: 25_000, graceMs: 10_000 })).toMatchObject({
    status: 'warn',
    remedy: expect.stringContaining('terminationGracePeriodSeconds: 40'),
  })
  expect(drainCheck({ drainMs: 20_000, graceMs: 10_000 }).status).toBe('ok')
  expect(drainCheck(null).status).toBe('unknown')
})

test('Node is measured by what the package asks for', () => {
  expect(['20.18.9', '18.20.0', '20.19.0', '22.0.0'].map(version => nodeCheck(version).status)).toEqual(['fail', 'fail', 'ok', 'ok'])
})

test('a file on a network fails, one that does not last is warned of', () => {
  const statusOf = (type: string): string => fileSystem({ fileSystem: { type, mountedAt: '/data' } }).status
  expect(['ext4', 'xfs', 'apfs', 'nfs4', 'cifs', 'fuse.sshfs', 'tmpfs', 'overlay'].map(statusOf)).toEqual([
    ...['ok', 'ok', 'ok', 'fail', 'fail', 'fail', 'warn', 'warn'],
  ])
  expect(fileSystem({ fileSystem: null }).status).toBe('unknown')
})
