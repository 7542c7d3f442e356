import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { configWith, folderWith, run, start } from './command.ts'

const quick = configWith("onetick.job('quick', { schedule: 'every 1s' }, () => console.log('at work'))")
const endless = configWith("onetick.job('endless', { schedule: 'every 1s' }, () => new Promise(resolve => setTimeout(resolve, 600_000)))")

test('what init writes runs as it stands', async () => {
  const folder = folderWith()
  await run(folder, ['init'])
  const replica = start(folder, ['start'])
  await replica.printed(/ ✓ finished +hello /)
  replica.child.kill('SIGTERM')
  const { code, stdout } = await replica.ended
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Replica \S+: one job of onetick\.config\.mjs on sqlite:/)
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}▸ claimed +hello +\d\d:\d\d:\d\d$/m)
  expect(stdout).toMatch(/^hello, this is the run of /m)
  expect(stdout).toMatch(/ · stopped\n$/)
})

test('with --json each event is a line of JSON', async () => {
  const replica = start(folderWith({ 'onetick.config.mjs': quick }), ['start', '--json'])
  await replica.printed(/"settled"/)
  replica.child.kill('SIGINT')
  const { code, stdout } = await replica.ended
  expect(code).toBe(0)
  const events = stdout
    .trimEnd()
    .split('\n')
    .filter(line => line !== 'at work')
    .map(line => JSON.parse(line) as { event: string })
  expect(events[0]).toMatchObject({
    event: 'started',
    job: 'quick',
    attempt: 1,
    at: expect.stringMatching(/Z$/),
    scheduledAt: expect.any(String),
  })
  expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['settled', 'draining', 'stopped']))
})

test('the first signal drains, the second ends at once with 128 + its number', async () => {
  const replica = start(folderWith({ 'onetick.config.mjs': endless }), ['start'])
  await replica.printed(/ ▸ claimed /)
  replica.child.kill('SIGTERM')
  await replica.printed(/ · draining +waits for one run/)
  await sleep(300)
  replica.child.kill('SIGTERM')
  expect((await replica.ended).code).toBe(143)
})

test('--drain-timeout bounds the wait, and what does not end is left to others', async () => {
  const heeding = configWith(
    "onetick.job('long', { schedule: 'every 1s' }, ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason))))",
  )
  const replica = start(folderWith({ 'onetick.config.mjs': heeding }), ['start', '--drain-timeout', '500ms'])
  await replica.printed(/ ▸ claimed /)
  const from = performance.now()
  replica.child.kill('SIGTERM')
  expect((await replica.ended).code).toBe(0)
  expect(performance.now() - from).toBeLessThan(4000)
})

test('with --quiet only trouble is told', async () => {
  const replica = start(folderWith({ 'onetick.config.mjs': quick }), ['start', '--quiet'])
  await replica.printed(/at work/)
  replica.child.kill('SIGTERM')
  expect((await replica.ended).stdout.replaceAll('at work\n', '')).toBe('')
})

test('a store that cannot be reached is tried again; a config without one ends with code 2', async () => {
  const gone = start(folderWith({ 'onetick.config.mjs': quick }), ['start', '--store', 'postgres://app@127.0.0.1:1/x'])
  await gone.printed(/ ! store +migrate: ONETICK_STORE_UNREACHABLE: /)
  gone.child.kill('SIGTERM')
  expect((await gone.ended).code).toBe(0)
  const none = folderWith({ 'onetick.config.mjs': configWith("onetick.job('a', {}, () => {})", '') })
  expect(await run(none, ['start'])).toMatchObject({ code: 2, stderr: expect.stringMatching(/^ONETICK_STORE_MISSING: /) })
})
