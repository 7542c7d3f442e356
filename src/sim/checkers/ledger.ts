import type { RunView } from '../../store/store.ts'
import type { History } from '../history.ts'

/** By job. */
export function linesOf(history: History): Map<string, RunView[]> {
  const jobs = new Map<string, RunView[]>()
  for (const line of history.ledger) {
    const own = jobs.get(line.job)
    if (own === undefined) jobs.set(line.job, [line])
    else own.push(line)
  }
  return jobs
}

export function finalsOf(history: History): Map<string, RunView[]> {
  return new Map([...linesOf(history)].map(([job, lines]) => [job, lines.filter(({ final }) => final)]))
}
