import type { Json } from '../../domain/json.ts'
import type { Instant } from '../../domain/timetable.ts'

/*
 * Values on their way into a statement. Lists go as arrays written here: `pg` escapes each element of its own twice over.
 * `unnest` fills the shorter of several lists up with null, so one of nothing but null is sent as none.
 */

export function numbers<T>(items: readonly T[], of: (item: T) => number | boolean | null): string {
  return list(items, of)
}

export function texts<T>(items: readonly T[], of: (item: T) => string | null | undefined): string {
  return list(items, item => {
    const text = of(item)
    return text == null ? null : `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`
  })
}

function list<T>(items: readonly T[], write: (item: T) => string | number | boolean | null): string {
  let written = ''
  let isNull = true
  for (const item of items) {
    const value = write(item)
    if (value !== null) isNull = false
    written += written === '' ? (value ?? 'NULL') : `,${value ?? 'NULL'}`
  }
  return isNull ? '{}' : `{${written}}`
}

/** As text, so that what a text column refuses (NUL) stays an escape in it. */
export function json(value: Json | object | undefined): string | null {
  return value == null ? null : JSON.stringify(value)
}

/** JSON knows no infinity; PostgreSQL reads this as one. */
export function instant(at: Instant): number | string {
  return Number.isFinite(at) ? at : String(at)
}

/** A text column holds any character but NUL. */
export function printable(text: string | null | undefined): string | null {
  return text == null ? null : text.replaceAll('\0', '\u2400')
}
