import { OnetickError } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'
import type { Store } from '../store/store.ts'
import type { Holding } from './holding.ts'

/** What a handler is given. */
export interface JobContext {
  readonly job: string
  readonly task: string
  /** The instant the schedule asked for, never "now": the same for every attempt at this occurrence. */
  readonly scheduledAt: Date
  /** Empty for the schedule's own occurrences, else the id of the run that was asked for. */
  readonly cause: string
  /** 1 for the first start of this occurrence; takeovers and retries count on. */
  readonly attempt: number
  /** Rises with every lease of the job: give it to other systems, so that they can refuse an older one. */
  readonly fence: number
  /** Aborted when the lease is lost, the run is cancelled, or the replica stops. */
  readonly signal: AbortSignal
  /** The job's own data, as declared. */
  readonly data: Json
  /** The replica whose attempt at this occurrence ended without a word. */
  readonly takenOverFrom: string | null
  /** What an earlier attempt kept last. */
  readonly lastCheckpoint: Json
  /**
   * Keeps a value for whoever has to go on. Throws `ONETICK_FENCED_OFF` where the lease is lost (nothing is written),
   * `ONETICK_OPTION` where the value is over 64 KiB as JSON.
   */
  checkpoint(value: Json): Promise<void>
}

export type Handler = (context: JobContext) => unknown

const maxCheckpointBytes = 65_536

export function contextOf(holding: Holding, owner: string, store: Store): JobContext {
  const { row } = holding
  const { open } = row
  if (open === null) throw new TypeError(`row ${row.id} has no open occurrence to run`)
  return {
    job: row.name,
    task: row.task,
    scheduledAt: new Date(open.scheduledAt),
    cause: open.cause,
    attempt: open.attempt,
    fence: row.fence,
    data: row.definition.data,
    takenOverFrom: takenOverFrom(holding),
    lastCheckpoint: open.checkpoint,
    signal: holding.signal,
    checkpoint: async value => {
      const text = JSON.stringify(value) ?? 'null'
      if (text.length > maxCheckpointBytes)
        throw new OnetickError('ONETICK_OPTION', `A checkpoint of ${text.length} characters is too long.`)
      // S5: nothing is written once trust has ended, whatever the store would say
      const isKept = !holding.signal.aborted && (await store.checkpoint({ rowId: row.id, owner, fence: row.fence }, JSON.parse(text)))
      if (!isKept) throw new OnetickError('ONETICK_FENCED_OFF', `Run ${row.name} no longer holds its lease.`)
    },
  }
}

/** An attempt more than the failures and this one: the last holder vanished. */
export function takenOverFrom({ row }: Holding): string | null {
  return row.open !== null && row.open.attempt > row.open.failures + 1 ? row.lastOwner : null
}
