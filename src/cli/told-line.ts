import { assertNever } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Reason, RunError } from '../domain/run.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Tone } from './output.ts'
import { cut, idText, oneLine, padded, printable, withoutPasswords } from './text.ts'
import { lengthText, type Times } from './times.ts'
import type { Told } from './told.ts'

/** One line on the screen: what happened, to which occurrence. */
export interface ToldLine {
  readonly at: Instant
  /** A sign and a word: colour alone says nothing. */
  readonly sign: string
  readonly word: string
  readonly tone: Tone
  readonly job: string
  readonly scheduledAt: Instant | null
  readonly note: string
}

/** Later than this is worth saying. */
const lateMs = 1000

/** `named` says what another replica is called. */
export function lineOf(told: Told, named: (replicaId: string) => string = idText): ToldLine {
  return { at: told.at, job: '', scheduledAt: null, ...saying(told, named) }
}

type Saying = Pick<ToldLine, 'sign' | 'word' | 'tone' | 'note'> & Partial<Pick<ToldLine, 'job' | 'scheduledAt'>>

function saying(told: Told, named: (replicaId: string) => string): Saying {
  switch (told.name) {
    case 'started':
      return started(told.event, named)
    case 'settled':
      return settled(told.event)
    case 'judged':
      return judged(told.event)
    case 'stoodBy':
      // due may also be a lease that ran out, whose milliseconds say nothing
      return {
        sign: '·',
        word: 'stood by',
        tone: 'quiet',
        scheduledAt: told.event.dueAt - (told.event.dueAt % 1000),
        note: 'others had it',
      }
    case 'leaseLost':
      return { ...trouble('lost lease', 'not renewed in time; told its handler to stop'), ...occurrence(told.event) }
    case 'fencedOff':
      return { ...trouble('fenced off', 'another replica had it by then; nothing was written'), ...occurrence(told.event) }
    case 'storeFailed':
      return trouble('store', `${told.event.during}: ${errorText(told.event.error)}`)
    case 'storeRecovered':
      return { sign: '·', word: 'store', tone: 'notice', note: `answers again, after ${lengthText(told.event.afterMs)}` }
    case 'heartbeatDegraded':
      return trouble('heartbeat', errorText(told.event.error))
    case 'planFailed':
      return trouble('plan', errorText(told.event.error), told.event.job)
    case 'overruled':
      return { sign: '·', word: 'overruled', tone: 'notice', job: told.event.job, note: 'a newer release declares it otherwise' }
    case 'declareFailed':
      return trouble('undeclared', errorText(told.event.error), told.event.job)
    case 'listenerFailed':
      return trouble('listener', `of ${told.event.event}: ${errorText(told.event.error)}`)
    case 'draining':
      return { sign: '·', word: 'draining', tone: 'quiet', note: told.event.running === 0 ? '' : `waits for ${runs(told.event.running)}` }
    case 'stopped':
      return { sign: '·', word: 'stopped', tone: 'quiet', note: '' }
    default:
      return assertNever(told)
  }
}

function started(event: Events['started'], named: (replicaId: string) => string): Saying {
  const { attempt, takenOverFrom } = event
  if (takenOverFrom !== null) {
    return { sign: '↻', word: 'took over', tone: 'notice', ...occurrence(event), note: `from ${named(takenOverFrom)}, attempt ${attempt}` }
  }
  const notes = [attempt > 1 ? `attempt ${attempt}` : '', event.lateMs >= lateMs ? `${lengthText(event.lateMs)} late` : '']
  return { sign: '▸', word: 'claimed', tone: 'plain', ...occurrence(event), note: notes.filter(note => note !== '').join(', ') }
}

function settled(event: Events['settled']): Saying {
  const took = lengthText(event.durationMs)
  const why = event.error === null ? '' : errorText(event.error)
  switch (event.verdict) {
    case 'succeeded':
      return { sign: '✓', word: 'finished', tone: 'good', ...occurrence(event), note: took }
    case null:
      return event.error === null
        ? { sign: '·', word: 'gave back', tone: 'notice', ...occurrence(event), note: 'another replica goes on' }
        : { sign: '✗', word: 'failed', tone: 'notice', ...occurrence(event), note: `will be tried again; ${why}` }
    default:
      return { sign: '✗', word: event.verdict, tone: 'bad', ...occurrence(event), note: why === '' ? took : why }
  }
}

function judged({ job, scheduledAt, untilAt, verdict, reason, count }: Events['judged']): Saying {
  const many = count > 1 ? `${count} occurrences` : ''
  const note = [many, reasonText(reason)].filter(part => part !== '').join(', ')
  return { sign: '–', word: verdict, tone: 'notice', job, scheduledAt: count > 1 ? untilAt : scheduledAt, note }
}

const reasons: { readonly [K in Reason]: string } = {
  overlap: 'the run before still had the job',
  paused: 'the job was paused',
  byHand: 'somebody asked for it',
  removed: 'the job was removed',
  window: 'outside the misfire window',
  misfire: 'a later one runs instead',
  replaced: 'made way for the next',
  attempts: 'all attempts are used up',
  takeover: 'its replica vanished, and it may not start again',
  handedBack: 'its replica stopped, and it may not start again',
  nextDue: 'the next one is due',
}

export function reasonText(reason: Reason | null): string {
  return reason === null ? '' : (reasons[reason] ?? printable(reason))
}

export function errorText(error: unknown): string {
  const { name = 'Error', message = String(error) } = (error ?? {}) as Partial<RunError>
  return cut(oneLine(withoutPasswords(name === 'OnetickError' ? message : `${name}: ${message}`)), longestError)
}

const longestError = 200

/** `8082` of the replica `8082-1f0c9a3e`: the part that a person gave it, where that tells it from the others. */
export function nameOf(replicaId: string): string {
  return printable(replicaId.replace(/-[0-9a-f]{8}$/, ''))
}

function occurrence({ job, scheduledAt }: { readonly job: string; readonly scheduledAt: Instant }): { job: string; scheduledAt: Instant } {
  return { job, scheduledAt }
}

function trouble(word: string, note: string, job = ''): Saying {
  return { sign: '!', word, tone: 'bad', note, job }
}

function runs(count: number): string {
  return count === 1 ? 'one run' : `${count} runs`
}

const longestJob = 32
const widestWord = 10

export interface Layout {
  readonly times: Times
  readonly jobWidth: number
  readonly replica?: string
  readonly paint: (tone: Tone, text: string) => string
}

/** `15:55:05.003  ▸ claimed     A  15:55:05  …` */
export function textOf(line: ToldLine, { times, jobWidth, replica, paint }: Layout): string {
  const { at, sign, word, tone, job, scheduledAt, note } = line
  const time = times.clock(at)
  const what = `${sign} ${padded(word, widestWord)}`
  const rest = [
    padded(cut(printable(job), longestJob), Math.min(jobWidth, longestJob)),
    padded(scheduledAt === null ? '' : times.short(scheduledAt, at), 8),
    note,
  ]
  const who = replica === undefined ? [] : [replica]
  if (tone === 'quiet') return paint('quiet', joined([time, ...who, what, ...rest]))
  return joined([paint('quiet', time), ...who, paint(tone, what), ...rest])
}

function joined(columns: readonly string[]): string {
  return columns.join('  ').trimEnd()
}
