import { type Exhausted, exhaust } from './exhaust.ts'
import { mistakes } from './mistakes.ts'
import { modelOf } from './model.ts'
import { type Setting, settings } from './setting.ts'
import { type Path, shortest } from './shortest.ts'

/** All settings, whole. False: some promise is broken. */
export function goThrough(say: (line: string) => void): boolean {
  let isKept = true
  for (const setting of settings) {
    const model = modelOf(setting)
    const found = exhaust(model)
    say(countsOf(setting, found))
    const path = found.broken === null ? null : shortest(model)
    if (path !== null) for (const line of pathOf(path)) say(line)
    isKept &&= found.broken === null
  }
  return isKept
}

/** Each planted mistake, with a shortest path to what it breaks. False: some went unnoticed. */
export function showMistakes(say: (line: string) => void): boolean {
  let isCaught = true
  for (const mistake of mistakes) {
    const setting = settings.find(({ name }) => name === mistake.setting)
    const path = setting === undefined ? null : shortest(modelOf(setting, mistake))
    say(`\n${mistake.name}, in '${mistake.setting}'`)
    for (const line of path === null ? ['not caught'] : pathOf(path)) say(line)
    isCaught &&= path?.promise === mistake.promise
  }
  return isCaught
}

export function countsOf({ name, faults }: Setting, { states, moves, paths, ends, broken }: Exhausted): string {
  const counts = `${whole(states)} states, ${whole(moves)} moves, ${paths.toPrecision(3)} paths, ${whole(ends)} ends`
  const most = `≤ ${faults} ${faults === 1 ? 'fault' : 'faults'}`
  return `exhaustive: 2 replicas, 1 job, 2 occurrences, ${most}, ${name}: ${counts}, ${broken === null ? 0 : 1} violations`
}

export function pathOf({ promise, what, faults, lines }: Path): string[] {
  return [`${promise} broken by ${faults} ${faults === 1 ? 'fault' : 'faults'} and in ${lines.length} moves: ${what}`, ...lines]
}

function whole(count: number): string {
  return count.toLocaleString('en')
}
