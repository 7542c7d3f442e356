import { OnetickError, quoted } from '../domain/errors.ts'

/** An option that nobody knows is a typing error, and its default would be taken in silence. Throws `ONETICK_OPTION`. */
export function refuseUnknown(of: string, options: unknown, known: readonly string[]): void {
  if (options === null || typeof options !== 'object') {
    throw new OnetickError(
      'ONETICK_OPTION',
      `${of} was given ${options === null ? 'null' : typeof options} for its options, not an object.`,
    )
  }
  for (const option of Object.keys(options)) {
    if (known.includes(option)) continue
    const remedy = `It may have ${known.join(', ')}.`
    throw new OnetickError('ONETICK_OPTION', `${of} has an option ${quoted(option)} that does not exist.`, { remedy })
  }
}
