import { assertNever } from '../domain/errors.ts'
import { type JobRow, leaseTask } from '../domain/job.ts'
import { checkKey } from '../domain/name.ts'
import { asked, type Changed, cancelled, coversAsks, nextSkipped, paused, removed, resumed } from '../domain/people.ts'
import { isAsSeen } from '../domain/planned.ts'
import type { Instant } from '../domain/timetable.ts'
import type { Book } from './book.ts'
import type { Command, ControlReply } from './store.ts'

/** What people do, over a Book: called inside one transaction, with the store's now. */
export function control(book: Book, command: Command, now: Instant): ControlReply {
  checkKeys(command)
  return { now, kind: carryOut(book, command, now) }
}

/** For every store: no ask has the schedule's own cause, the empty one, and no text reaches a database that it cannot keep. Throws `ONETICK_NAME`. */
export function checkKeys(command: Command): void {
  if ('name' in command) checkKey('The job name', command.name)
  if ('id' in command) checkKey('The id', command.id)
}

function carryOut(book: Book, command: Command, now: Instant): ControlReply['kind'] {
  switch (command.kind) {
    case 'leave':
      book.forgetReplica(command.replicaId)
      return 'done'
    case 'prune': {
      const of = { before: now - command.keepMs, keepLines: command.keepLines }
      for (let after: number | null = 0; after !== null; ) after = book.prune({ ...of, after })
      return 'done'
    }
    case 'cancel': {
      const row = book.row(command.rowId)
      return row === undefined || row.task === leaseTask ? 'unknown' : write(book, row, cancelled(row, now))
    }
  }
  const row = book.rowNamed(command.name)
  if (row === undefined || row.removedAt !== null || row.task === leaseTask) return 'unknown'
  switch (command.kind) {
    case 'trigger':
      return ask(book, row, { kind: 'manual', id: command.id, at: now, until: now, schedule: null }, now)
    case 'backfill':
      return ask(book, row, { kind: 'backfill', id: command.id, at: command.at, until: command.until, schedule: command.schedule }, now)
    case 'pause':
      book.update(paused(row, command, now))
      return 'done'
    case 'resume':
      if (row.pause === null) return 'none'
      book.update(resumed(row, now))
      return 'done'
    case 'skipNext':
      return isAsSeen(row, command.seen) ? write(book, row, nextSkipped(row, command.cursor, now)) : 'stale'
    case 'remove': {
      const asks = book.asks(row.id)
      // L3: an instant that came due after the lines were made would be left without a verdict
      if (!isAsSeen(row, command.seen) || !coversAsks(command.lines, asks) || command.nextAt <= now) return 'stale'
      for (const line of command.lines) book.append(line)
      for (const waiting of asks) book.deleteAsk(row.id, waiting.id)
      const done = removed(row, now)
      return write(book, row, { ...done, did: true })
    }
    default:
      return assertNever(command)
  }
}

/** An id asks once: nothing happens where it waits, is open, or has its verdict. */
function ask(book: Book, row: JobRow, wanted: Parameters<Book['insertAsk']>[1], now: Instant): ControlReply['kind'] {
  if (
    row.open?.cause === wanted.id ||
    book.ask(row.id, wanted.id) !== undefined ||
    book.isCauseOpen(row.id, wanted.id) ||
    book.isCauseSettled(row.id, wanted.id)
  )
    return 'none'
  book.insertAsk(row.id, wanted)
  book.update(asked(row, now))
  return 'done'
}

function write(book: Book, row: JobRow, { row: next, lines, did }: Changed): ControlReply['kind'] {
  if (!did) return 'none'
  for (const line of lines) book.append(line)
  if (next === null) book.delete(row.id)
  else book.update(next)
  return 'done'
}
