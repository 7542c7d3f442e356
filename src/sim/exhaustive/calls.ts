import type { Instant } from '../../domain/timetable.ts'
import { withHold } from './holds.ts'
import type { Call, Replica } from './state.ts'

/** Where a replica's call stands: its ask, its heartbeat, or the settle of one of its holdings. */
export type Slot = 'ask' | 'beat' | number

export function callsOf({ ask, beat, holds }: Replica): Slot[] {
  const slots: Slot[] = []
  if (ask !== null) slots.push('ask')
  if (beat !== null) slots.push('beat')
  for (const [index, { settle }] of holds.entries()) if (settle !== null) slots.push(index)
  return slots
}

export function callIn(replica: Replica, slot: Slot): Call | null {
  if (slot === 'ask') return replica.ask
  if (slot === 'beat') return replica.beat
  return replica.holds[slot]?.settle ?? null
}

export function withCall(replica: Replica, slot: Slot, call: Call): Replica {
  if (slot === 'ask') return { ...replica, ask: call }
  if (slot === 'beat') return { ...replica, beat: call }
  const hold = replica.holds[slot]
  return hold === undefined ? replica : withHold(replica, { ...hold, settle: call })
}

export function isBeatDue({ beat, beatAt }: Replica, now: Instant): boolean {
  return beat === null && beatAt !== null && beatAt <= now
}

/** It holds nothing and waits for nothing. */
export function isAtRest({ ask, beat, holds }: Replica): boolean {
  return ask === null && beat === null && holds.length === 0
}
