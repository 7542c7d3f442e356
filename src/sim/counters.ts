import type { HistoryEvent } from './history.ts'

/** What has to happen sometimes, or the simulator proves nothing: each at least once in a thousand seeds. */
export const sometimes = [
  'takeover',
  'lostRequest',
  'lostReply',
  'lateRequest',
  'abortedZombie',
  'fencedOff',
  'allDown',
  'crashMidRun',
  'drainedMidRun',
  'handedBack',
  'stalePlan',
  'settledBefore',
  'overruled',
  'edited',
  'retryOrHandBack',
  'renewed',
  'checkpointed',
  'extraRow',
  'triggered',
  'backfilled',
  'paused',
  'resumed',
  'skippedNext',
  'cancelledWaiting',
  'removed',
  'storeRestart',
  'lostSuffix',
  'suspended',
  'cut',
  'blackhole',
  'deaf',
  'alone',
  'skipped:overlap',
  'skipped:paused',
  'missed:window',
  'superseded:misfire',
  'superseded:replaced',
  'abandoned:attempts',
  'abandoned:takeover',
  'failed:nextDue',
  'cancelled:byHand',
] as const

export type Sometimes = (typeof sometimes)[number]

/** How often each of them was seen. */
export class Counters {
  readonly seen: Map<string, number> = new Map()
  readonly unexpected: string[] = []

  add(name: string, times = 1): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + times)
  }

  see(event: HistoryEvent): void {
    switch (event.kind) {
      case 'renewed':
      case 'checkpointed':
        return this.add(event.kind)
      case 'leased':
        return event.isExtra ? this.add('extraRow') : undefined
      case 'settled':
        return event.end === 'handBack' && event.result === 'settled' ? this.add('handedBack') : undefined
      case 'declared':
        return event.result === 'edited' ? this.add('edited') : undefined
      case 'commanded':
        if (event.result === 'done') this.add(done[event.command.kind] ?? event.command.kind)
        return
      case 'answered':
      case 'told':
      case 'replica':
        return
    }
  }

  join(other: Counters): void {
    for (const [name, times] of other.seen) this.add(name, times)
    this.unexpected.push(...other.unexpected)
  }

  /** Of a thousand seeds or more: what was seen less than once a thousand. Fewer say nothing. */
  rare(seeds: number): Sometimes[] {
    if (seeds < 1000) return []
    return sometimes.filter(name => (this.seen.get(name) ?? 0) < seeds / 1000)
  }
}

const done: Readonly<Record<string, Sometimes>> = {
  trigger: 'triggered',
  backfill: 'backfilled',
  pause: 'paused',
  resume: 'resumed',
  skipNext: 'skippedNext',
  cancel: 'cancelledWaiting',
  remove: 'removed',
}
