import { type JobRow, leaseTask } from '../domain/job.ts'
import { removalLines } from '../domain/people.ts'
import type { Seen } from '../domain/plan.ts'
import { DueInstants } from '../domain/stretches.ts'
import type { Instant } from '../domain/timetable.ts'
import { compileSchedule } from '../schedule/index.ts'
import { definitionOf } from '../scheduler/job-options.ts'
import { declarable, declarationAt } from '../scheduler/jobs.ts'
import type { Fault } from './scenario.ts'
import { specOf } from './scenario.ts'
import type { Simulation } from './simulation.ts'

const acts = ['trigger', 'backfill', 'pauseJob', 'resumeJob', 'skipNext', 'cancel', 'remove', 'removeBackfilled', 'edit'] as const

type Act = (typeof acts)[number]

export function isPeoples(fault: Fault): fault is Act {
  return acts.some(known => known === fault)
}

/** What people do to a job, as the command line would: what has to be read first is read a moment earlier. */
export function act(sim: Simulation, what: Act): void {
  const name = sim.chance.pick(sim.newest).name
  sim.trace(`people: ${what} ${name}`)
  if (!sim.server.isUp) return
  acted(sim, what, name).catch(error => sim.unexpected(`people ${what}`, error))
}

async function acted(sim: Simulation, what: Act, name: string): Promise<void> {
  const { store, chance } = sim
  const { now, jobs } = await store.read('jobs', { name })
  const row = jobs[0]
  if (row === undefined || row.task === leaseTask) return
  switch (what) {
    case 'trigger':
      await store.control({ kind: 'trigger', name, id: idOf(sim, 'm') })
      return
    case 'backfill':
      return backfilled(sim, row, now)
    case 'pauseJob': {
      const until = chance.yes(0.5) ? Number.POSITIVE_INFINITY : now + chance.whole(500, 12_000)
      await store.control({ kind: 'pause', name, until, by: 'sim', why: null })
      return
    }
    case 'resumeJob':
      await store.control({ kind: 'resume', name })
      return
    case 'cancel': {
      const { jobs: all } = await store.read('jobs', { name, all: true })
      const open = all.filter(({ open }) => open !== null)
      if (open.length > 0) await store.control({ kind: 'cancel', rowId: chance.pick(open).id })
      return
    }
    case 'skipNext': {
      const due = new DueInstants(row, compileSchedule)
      const nextAt = due.next(row.nextAt)
      later(sim, () => store.control({ kind: 'skipNext', name, seen: seenOf(row), cursor: { nextAt, afterAt: due.next(nextAt) } }))
      return
    }
    case 'remove':
      return removed(sim, row, now)
    case 'removeBackfilled':
      await backfilled(sim, row, now)
      return removed(sim, (await store.read('jobs', { name })).jobs[0] ?? row, now, chance.between(200, 2500))
    case 'edit':
      return editedAtRunTime(sim, name, now)
  }
}

function seenOf(row: JobRow): Seen {
  const { rev, asked, nextAt, open } = row
  return { rev, asked, nextAt, open: open === null ? null : { cause: open.cause, scheduledAt: open.scheduledAt } }
}

function later(sim: Simulation, send: () => Promise<unknown>, inMs: number = sim.chance.pick([0, 1, 30, 700])): void {
  sim.world.after(inMs, () => {
    if (sim.server.isUp) send().catch(error => sim.unexpected('people', error))
  })
}

/** Who is slow to confirm sends what was right a while ago. */
async function removed(sim: Simulation, row: JobRow, now: Instant, inMs?: number): Promise<void> {
  const { store } = sim
  const { name } = row
  const { asks } = await store.read('asks', { name })
  const lines = removalLines(row, asks, now, compileSchedule)
  const due = new DueInstants(row, compileSchedule)
  let nextAt = row.nextAt
  while (nextAt <= now) nextAt = due.next(nextAt)
  later(sim, () => store.control({ kind: 'remove', name, seen: seenOf(row), lines, nextAt }), inMs)
}

async function backfilled(sim: Simulation, row: JobRow, now: Instant): Promise<void> {
  const { schedule } = row.definition
  if (schedule === null) return
  const at = compileSchedule(schedule).next(now - sim.chance.whole(1000, 30_000))
  if (at > now) return
  await sim.store.control({ kind: 'backfill', name: row.name, id: idOf(sim, 'b'), at, until: now, schedule })
}

async function editedAtRunTime(sim: Simulation, name: string, now: Instant): Promise<void> {
  const { options } = specOf(name, sim.chance, now)
  const job = declarable(name, name, definitionOf(name, options, sim.timing, compileSchedule))
  const { schedule } = job.definition
  if (schedule !== null && compileSchedule(schedule).next(now) === Number.POSITIVE_INFINITY) return
  const replica = [...sim.replicas][0]
  if (replica === undefined) return
  await sim.store.declare({
    replica: { id: 'people', host: 'people', version: '', release: 'by hand', role: 'client', tasks: [], capacity: 0 },
    jobs: [declarationAt(job, now, compileSchedule)],
    liveForMs: sim.timing.liveForMs,
    atRunTime: true,
  })
}

/** Sometimes one that was used before. */
function idOf(sim: Simulation, prefix: string): string {
  return `${prefix}${sim.chance.whole(1, 40)}`
}
