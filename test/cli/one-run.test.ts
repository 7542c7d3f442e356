import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { folderWith, run } from './command.ts'
import { liveIn } from './lived-in.ts'

const postgresUrl = inject('postgresUrl')

describe.each(['sqlite', ...(postgresUrl === null ? [] : ['postgres'])])('one run, in %s', kind => {
  const namespace = `one-run-${randomUUID()}`
  let store: readonly string[] = []

  beforeAll(async () => {
    const url = kind === 'postgres' ? (postgresUrl as string) : `sqlite:${join(folderWith(), 'jobs.db')}`
    store = ['--store', url, '--namespace', namespace]
    const opened = openStore(url, { namespace })
    await liveIn(opened)
    await opened.close()
  })

  const call = (...args: readonly string[]) => run(folderWith(), [...args, ...store])
  const json = async (...args: readonly string[]) => JSON.parse((await call(...args, '--json')).stdout) as Record<string, unknown>
  const numbersOf = async (job: string, ...args: readonly string[]): Promise<number[]> => {
    const { runs } = (await json('runs', job, ...args)) as { runs: { id: number }[] }
    return runs.map(({ id }) => id)
  }

  test('its number stands in front of each line of runs', async () => {
    const [id] = await numbersOf('mail')
    expect((await call('runs', 'mail')).stdout).toMatch(new RegExp(`^ *run +occurrence .*\\n *${id} +\\d{4}-`))
  })

  test('show tells all attempts in order, whichever line is named', async () => {
    const ids = await numbersOf('mail', '--all')
    expect(ids).toHaveLength(3)
    const shown = await Promise.all(ids.map(id => call('show', String(id))))
    for (const { code, stdout } of shown) {
      expect(code).toBe(0)
      expect(stdout).toMatch(/^mail {2}\d{4}-\S+ \S+, asked for as order-1\nsucceeded: the handler returned without throwing\n/)
      expect(stdout).toMatch(
        /attempt 1 on first, fence \d+\n {2}started .+ after it was due\n {2}ended .+\n {2}end {7}leaseLost\n[\s\S]+attempt 2 on second, fence \d+, taken over from first\n/,
      )
      expect(stdout).toMatch(
        / {2}error {5}SmtpError: refused by postgres:\/\/app:\*\*\*@db\\u\{1b\}\[31m\n {8}at send \(\/app\/mail\.js:7:3\)\n/,
      )
      expect(stdout).toMatch(/attempt 3 on third, fence \d+\n[\s\S]+ {2}result {4}\{"sent":1\}\n/)
      expect(stdout).not.toMatch(/s3cret|dialling/)
      expect([...stdout].filter(character => character < ' ' && character !== '\n')).toEqual([])
    }
  })

  test('show --log prints the tail that is kept, and says where none is', async () => {
    const [id] = await numbersOf('mail')
    const { stdout } = await call('show', String(id), '--log')
    expect(stdout).toMatch(/ {2}log {7}its tail:\n {4}12:00 dialling\n {4}12:01 \\u\{1b\}\[2Jforged password=\*\*\*\n/)
    expect(stdout.match(/ {2}log {7}none is kept of it\n/g)).toHaveLength(2)
  })

  test('show --json has it whole, but for passwords', async () => {
    const [id] = await numbersOf('mail')
    const shown = await json('show', String(id), '--log')
    expect(shown).toMatchObject({
      ...{ job: 'mail', cause: 'order-1', state: 'ended', checkpoint: null, verdict: { id, end: 'succeeded', reason: null, count: 1 } },
      attempts: [
        { attempt: 1, replica: 'first', end: 'leaseLost', takenOverFrom: null, leaseUntil: null },
        { attempt: 2, replica: 'second', end: 'failed', takenOverFrom: 'first', error: { stack: expect.stringContaining('mail.js:7:3') } },
        { attempt: 3, replica: 'third', end: 'succeeded', takenOverFrom: null, result: { sent: 1 }, logTail: null },
      ],
    })
    expect(JSON.stringify(shown)).not.toContain('s3cret')
    const at = `mail@${shown['scheduledAt'] as string}`
    expect(await json('show', at)).toMatchObject({ cause: 'order-1', attempts: { length: 3 } })
    expect((await call('show', at.replace('T', ' ').replace('Z', ''))).stdout).toMatch(/^mail /)
  })

  test('show tells of a run that has not ended from its row', async () => {
    const { code, stdout } = await call('show', 'long')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^long {2}.+, asked for as by hand\nrunning on first\n\nattempt 1 on first, fence \d+\n {2}started .+\n {2}runs +for .+ so far\n {2}lease +until .+ \(in \d+ min/,
    )
    expect(stdout).toContain('checkpoint  {"page":3,"from":"amqp://app:***@mq"}')
    expect(await json('show', 'long')).toMatchObject({
      state: 'running',
      verdict: null,
      checkpoint: { page: 3, from: 'amqp://app:***@mq' },
      attempts: [{ endedAt: null }],
    })
  })

  test('explain says who had it, from whom, how late, and what its verdict means', async () => {
    const [id] = await numbersOf('mail')
    const { code, stdout } = await call('explain', String(id))
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^mail was asked for at .+, as order-1\.\nfirst claimed it, .+ at .+ after it was due, as attempt 1 with fence \d+\./,
    )
    expect(stdout).toMatch(
      /\nIt ended at .+: leaseLost\.\nsecond took it over from first, whose lease had run out at .+, at .+ as attempt 2 with fence /,
    )
    expect(stdout).toMatch(/: failed \(SmtpError: refused by postgres:\/\/app:\*\*\*@db\S*\)\.\nthird tried it again at /)
    expect(stdout).toMatch(
      /\nIts verdict is succeeded: the handler returned without throwing\.\nThe job has no schedule: it runs when asked for\.\n/,
    )
  })

  test('explain tells of what runs, and of what one line of the ledger stands for', async () => {
    expect((await call('explain', 'long')).stdout).toMatch(
      /\nJust now: running on first\.\nIts lease runs until .+ and is renewed while it runs; /,
    )
    const { runs } = (await json('runs', 'ticks')) as { runs: { id: number; count: number; scheduledAt: string }[] }
    const range = runs.find(({ count }) => count > 1)
    const { stdout } = await call('explain', String(range?.id))
    expect(stdout).toMatch(
      /^\d+ occurrences of ticks were due, from .+\nNo handler was started for it\.\nTheir verdict is superseded: .+ Why: several were due at once, /,
    )
    expect(await json('explain', `ticks@${range?.scheduledAt}`)).toMatchObject({ kind: 'run', job: 'ticks', sentences: { length: 4 } })
  })

  test('what has not run, or is not there, is told so', async () => {
    const calls: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [['show', 'idle'], /^ONETICK_USAGE: The job 'idle' has not run yet\. What comes next: npx onetick next 'idle'/],
      [['show', '999999999'], /^ONETICK_USAGE: There is no run 999999999 in namespace 'one-run-.+'.+ Run: npx onetick runs/],
      [['explain', 'nope'], /^ONETICK_JOB_UNKNOWN: There is no job 'nope' in namespace /],
      [['show', 'mail@2020-01-01T00:00:00Z'], /^ONETICK_USAGE: The job 'mail' has no run of 2020-01-01T00:00:00\.000Z\. /],
      [['show', 'mail@2020-13-01T00:00:00Z'], /^ONETICK_SCHEDULE_NEVER: /],
    ]
    for (const [args, message] of calls) {
      const { code, stdout, stderr } = await call(...args)
      expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(message)
    }
  })
})
