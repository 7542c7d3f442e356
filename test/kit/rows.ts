import type { JobRow } from '../../src/domain/job.ts'

/** An idle row of a job that is due every second, in the words of a test: only what matters there. */
export function rowWith(changes: Partial<JobRow> = {}): JobRow {
  return {
    id: 1,
    name: 'job',
    task: 'job',
    definition: {
      schedule: { schedule: 'every 1s' },
      policy: {
        overlap: 'skip',
        misfire: 'latest',
        windowMs: 86_400_000,
        misfireLimit: 100,
        takeOver: true,
        maxAttempts: 3,
        retries: 0,
        strategy: 'race',
        jitterMs: 0,
      },
      backoffMs: 1000,
      backoffMaxMs: 300_000,
      data: null,
    },
    hash: 'h',
    rev: 1,
    nextAt: 2000,
    afterAt: 3000,
    oldSchedules: [],
    open: null,
    dueAt: 2000,
    fence: 1,
    lease: null,
    acquiredAt: null,
    busy: null,
    held: null,
    pause: null,
    removedAt: null,
    asked: 0,
    lastCause: '',
    lastAt: null,
    lastOwner: null,
    endedAt: null,
    cancelFence: null,
    parent: null,
    ...changes,
  }
}

/** The same, running its occurrence of second 1 under the lease of `me`. */
export function runningRow(changes: Partial<JobRow> = {}): JobRow {
  return rowWith({
    open: { cause: '', scheduledAt: 1000, openedAt: 1000, attempt: 1, failures: 0, checkpoint: null },
    lease: { owner: 'me', claimId: 'c', mayStart: true },
    acquiredAt: 1000,
    afterAt: null,
    dueAt: 4000,
    fence: 1_000_000,
    ...changes,
  })
}
