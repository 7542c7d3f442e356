/** The stores that tests run against: all, unless ONETICK_TEST_STORES narrows them on purpose. */
export type StoreKind = 'memory' | 'sqlite' | 'postgres'

const known: readonly StoreKind[] = ['memory', 'sqlite', 'postgres']

export const chosenStores: readonly StoreKind[] = choose(process.env['ONETICK_TEST_STORES'])

/** What a narrowed run says of itself; null when nothing is left out. */
export function narrowing(): string | null {
  const left = known.filter(kind => !chosenStores.includes(kind))
  if (left.length === 0) return null
  return `ONETICK_TEST_STORES narrows this run on purpose: ${chosenStores.join(', ')} tested, ${left.join(', ')} left out.`
}

function choose(text: string | undefined): readonly StoreKind[] {
  if (text === undefined || text.trim() === '') return known
  const asked = text.split(',').map(name => name.trim())
  const wrong = asked.filter(name => !known.some(kind => kind === name))
  if (wrong.length > 0) throw new Error(`ONETICK_TEST_STORES names ${wrong.join(', ')}; known are ${known.join(', ')}.`)
  return known.filter(kind => asked.includes(kind))
}
