import { quoted } from '../domain/errors.ts'
import { usage } from './failure.ts'

/** The number that an option was given. Throws `ONETICK_USAGE`. */
export function wholeNumber(option: string, text: string, { min, max }: { readonly min: number; readonly max: number }): number {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw usage(`${option} is ${quoted(text)}.`, `Give a whole number from ${min} to ${max}.`)
}
