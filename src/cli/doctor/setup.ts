import { readFileSync } from 'node:fs'
import type { Onetick } from '../../scheduler/onetick.ts'
import { lengthText } from '../times.ts'
import { type Check, fail, ok, unknown, warn } from './check.ts'

/** This process's Node against what the package asks for. */
export function nodeCheck(running: string = process.versions.node): Check {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { engines: { node: string } }
  const oldest = manifest.engines.node.replace(/^>=\s*/, '')
  return isBefore(running, oldest)
    ? fail('node', `Node ${running} is older than ${oldest}.`, `Run Node ${oldest} or later.`)
    : ok('node', `Node ${running}; ${oldest} and later are supported.`)
}

function isBefore(version: string, oldest: string): boolean {
  const [[major = 0, minor = 0], [wantedMajor = 0, wantedMinor = 0]] = [version, oldest].map(text => text.split('.').map(Number)) as [
    number[],
    number[],
  ]
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor)
}

/** What Kubernetes waits after SIGTERM where nobody says otherwise. */
const defaultGraceMs = 30_000
/** For the store's last calls, and for the process to end. */
const spareMs = 5000

/** Null: the config declares nothing, so nothing can be known of a replica's stop. */
export function drainCheck(drain: Onetick['drain'] | null): Check {
  if (drain === null) return unknown('drain', 'No config says how long a replica takes to stop.')
  const { drainMs, graceMs } = drain
  const sumMs = drainMs + graceMs
  const text = `stop() may take ${lengthText(sumMs)}: drainTimeout ${lengthText(drainMs)} and abortGrace ${lengthText(graceMs)}.`
  if (sumMs <= defaultGraceMs) return ok('drain', `${text} Kubernetes waits ${lengthText(defaultGraceMs)} before it kills.`)
  const needed = Math.ceil((sumMs + spareMs) / 1000)
  return warn(
    'drain',
    `${text} Kubernetes kills after ${lengthText(defaultGraceMs)} unless the pod says otherwise, and what still runs is then taken over after a lease.`,
    `Set terminationGracePeriodSeconds: ${needed} in the pod, or a shorter drainTimeout.`,
  )
}
