import type { JobRow } from '../../domain/job.ts'
import type { Instant } from '../../domain/timetable.ts'
import { MemoryBook } from '../../store/memory/book.ts'
import { claim, renew, settle } from '../../store/verbs.ts'
import type { Kept, Reply, Request } from './state.ts'

/** The store's verbs as they are shipped, or as a mistake makes them. */
export interface Verbs {
  readonly claim: typeof claim
  readonly renew: typeof renew
  readonly settle: typeof settle
}

export const shipped: Verbs = { claim, renew, settle }

/** One verb carried out, in one step, on what the store keeps. */
export function served(kept: Kept, { verb, body }: Request, verbs: Verbs, now: Instant): { kept: Kept; reply: Reply } {
  const book = new OpenBook(kept)
  switch (verb) {
    case 'claim': {
      const reply = verbs.claim(book, body, now)
      return { kept: book.kept(kept), reply: { verb, body: reply } }
    }
    case 'renew': {
      const reply = verbs.renew(book, body, now)
      return { kept: book.kept(kept), reply: { verb, body: reply } }
    }
    case 'settle': {
      const reply = verbs.settle(book, body, now)
      return { kept: book.kept(kept), reply: { verb, body: reply } }
    }
  }
}

/** The memory store's book, opened at some state. */
class OpenBook extends MemoryBook {
  constructor({ rows, lines }: Kept) {
    super()
    for (const row of rows) this.rows.set(row.id, row)
    this.lines.push(...lines)
  }

  /** An extra row is known by the fence that planned it, so that no counter has to be kept. */
  override insert(row: Omit<JobRow, 'id'>): JobRow {
    const made: JobRow = { ...row, id: row.parent?.fence ?? 1 }
    this.rows.set(made.id, made)
    return made
  }

  /** The same object where nothing has changed. */
  kept(before: Kept): Kept {
    const rows = [...this.rows.values()]
    const isSame = rows.length === before.rows.length && rows.every((row, index) => row === before.rows[index])
    const lines = this.lines.length === before.lines.length ? before.lines : [...this.lines]
    return isSame && lines === before.lines ? before : { rows: isSame ? before.rows : rows, lines }
  }
}
