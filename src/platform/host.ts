import { hostname } from 'node:os'
import type { Random } from '../domain/clock.ts'

export function hostName(): string {
  return hostname()
}

/** A replica's id: the pod's name, else the host's, plus a part of its own for each boot, so that no two are ever alike. */
export function replicaId(random: Random, name: string = process.env.POD_NAME || hostname()): string {
  return `${name.slice(0, 200)}-${random.id().replaceAll('-', '').slice(0, 8)}`
}

export type StopSignal = 'SIGTERM' | 'SIGINT'

const signalNumbers: Readonly<Record<StopSignal, number>> = { SIGINT: 2, SIGTERM: 15 }

/** Ctrl-C may come twice for one press: from the terminal, and from an npm or a shell that hands it on. */
const sameSignalMs = 150

/**
 * Calls `stop` at the first SIGTERM or SIGINT and ends the process with code 0 after it; a second signal ends it at once
 * with 128 + its number. Returns what takes the handlers away again.
 */
export function onStopSignal(stop: (signal: StopSignal) => Promise<void>): () => void {
  let stoppingSinceMs: number | null = null
  const listeners = (Object.keys(signalNumbers) as StopSignal[]).map(signal => {
    const listener = (): void => {
      const nowMs = performance.now()
      if (stoppingSinceMs !== null) {
        if (nowMs - stoppingSinceMs > sameSignalMs) process.exit(128 + signalNumbers[signal])
        return
      }
      stoppingSinceMs = nowMs
      stop(signal).then(
        () => process.exit(0),
        () => process.exit(1),
      )
    }
    process.on(signal, listener)
    return [signal, listener] as const
  })
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}

/** A warning on standard error, as Node prints its own; an app may listen to it or silence it. */
export function warn(text: string, code: string): void {
  process.emitWarning(text, { type: 'OnetickWarning', code })
}
