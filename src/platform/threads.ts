import { parentPort, Worker, workerData } from 'node:worker_threads'

/** A thread that we started, and talk with. It never keeps the process alive. */
export interface Thread {
  post(message: unknown): void
  /** Ends it, whatever it does. */
  kill(): void
}

export interface ThreadListeners {
  readonly onMessage: (message: unknown) => void
  /** Once, when it is gone; why, where it did not end by itself. */
  readonly onEnd: (error: Error | null) => void
}

/** Starts `module` in a thread of this process. Throws, or ends at once with an error, where it cannot. */
export function startThread(module: URL, data: unknown, { onMessage, onEnd }: ThreadListeners): Thread {
  const worker = new Worker(module, { workerData: data })
  worker.unref()
  let error: Error | null = null
  worker.on('message', onMessage)
  worker.on('error', thrown => {
    error = thrown instanceof Error ? thrown : new Error(String(thrown))
  })
  worker.once('exit', code => onEnd(error ?? (code === 0 ? null : new Error(`The thread ended with ${code}.`))))
  return {
    post: message => worker.postMessage(message),
    kill: () => void worker.terminate(),
  }
}

/** The other end, inside the thread. */
export function insideThread(): {
  readonly data: unknown
  post(message: unknown): void
  listen(onMessage: (message: unknown) => void): void
  end(): void
} {
  const port = parentPort
  if (port === null) throw new TypeError('this module runs in a thread only')
  return {
    data: workerData,
    post: message => port.postMessage(message),
    listen: onMessage => void port.on('message', onMessage),
    end: () => port.close(),
  }
}
