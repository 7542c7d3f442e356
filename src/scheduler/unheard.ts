import type { Events } from '../domain/events.ts'

/**
 * A failure that no listener of the app hears of must not pass in silence: the first of each kind becomes a warning.
 * `settled` is among them only where a run failed for good.
 */
export function unheard(warn: (text: string, code: string) => void): <K extends keyof Events>(name: K, event: Events[K]) => void {
  const told = new Set<string>()
  const once = (key: string, text: string, code: string): void => {
    if (told.has(key)) return
    told.add(key)
    warn(text, code)
  }
  return (name, event) => {
    switch (name) {
      case 'storeFailed': {
        const { during, error, code } = event as Events['storeFailed']
        return once(
          `store ${code}`,
          `${during}: ${error.message} Onetick keeps trying. Listen to 'storeFailed' to hear of each failure.`,
          code ?? 'ONETICK_STORE_FAILED',
        )
      }
      case 'declareFailed':
      case 'planFailed': {
        const { job, error } = event as Events['declareFailed']
        return once(`${name} ${job}`, `The job ${job}: ${error.message}`, 'ONETICK_JOB_FAILED')
      }
      case 'settled': {
        const { job, verdict, error } = event as Events['settled']
        if (verdict !== 'failed') return
        return once(
          `failed ${job}`,
          `The job ${job} failed: ${error?.name}: ${error?.message}. Listen to 'settled' to hear of each run.`,
          'ONETICK_RUN_FAILED',
        )
      }
      default:
    }
  }
}
