import { beforeAll, expect, test } from 'vitest'
import { configWith, type Ended, folderWith, run, runAll } from './command.ts'

const commands = ['init', 'start', 'dev', 'list', 'leases', 'next', 'runs', 'show', 'explain', 'check', 'doctor', 'migrate']

test('help names every command, and each has a help of its own with an example', async () => {
  const folder = folderWith()
  const [whole, ...each] = await Promise.all([run(folder, []), ...commands.map(name => run(folder, [name, '--help']))])
  expect(whole).toMatchObject({ code: 0, stderr: '' })
  for (const [at, name] of commands.entries()) {
    expect(whole?.stdout).toMatch(new RegExp(`^ +${name} `, 'm'))
    expect(each[at]).toMatchObject({ code: 0, stderr: '' })
    expect(each[at]?.stdout).toMatch(new RegExp(`Usage: onetick ${name}[\\s\\S]+Examples?:\\n +onetick ${name}`))
  }
})

test('help shows no option that the command does not take', async () => {
  const [dev, list] = await Promise.all([run(folderWith(), ['dev', '--help']), run(folderWith(), ['list', '--help'])])
  expect(dev?.stdout).not.toContain('--namespace')
  expect(dev?.stdout).toContain('--store <url>')
  expect(list?.stdout).toContain('--namespace <name>')
})

const misuses: readonly (readonly [args: readonly string[], message: string])[] = [
  [['lsit'], "ONETICK_USAGE: Unknown command 'lsit'. Did you mean list? Run: npx onetick --help"],
  [['list', '--stoer', 'x'], "ONETICK_USAGE: Unknown option '--stoer'. Did you mean --store? Run: npx onetick list --help"],
  [['next'], "ONETICK_USAGE: Missing required argument 'job|schedule'. Run: npx onetick next --help"],
  [['runs', '-n', '0', '--store', 'memory:'], "ONETICK_USAGE: -n is '0'. Give a whole number from 1 to 1000."],
  [['runs', '-n', '1e3', '--store', 'memory:'], "ONETICK_USAGE: -n is '1e3'. Give a whole number from 1 to 1000."],
  [['migrate', '--plan', '--sql'], "ONETICK_USAGE: Option '--plan' cannot be used with option '--sql'. Run: npx onetick migrate --help"],
  [['help', 'nope'], 'ONETICK_USAGE: No command was named, or one that does not exist. Run: npx onetick --help'],
  [['--quiet'], 'ONETICK_USAGE: No command was named, or one that does not exist. Run: npx onetick --help'],
  [['list', '--namespace', '', '--store', 'memory:'], 'ONETICK_NAME: The namespace is empty. '],
  [['init', '--namespace', 'a\tb'], "ONETICK_NAME: The namespace 'a\\u{9}b' has a control, "],
  [['next', 'every 1s', '--namespace', '\u001b[31mred'], "ONETICK_NAME: The namespace '\\u{1b}[31mred' has a control, "],
  [
    ['next', '2030-13-01T00:00:00Z'],
    "ONETICK_SCHEDULE_NEVER: schedule '2030-13-01T00:00:00Z': the calendar has no such day. Name a day that exists, as in",
  ],
  [['next', '2030-01-01'], "ONETICK_SCHEDULE: schedule '2030-01-01': this is not a date and time. Write 2027-01-01T09:00:00Z"],
  [['next', '2030-01-01T25:00:00Z'], "ONETICK_SCHEDULE: schedule '2030-01-01T25:00:00Z': a day has no such time. Write a time from"],
  [
    ['next', 'nightly'],
    "ONETICK_CONFIG_MISSING: 'nightly' is no schedule, and there is no config in which to look for a job. Write a schedule",
  ],
  [['next', ''], 'ONETICK_USAGE: What was asked for is empty. Name a job, or write a schedule'],
  [['check', '--config', ''], 'ONETICK_USAGE: --config is empty. Name a file after it.'],
  [['check', '--config', '.'], "ONETICK_CONFIG: '.' is not a file. Name a .ts,"],
  [
    ['check', '--config', 'node_modules/onetick/README.md'],
    "ONETICK_CONFIG: 'node_modules/onetick/README.md' is of a kind that cannot be loaded.",
  ],
  [['init', '--config', 'jobs.json'], "ONETICK_USAGE: --config is 'jobs.json'. Name a .ts, .mts, .js or .mjs file to write."],
  [['list', '--store', 'mongodb://u:s3cret@h'], "ONETICK_STORE_URL: A store URL that starts with 'mongodb:' is not known."],
  [['next', '* * * * *', '--tz', 'Mars/X'], "ONETICK_TIME_ZONE: time zone 'Mars/X'"],
  [['next', '61 * * * *'], "ONETICK_SCHEDULE: schedule '61 * * * *': minute '61' is outside 0-59."],
  [['list'], 'ONETICK_CONFIG_MISSING: No store was named, and there is no onetick.config.{ts,js,mjs,json} here.'],
  [['start'], 'ONETICK_CONFIG_MISSING: There is no onetick.config.{ts,js,mjs,json} in'],
  [['check', '--config', 'gone.mjs'], "ONETICK_CONFIG_MISSING: There is no file 'gone.mjs'."],
  [['list', '--store', 'sqlite:./gone.db'], 'ONETICK_STORE_NOT_MIGRATED:'],
]

const misnumbers: readonly (readonly string[])[] = [
  ['start', '--concurrency', 'x'],
  ['start', '--drain-timeout', '3'],
  ['dev', '--replicas', '0'],
  ['dev', '--replicas', '21'],
  ['dev', '--base-port', '65535'],
  ['dev', '--kill-every', '5'],
  ['dev', '--every', '0s'],
  ['dev', '--for', 'soon'],
  ['dev', '--namespace', 'mine'],
  ['dev', '--store', 'memory:'],
]

const one = { 'onetick.config.mjs': configWith("onetick.job('a', { schedule: 'every 1s' }, () => {})") }
let ended: readonly Ended[] = []

beforeAll(async () => {
  ended = await runAll([...misuses.map(([args]) => ({ args })), ...misnumbers.map(args => ({ args, files: one }))])
})

test.each(misuses)('%j ends with code 2 and one line that says what to do', (args, message) => {
  const { code, stdout, stderr } = ended[misuses.findIndex(misuse => misuse[0] === args)]!
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr.startsWith(message), stderr).toBe(true)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
})

test.each(misnumbers.map((args, at) => [args.join(' '), misuses.length + at] as const))('%s ends with code 2', (_args, at) => {
  const { code, stdout, stderr } = ended[at]!
  expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^ONETICK_[A-Z]+: /)
})

test('a store that cannot be reached ends with code 3', async () => {
  const { code, stderr } = await run(folderWith(), ['list', '--store', 'postgres://app@127.0.0.1:1/x'])
  expect(code).toBe(3)
  expect(stderr).toMatch(/^ONETICK_STORE_UNREACHABLE: postgres:\/\/app@127\.0\.0\.1:1\/x/)
})

test('with --json, errors are JSON on stderr', async () => {
  const { code, stdout, stderr } = await run(folderWith(), ['lsit', '--json'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(JSON.parse(stderr)).toEqual({
    error: { code: 'ONETICK_USAGE', message: "ONETICK_USAGE: Unknown command 'lsit'. Did you mean list? Run: npx onetick --help" },
  })
})

test('no command ever prints a password', async () => {
  const url = 'postgres://app:s3cret-word@127.0.0.1:1/x'
  const folder = folderWith({
    'throws.mjs': `throw new Error('cannot connect to ${url}')`,
    'job.mjs': configWith("onetick.job('a', { schedule: 'every 1s' }, () => {})", `{ store: '${url}' }`),
  })
  const calls = [
    ...['list', 'leases', 'runs', 'migrate'].map(name => [name, '--store', url]),
    ['list', url],
    [url],
    ['next', url],
    ['next', 'nothing', '--store', url],
    ['check', '--config', 'throws.mjs'],
    ['list', '--config', 'job.mjs'],
    ['check', '--config', 'job.mjs', '--json'],
    ['dev', '--config', 'job.mjs', '--for', '1s'],
    ['list', '--store', `mysql${url}`],
    ['list', '--store', url, '--json'],
    ['show', '1', '--store', url],
    ['explain', url],
    ['explain', '1', '--store', url],
    ['doctor', '--store', url],
    ['doctor', '--config', 'job.mjs', '--json'],
  ]
  const ended = await Promise.all([...calls.map(args => run(folder, args)), run(folder, ['init', '--store', url])])
  for (const { stdout, stderr } of ended) expect(stdout + stderr).not.toContain('s3cret')
  expect(ended.slice(0, 4).map(({ code }) => code)).toEqual([3, 3, 3, 3])
})
