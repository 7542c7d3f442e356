import { OnetickError, quoted } from '../domain/errors.ts'
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
          `${during}: ${error.message} ${goesOn(during)} Listen to 'storeFailed' to hear of each failure.`,
          code ?? 'ONETICK_STORE_FAILED',
        )
      }
      case 'heartbeatDegraded': {
        const { error } = event as Events['heartbeatDegraded']
        return once(name, `${error.message} Listen to 'heartbeatDegraded' to hear of it in the app.`, error.code)
      }
      case 'declareFailed': {
        const { job, error } = event as Events['declareFailed']
        const text = `The job ${quoted(job)} is not scheduled: ${error.message}`
        return once(`${name} ${job}`, `${text} Listen to 'declareFailed' to hear of it in the app.`, codeOf(error))
      }
      case 'planFailed': {
        const { job, error } = event as Events['planFailed']
        const text = `The job ${quoted(job)} waits, as what is due could not be planned: ${error.message}`
        return once(`${name} ${job}`, `${text} Listen to 'planFailed' to hear of it in the app.`, codeOf(error))
      }
      case 'settled': {
        const { job, verdict, error } = event as Events['settled']
        if (verdict !== 'failed') return
        const text = `The job ${quoted(job)} failed: ${sentence(`${error?.name}: ${error?.message}`)}`
        return once(`failed ${job}`, `${text} Listen to 'settled' to hear of each run.`, 'ONETICK_RUN_FAILED')
      }
      default:
    }
  }
}

/** A replica that leaves asks no more: the store forgets it by its age. */
function goesOn(during: string): string {
  return during === 'leave' ? 'This replica leaves all the same.' : 'Onetick keeps trying.'
}

function codeOf(error: Error): string {
  return error instanceof OnetickError ? error.code : 'ONETICK_JOB_FAILED'
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
