/**
 * The controller's own signal, made to look before it answers: a handler that kept the signal in a variable learns of a passed deadline
 * at its first question, also where the loop stood still and no timer has fired yet.
 */
export function watchfulSignal({ signal }: AbortController, look: () => void): AbortSignal {
  const aborted = getterOf('aborted')
  const reason = getterOf('reason')
  return Object.defineProperties(signal, {
    aborted: {
      get: () => {
        look()
        return aborted.call(signal)
      },
    },
    reason: {
      get: () => {
        look()
        return reason.call(signal)
      },
    },
    throwIfAborted: {
      value: () => {
        look()
        AbortSignal.prototype.throwIfAborted.call(signal)
      },
    },
  })
}

function getterOf(name: 'aborted' | 'reason'): () => unknown {
  const get = Object.getOwnPropertyDescriptor(AbortSignal.prototype, name)?.get
  if (get === undefined) throw new TypeError(`AbortSignal has no ${name}`)
  return get
}
