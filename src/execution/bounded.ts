import type { Clock } from '../domain/clock.ts'
import { OnetickError } from '../domain/errors.ts'

/**
 * Waits for a store call no longer than `limitMs`. S7: what comes later is not looked at; the call's outcome counts as
 * unknown, and whoever sent it asks again.
 */
export function bounded<T>(clock: Clock, limitMs: number, what: string, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(limitMs, () => {
      reject(new OnetickError('ONETICK_STORE_TIMEOUT', `No answer to ${what} within ${limitMs} ms.`))
    })
    // also a store that throws before it returns a promise
    Promise.resolve().then(call).then(resolve, reject).finally(cancel)
  })
}
