import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { configWith, type Ended, folderWith, run, runAll } from './command.ts'

const typescript = `import { Onetick, type JobOptions } from 'onetick'
interface Every { readonly schedule: string }
const every: Every & JobOptions = { schedule: '*/5 * * * *' }
export const onetick: Onetick = new Onetick({ store: 'memory:' })
onetick.job('typed', every, () => {})
`

const faults: readonly (readonly [name: string, text: string, message: string])[] = [
  ['a.mjs', 'const a = {\n  b: }\n', "a.mjs:2: ONETICK_CONFIG: Syntax error: Unexpected token '}'."],
  ['a.ts', 'const a: number = 1\nconst b = {\n  c: }\n', 'a.ts:3: ONETICK_CONFIG: Syntax error: Unexpected token.'],
  ['a.mjs', "import { Nope } from 'onetick'\n", "a.mjs:1: ONETICK_CONFIG: Syntax error: The requested module 'onetick' does not"],
  [
    'a.mjs',
    "\nimport 'not-there/deep'\n",
    "a.mjs:2: ONETICK_CONFIG: It imports 'not-there', which is not there. Run: npm install not-there",
  ],
  ['a.ts', "\n\nimport 'not-there'\n", "a.ts:3: ONETICK_CONFIG: It imports 'not-there', which is not there. Run: npm install not-there"],
  ['a.mjs', "import './gone.mjs'\n", "a.mjs:1: ONETICK_CONFIG: It imports 'gone.mjs', which is not there."],
  ['a.mjs', "throw new Error('first\\nsecond')\n", 'a.mjs:1: ONETICK_CONFIG: It throws: Error: first.'],
  [
    'a.mjs',
    configWith("onetick.job('a', { schedule: '61 * * * *' }, () => {})"),
    "a.mjs:3: ONETICK_SCHEDULE: schedule '61 * * * *': minute",
  ],
  ['a.ts', `${typescript}onetick.job('typed', every, () => {})\n`, "a.ts:6: ONETICK_NAME_TAKEN: The task 'typed' is defined twice."],
  ['a.mjs', configWith("onetick.job('a\\u001b[31m', {}, () => {})"), "a.mjs:3: ONETICK_NAME: The job 'a\\u{1b}[31m' has a control"],
  ['a.mjs', 'export default 42\n', "ONETICK_CONFIG: a.mjs exports 'default', but no Onetick instance."],
  ['a.mjs', configWith('await onetick.start()', "{ store: 'memory:' }"), 'ONETICK_CONFIG: a.mjs starts its instance.'],
  ['a.json', '{\n  "store": "memory:",\n}\n', 'a.json:3: ONETICK_CONFIG: Syntax error: '],
  ['a.json', '{\n  "store": "memory:",\n  "jobs": {}\n}\n', 'a.json:3: ONETICK_CONFIG: It has jobs, but JSON cannot hold their handlers.'],
  ['a.json', '{\n  "shop": "memory:"\n}\n', "a.json:2: ONETICK_CONFIG: It has a field 'shop' that does not exist."],
  ['a.json', '{ "store": "memory:" }\n', 'ONETICK_CONFIG: a.json names a store, but declares no jobs.'],
]

let ended: readonly Ended[] = []

beforeAll(async () => {
  ended = await runAll(faults.map(([name, text]) => ({ files: { [name]: text }, args: ['check', '--config', name] })))
})

describe('check', () => {
  test('it lists each job with its schedule in words', async () => {
    const folder = folderWith({ 'onetick.config.mjs': configWith("onetick.job('a', { schedule: '0 3 * * *' }, () => {})") })
    const { code, stdout } = await run(folder, ['check'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^a +a +0 3 \* \* \* +At 03:00, UTC$/m)
    expect(stdout).toMatch(/onetick\.config\.mjs: one job, nothing wrong\.\n$/)
    expect(JSON.parse((await run(folder, ['check', '--json'])).stdout)).toMatchObject({
      jobs: [{ name: 'a', task: 'a', schedule: '0 3 * * *', timeZone: 'UTC', words: 'At 03:00, UTC' }],
      problems: [],
    })
    expect(existsSync(join(folder, 'jobs.db'))).toBe(false)
  })

  test('a config in TypeScript works as it stands, and leaves nothing behind', async () => {
    const folder = folderWith({ 'onetick.config.ts': typescript })
    expect(await run(folder, ['check'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^typed +typed +\*\/5/m) })
    expect(readdirSync(folder).sort()).toEqual(['node_modules', 'onetick.config.ts'])
  })

  test('a config in TypeScript gets the very package that the command is', async () => {
    const folder = folderWith({
      'onetick.config.ts': `${typescript}import { OnetickError } from 'onetick'
import { pathToFileURL } from 'node:url'
const native = await import(pathToFileURL(process.argv[1]!.replace('cli/main.js', 'index.js')).href)
if (native.OnetickError !== OnetickError) throw new Error('two copies')
`,
    })
    expect(await run(folder, ['check'])).toMatchObject({ code: 0 })
  })

  test.each(faults.map((fault, at) => [...fault, at] as const))(
    '%s: %j is told with its place and what to do',
    (_name, _text, message, at) => {
      const { code, stdout, stderr } = ended[at]!
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr.startsWith(message), stderr).toBe(true)
      expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    },
  )

  test('a job whose task nobody defines is an error; a past instant, no jobs and no store are warnings, unless strict', async () => {
    const folder = folderWith({
      'task.mjs': configWith("onetick.job('a', { schedule: 'every 1s', task: 'nope' })"),
      'past.mjs': configWith("onetick.job('a', { schedule: '2020-01-01T00:00:00Z' }, () => {})"),
      'empty.mjs': configWith('', ''),
    })
    const [task, past, empty, strict] = await Promise.all([
      run(folder, ['check', '--config', 'task.mjs']),
      run(folder, ['check', '--config', 'past.mjs']),
      run(folder, ['check', '--config', 'empty.mjs', '--json']),
      run(folder, ['check', '--config', 'empty.mjs', '--strict']),
    ])
    expect(task).toMatchObject({ code: 2, stdout: expect.stringMatching(/^error: task\.mjs: ONETICK_TASK_UNKNOWN: /m) })
    expect(past).toMatchObject({ code: 0, stdout: expect.stringMatching(/^warning: past\.mjs: ONETICK_SCHEDULE_NEVER: /m) })
    expect(JSON.parse(empty.stdout)).toMatchObject({ problems: [{ code: 'ONETICK_CONFIG' }, { code: 'ONETICK_STORE_MISSING' }] })
    expect(empty.code).toBe(0)
    expect(strict.code).toBe(2)
  })

  test('two configs in one folder are one too many', async () => {
    const text = configWith("onetick.job('a', {}, () => {})")
    const { code, stderr } = await run(folderWith({ 'onetick.config.mjs': text, 'onetick.config.js': text }), ['check'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^ONETICK_CONFIG: There are onetick\.config\.js and onetick\.config\.mjs\./)
  })
})

describe('init', () => {
  test('it writes one file, which passes check, and never overwrites', async () => {
    const folder = folderWith()
    const first = await run(folder, ['init'])
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Wrote onetick\.config\.mjs\.\n\nNext:\n[\s\S]+npx onetick dev/),
    })
    expect(readdirSync(folder).sort()).toEqual(['node_modules', 'onetick.config.mjs'])
    expect((await run(folder, ['check', '--strict'])).code).toBe(0)
    const second = await run(folder, ['init'])
    expect(second).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^ONETICK_FILE_EXISTS: 'onetick\.config\.mjs' is there already\./),
    })
  })

  test('it writes TypeScript where there is a tsconfig.json', async () => {
    const folder = folderWith({ 'tsconfig.json': '{}' })
    expect(JSON.parse((await run(folder, ['init', '--json'])).stdout)).toEqual({
      written: expect.stringMatching(/onetick\.config\.ts$/),
      store: 'sqlite:./onetick.db',
    })
    expect((await run(folder, ['check', '--strict'])).code).toBe(0)
  })

  test('a password does not go into the file', async () => {
    const folder = folderWith()
    const { stdout } = await run(folder, ['init', '--store', 'postgres://app:s3cret@db/x'])
    expect(stdout).toContain('DATABASE_URL')
    expect(readFileSync(join(folder, 'onetick.config.mjs'), 'utf8')).toContain('store: process.env.DATABASE_URL')
  })

  test("a quote in the store's name cannot break out of the file", async () => {
    const folder = folderWith()
    await run(folder, ['init', '--store', "sqlite:./it's\\x.db"])
    expect((await run(folder, ['check', '--strict'])).code).toBe(0)
  })

  test('it writes nothing for a store that there is not', async () => {
    const folder = folderWith()
    expect((await run(folder, ['init', '--store', 'redis://x'])).code).toBe(2)
    expect(readdirSync(folder)).toEqual(['node_modules'])
  })

  test('a broken file beside it is not touched', async () => {
    const folder = folderWith()
    writeFileSync(join(folder, 'onetick.config.json'), '{')
    expect((await run(folder, ['init'])).code).toBe(2)
    expect(readFileSync(join(folder, 'onetick.config.json'), 'utf8')).toBe('{')
  })
})
