import { type ChildProcess, fork } from 'node:child_process'
import type { Readable } from 'node:stream'

/** A Node process that we started, and talk with. */
export interface Child {
  send(message: object): void
  kill(signal: 'SIGTERM' | 'SIGKILL'): void
  /** Once it has ended and all that it sent and printed was heard. */
  readonly ended: Promise<Ending>
}

export interface Ending {
  readonly code: number | null
  readonly signal: string | null
}

export interface ChildListeners {
  readonly onMessage: (message: unknown) => void
  /** A line that it printed. */
  readonly onLine: (line: string, stream: 'stdout' | 'stderr') => void
}

/** Starts `module` in a process of its own. It never outlives this one: killed when this one exits, told when this one is killed. */
export function startNode(module: URL, { onMessage, onLine }: ChildListeners): Child {
  // in a group of its own: Ctrl-C in the terminal is for us, and we say when it stops (Windows has no such groups)
  const detached = process.platform !== 'win32'
  const child = fork(module, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], serialization: 'advanced', detached })
  const killWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithUs)
  child.on('message', onMessage)
  for (const stream of ['stdout', 'stderr'] as const) readLines(child[stream], line => onLine(line, stream))
  return {
    send: message => {
      // one that is gone has no use for it
      if (child.connected) child.send(message, () => undefined)
    },
    kill: signal => void child.kill(signal),
    ended: endOf(child).finally(() => process.off('exit', killWithUs)),
  }
}

/** `close` comes after `exit`, when pipes and channel have been read to their end. */
function endOf(child: ChildProcess): Promise<Ending> {
  return new Promise(resolve => {
    child.once('close', (code, signal) => resolve({ code, signal }))
    child.once('error', error => resolve({ code: null, signal: error.message }))
  })
}

/** Longer lines are cut: what a child prints must not fill our memory. */
const longestLine = 4000

function readLines(stream: Readable | null, onLine: (line: string) => void): void {
  let rest = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, longestLine)
    for (const line of lines) onLine(line.slice(0, longestLine))
  })
  stream?.on('end', () => rest !== '' && onLine(rest))
}

/** The process that started this one. */
export interface Parent {
  /** Resolves once it is on its way. */
  send(message: object): Promise<void>
  onMessage(listener: (message: unknown) => void): void
  /** It has ended, in whatever way. */
  onGone(listener: () => void): void
}

export const parent: Parent = {
  send: message =>
    new Promise(resolve => {
      if (process.send === undefined || !process.connected) resolve()
      else process.send(message, undefined, undefined, () => resolve())
    }),
  onMessage: listener => void process.on('message', listener),
  onGone: listener => void process.once('disconnect', listener),
}
