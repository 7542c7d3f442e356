import type { Instant } from '../../domain/timetable.ts'
import { rowsOf } from './holds.ts'
import type { Setting } from './setting.ts'
import type { Replica, State } from './state.ts'

/** The next instant at which something falls due, runs out, or can just be caught by a call that is sent now. Null: nothing ever does. */
export function nextInstant({ now, store, replicas }: State, setting: Setting): Instant | null {
  const { instants, callTimeoutMs, slackMs, policy, capacity } = setting
  let next = Number.POSITIVE_INFINITY
  const add = (instant: Instant): void => {
    if (instant > now && instant < next) next = instant
  }
  // whoever asked too early polls again
  const isPolling = replicas.some(
    ({ condition, holds, askedAt }) => condition === 'up' && rowsOf(holds).length < capacity && askedAt === now,
  )
  for (const { dueAt, nextAt, open } of store.rows) {
    if (isPolling && dueAt <= now) add(now + callTimeoutMs)
    add(dueAt - slackMs)
    add(dueAt)
    // the first instant at which it would be missed
    if (open === null) add(nextAt + policy.windowMs + 1)
  }
  for (const instant of instants) add(instant)
  for (const replica of replicas) for (const instant of timersOf(replica, setting)) add(instant)
  return next === Number.POSITIVE_INFINITY ? null : next
}

function* timersOf({ ask, beat, beatAt, holds }: Replica, { callTimeoutMs, longestRunMs }: Setting): Generator<Instant> {
  for (const call of [ask, beat, ...holds.map(({ settle }) => settle)]) if (call !== null) yield call.sentAt + callTimeoutMs
  if (beatAt !== null) yield beatAt
  for (const { deadlineMs, startedAt, stage } of holds) {
    if (stage !== 'settling') yield deadlineMs
    if (stage === 'running') yield startedAt + longestRunMs
  }
}
