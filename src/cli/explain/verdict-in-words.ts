import type { Outcome, Reason, Verdict } from '../../domain/run.ts'

const verdicts: { readonly [K in Verdict]: string } = {
  succeeded: 'the handler returned without throwing',
  failed: 'the handler threw, and no retry was left',
  timedOut: 'it took longer than it may',
  cancelled: 'somebody cancelled it',
  skipped: 'it was not run on purpose',
  missed: 'no replica could run it in time',
  superseded: 'a later occurrence took its place',
  abandoned: 'it had started and may not start again; how far it came is unknown',
}

const outcomes: { readonly [K in Exclude<Outcome, Verdict>]: string } = {
  stuck: 'its event loop stood still for too long',
  leaseLost: 'its replica did not renew the lease in time: it died, hung or lost the store',
  handedBack: 'its replica stopped and gave it back for others to go on with',
}

const reasons: { readonly [K in Reason]: string } = {
  overlap: "the run before still had the job, and the job's overlap is skip; with queue it would have waited",
  paused: 'the job was paused; a pause does not save up what falls due',
  byHand: 'somebody asked for that',
  removed: 'the job was removed',
  window: 'it was later than the misfire window; a longer misfireWindow lets later ones run',
  misfire: 'several were due at once, and misfire latest runs the last of them; with all each would have run',
  replaced: 'the next came due while it ran, and overlap is replace',
  attempts: 'all attempts are used up; maxAttempts counts takeovers too',
  takeover: 'its replica vanished, and onTakeover is skip',
  handedBack: 'its replica stopped during the last attempt that it may have',
  nextDue: 'the next one came due before it could be tried again',
}

/** What an end means: `failed`: the handler threw, and no retry was left. */
export function endInWords(end: Outcome | Verdict, isFinal: boolean): string {
  if (end === 'failed' && !isFinal) return 'the handler threw, and it may be tried again'
  const known: Readonly<Record<string, string>> = { ...verdicts, ...outcomes }
  return known[end] ?? end
}

export function reasonInWords(reason: Reason): string {
  return reasons[reason] ?? reason
}
