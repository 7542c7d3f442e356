import type { Random } from '../domain/clock.ts'
import type { Definition } from '../domain/job.ts'
import type { RunError } from '../domain/run.ts'
import type { RunEnd, Successor } from '../domain/settle.ts'
import type { Handler, JobContext } from './context.ts'
import type { Holding } from './holding.ts'

/** How a handler came back. */
export type Returned = { readonly kind: 'returned' } | { readonly kind: 'threw'; readonly error: RunError }

/** Calls the handler and waits for it, whatever it does. Never rejects. */
export async function run(handler: Handler, context: JobContext): Promise<Returned> {
  try {
    await handler(context)
    return { kind: 'returned' }
  } catch (error) {
    return { kind: 'threw', error: asRunError(error) }
  }
}

/**
 * What to tell the store. Also a run whose lease was not renewed in time tries to settle: until somebody else has claimed
 * the row its end still counts, and after that the fence refuses it.
 */
export function endOf(holding: Holding, returned: Returned, successor: Successor | null, random: Random): RunEnd {
  const { open, definition } = holding.row
  const error = returned.kind === 'threw' ? returned.error : null
  switch (holding.abortReason) {
    case 'cancelled':
      return { kind: 'final', verdict: 'cancelled', reason: 'byHand', error, successor }
    case 'superseded':
      return { kind: 'final', verdict: 'superseded', reason: 'replaced', error, successor }
    case 'draining':
    case 'leaseLost':
      if (returned.kind === 'threw') return { kind: 'handBack', started: true, error, successor }
      break
    case null:
      if (returned.kind === 'threw') {
        return { kind: 'retry', backoffMs: backoffMs(definition, open?.failures ?? 0, random), error, successor }
      }
  }
  return { kind: 'final', verdict: 'succeeded', successor }
}

/** Doubles with each failure up to the limit; a fifth either way, so that retries of many jobs spread. */
function backoffMs(definition: Definition, failures: number, random: Random): number {
  const base = Math.min(definition.backoffMs * 2 ** failures, definition.backoffMaxMs)
  return Math.round(base * (0.8 + 0.4 * random.next()))
}

const maxMessage = 2000
const maxStack = 8000

function asRunError(thrown: unknown): RunError {
  try {
    if (thrown instanceof Error) {
      return { name: cut(thrown.name, 200), message: cut(thrown.message, maxMessage), stack: cut(thrown.stack ?? '', maxStack) || null }
    }
    return { name: 'Error', message: cut(String(thrown), maxMessage), stack: null }
  } catch {
    return { name: 'Error', message: 'The handler threw something that cannot be read.', stack: null }
  }
}

function cut(text: unknown, length: number): string {
  // a database's text takes neither NUL nor half a surrogate pair
  return String(text).slice(0, length).replaceAll('\0', '').toWellFormed()
}
