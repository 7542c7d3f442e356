import type { JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import type { ReplicaView } from '../../store/store.ts'
import { idText, printable } from '../text.ts'
import { lengthText } from '../times.ts'
import { type Check, ok, unknown, warn } from './check.ts'

export interface FleetSeen {
  readonly now: Instant
  readonly jobs: readonly JobRow[]
  readonly replicas: readonly ReplicaView[]
  /** A replica not heard of for this long does not count. */
  readonly liveForMs: number
  /** Longest that a replica sleeps while something is due. */
  readonly pollMs: number
}

/** Who runs the jobs, and whether all of them are run. */
export function fleetChecks(seen: FleetSeen): Check[] {
  const { now, replicas, liveForMs } = seen
  const live = replicas.filter(({ role, seenAt }) => role === 'all' && seenAt >= now - liveForMs)
  if (live.length === 0) {
    const gone = replicas.length === 0 ? '' : ` ${replicas.length} were heard of earlier.`
    return [warn('replicas', `None is live, so nothing runs.${gone}`, 'Start one: npx onetick start'), overdue(seen, [])]
  }
  return [counted(live), releases(live), clocks(live), loops(live), orphans(seen, live), overdue(seen, live)]
}

const longestList = 3

function listed(names: readonly string[]): string {
  const shown = names.slice(0, longestList).join(', ')
  return names.length > longestList ? `${shown} and ${names.length - longestList} more` : shown
}

function counted(live: readonly ReplicaView[]): Check {
  const running = live.reduce((sum, replica) => sum + replica.running, 0)
  const capacity = live.reduce((sum, replica) => sum + replica.capacity, 0)
  const draining = live.filter(replica => replica.draining).length
  const stops = draining === 0 ? '' : `, ${draining} of them about to stop`
  const text = `${live.length} live${stops} (${listed(live.map(({ id }) => idText(id)))}), ${running} of ${capacity} runs under way.`
  if (running < capacity) return ok('replicas', text)
  return warn('replicas', text, 'All are full: what falls due waits. Start more of them, or raise concurrency.')
}

function releases(live: readonly ReplicaView[]): Check {
  const versions = [...new Set(live.map(({ version }) => printable(version)))].sort()
  const count = new Set(live.map(({ release }) => release)).size
  const told = `onetick ${versions.join(', ')}`
  if (count === 1 && versions.length === 1) return ok('releases', `All declare the same jobs, with ${told}.`)
  const sets = count === 1 ? 'One set of jobs is declared' : `${count} sets of jobs are declared`
  const text = `${sets} side by side, with ${told}; the definition first seen last is in force.`
  return warn('releases', text, 'Right during a deployment. Else stop the replicas of the old release.')
}

const apartMs = 1000

function clocks(live: readonly ReplicaView[]): Check {
  const far = live.filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > apartMs)
  const most = Math.max(...live.map(({ clockOffsetMs }) => Math.abs(clockOffsetMs)))
  if (far.length === 0) return ok('clocks', `Those of the replicas are at most ${lengthText(most)} from the store's.`)
  const text = `Those of ${listed(far.map(({ id }) => idText(id)))} are up to ${lengthText(most)} from the store's. Runs start by the store's all the same.`
  return warn('clocks', text, 'Synchronize those hosts by NTP.')
}

const lagMs = 500

function loops(live: readonly ReplicaView[]): Check {
  const slow = live.filter(({ loopLagMs }) => loopLagMs > lagMs)
  const most = Math.max(...live.map(({ loopLagMs }) => loopLagMs))
  if (slow.length === 0) return ok('loops', `Event loops are at most ${lengthText(most)} behind.`)
  const text = `The event loop of ${listed(slow.map(({ id }) => idText(id)))} is up to ${lengthText(most)} behind: runs start late there.`
  return warn('loops', text, 'Let handlers compute in a worker thread, or lower concurrency.')
}

function orphans({ jobs }: FleetSeen, live: readonly ReplicaView[]): Check {
  const orphaned = jobs.filter(job => isOrphan(job, live)).map(({ name }) => printable(name))
  if (orphaned.length === 0) return ok('orphans', 'Each job has a live replica that knows its task.')
  const text = `No live replica knows the task of ${listed(orphaned)}: they never run.`
  return warn('orphans', text, 'Deploy a release that defines it, or correct the task in the config.')
}

function isOrphan({ task }: JobRow, live: readonly ReplicaView[]): boolean {
  return !live.some(({ tasks }) => tasks.includes(task))
}

function overdue({ jobs, now, pollMs }: FleetSeen, live: readonly ReplicaView[]): Check {
  if (jobs.length === 0) return unknown('overdue', 'There are no jobs yet.')
  const late = jobs.filter(job => job.dueAt < now - pollMs && (live.length === 0 || !isOrphan(job, live)))
  if (late.length === 0) return ok('overdue', `Nothing has been due for longer than a poll (${lengthText(pollMs)}).`)
  const [oldest] = [...late].sort((a, b) => a.dueAt - b.dueAt)
  const since = lengthText(now - (oldest?.dueAt ?? now))
  const text = `${listed(late.map(({ name }) => printable(name)))} came due up to ${since} ago, and nobody has claimed it.`
  const remedy =
    live.length === 0 ? 'Start a replica: npx onetick start' : 'Look at the replicas: are they full, or cut off from the store?'
  return warn('overdue', text, remedy)
}
