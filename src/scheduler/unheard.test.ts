import { expect, test } from 'vitest'
import { OnetickError } from '../domain/errors.ts'
import { Emitter } from '../domain/events.ts'
import { unheard } from './unheard.ts'

/** What is warned of, where nobody listens. */
function warnings(): { readonly events: Emitter; readonly told: [text: string, code: string][] } {
  const told: [string, string][] = []
  return { told, events: new Emitter(unheard((text, code) => told.push([text, code]))) }
}

const unreachable = new OnetickError('ONETICK_STORE_UNREACHABLE', 'It is down.')

test('a store that cannot be reached is tried again, and a replica that leaves does not claim to', () => {
  for (const [during, says] of [
    ['claim', /Onetick keeps trying\./],
    ['leave', /^(?!.*keeps trying).*This replica leaves all the same\./],
  ] as const) {
    const { events, told } = warnings()
    for (let i = 0; i < 3; i++) events.emit('storeFailed', { during, error: unreachable, code: unreachable.code })
    expect(told).toEqual([[expect.stringMatching(says), 'ONETICK_STORE_UNREACHABLE']])
  }
})

test('a job that was not made known is told of by its own code, with what to do', () => {
  const { events, told } = warnings()
  events.emit('declareFailed', { job: 'a\u001b[2J', error: new OnetickError('ONETICK_SCHEDULE_NEVER', 'It is over.') })
  expect(told).toEqual([[expect.stringMatching(/'a\\u\{1b\}\[2J' is not scheduled: .*an instant in the future/), 'ONETICK_SCHEDULE_NEVER']])
})

test('what somebody listens to is no warning', () => {
  const { events, told } = warnings()
  events.on('storeFailed', () => undefined)
  events.emit('storeFailed', { during: 'claim', error: unreachable, code: unreachable.code })
  expect(told).toEqual([])
})

test('a failure that already ends in a full stop does not get another', () => {
  const { events, told } = warnings()
  const error = { name: 'Error', message: 'No luck.', stack: null }
  const about = { job: 'job', cause: '', scheduledAt: 0, attempt: 1, fence: 1, durationMs: 1 }
  events.emit('settled', { ...about, verdict: 'failed', error })
  expect(told[0]?.[0]).toContain('Error: No luck. Listen')
})
