import { expect, test } from 'vitest'
import { Emitter } from './events.ts'

test('a listener that throws or rejects disturbs nobody and is told of', async () => {
  const events = new Emitter()
  const failures: string[] = []
  const heard: string[] = []
  events.on('listenerFailed', ({ event }) => failures.push(event))
  events.on('overruled', () => {
    throw new Error('sync')
  })
  events.on('overruled', (async () => Promise.reject(new Error('async'))) as () => void)
  events.on('overruled', ({ job }) => heard.push(job))
  events.emit('overruled', { job: 'a' })
  await new Promise(resolve => setImmediate(resolve))
  expect(heard).toEqual(['a'])
  expect(failures).toEqual(['overruled', 'overruled'])
})

test('a listener of failures that fails itself ends there', () => {
  const events = new Emitter()
  events.on('listenerFailed', () => {
    throw new Error('again')
  })
  events.on('stopped', () => {
    throw new Error('first')
  })
  expect(() => events.emit('stopped', {})).not.toThrow()
})

test.each(['bogus', 'settled ', 'toString', '__proto__', undefined])(
  'an event %s that does not exist is refused, with those that do',
  name => {
    const listen = (): unknown => new Emitter().on(name as 'settled', () => undefined)
    expect(listen).toThrow(/^ONETICK_OPTION: There is no event '.*started, settled, .*stopped\.$/)
  },
)

test('a listener that is no function is refused at once', () => {
  expect(() => new Emitter().on('settled', 'log' as never)).toThrow(/^ONETICK_OPTION: The listener of 'settled' is string/)
})

test('a removed listener hears nothing more', () => {
  const events = new Emitter()
  const heard: string[] = []
  events.on('overruled', ({ job }) => heard.push(job))()
  events.emit('overruled', { job: 'a' })
  expect(heard).toEqual([])
})
