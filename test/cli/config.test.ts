import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { root } from '../house/files.ts'
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
  ['a.ts', `${typescript}onetick.job('typed', every, () => {})\n`, "a.ts:6: ONETICK_NAME_TAKEN: The job 'typed' is declared twice."],
  ['a.mjs', configWith("onetick.job('a\\u001b[31m', {}, () => {})"), "a.mjs:3: ONETICK_NAME: The job name 'a\\u{1b}[31m' has a control"],
  ['a.mjs', 'export default 42\n', "ONETICK_CONFIG: a.mjs exports 'default', but no Onetick instance."],
  ['a.mjs', configWith('await onetick.start()'), 'a.mjs:3: ONETICK_CONFIG: It starts its instance. Export it unstarted'],
  ['a.mjs', configWith('onetick.start().then(() => process.exit())'), 'a.mjs:3: ONETICK_CONFIG: It starts its instance.'],
  ['a.ts', `${typescript}void onetick.start()\n`, 'a.ts:6: ONETICK_CONFIG: It starts its instance.'],
  [
    'a.mjs',
    configWith("const other = new Onetick({ store: 'sqlite:./other.db' })\nother.start()"),
    'a.mjs:4: ONETICK_CONFIG: It starts its',
  ],
  ['a.mjs', configWith('await new Promise(() => {})'), 'a.mjs: ONETICK_CONFIG: It never finishes loading. Something awaited at its top'],
  ['a.ts', `${typescript}await new Promise(() => {})\n`, 'a.ts: ONETICK_CONFIG: It never finishes loading.'],
  ['a.mjs', configWith('process.exit(0)'), 'a.mjs:3: ONETICK_CONFIG: It ends the process. Take process.exit() out'],
  ['a.ts', `${typescript}process.exit()\n`, 'a.ts:6: ONETICK_CONFIG: It ends the process.'],
  ['a.mjs', configWith("Promise.reject(new Error('left alone'))"), 'a.mjs:3: ONETICK_CONFIG: It throws: Error: left alone.'],
  ['a.mjs', configWith('', "{ store: 'memory:', concurrency: 0 }"), "a.mjs:2: ONETICK_OPTION: concurrency is '0'"],
  ['a.mjs', configWith('', "{ store: 'memory:', lease: '1' }"), "a.mjs:2: ONETICK_DURATION: lease is '1'"],
  ['a.mjs', configWith('', "{ stroe: 'memory:' }"), "a.mjs:2: ONETICK_OPTION: Onetick has an option 'stroe'"],
  ['a.mjs', configWith('', "{ namespace: '' }"), 'a.mjs:2: ONETICK_NAME: The namespace is empty.'],
  ['a.json', '{\n  "store": "memory:",\n}\n', 'a.json:3: ONETICK_CONFIG: Syntax error: '],
  ['a.json', '{\n  "store": "memory:",\n  "jobs": {}\n}\n', 'a.json:3: ONETICK_CONFIG: It has jobs, but JSON cannot hold their handlers.'],
  ['a.json', '{\n  "shop": "memory:"\n}\n', "a.json:2: ONETICK_CONFIG: It has a field 'shop' that does not exist."],
  ['a.json', '{ "store": "memory:" }\n', 'ONETICK_CONFIG: a.json names a store, but declares no jobs.'],
]

let ended: readonly (Ended & { readonly left: readonly string[] })[] = []

beforeAll(async () => {
  const folders = faults.map(([name, text]) => folderWith({ [name]: text }))
  const done = await Promise.all(faults.map(([name], at) => run(folders[at]!, ['check', '--config', name])))
  ended = done.map((end, at) => ({ ...end, left: readdirSync(folders[at]!).sort() }))
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
    '%s: %j is told with its place and what to do, and leaves nothing behind',
    (name, _text, message, at) => {
      const { code, stdout, stderr, left } = ended[at]!
      expect({ code, stdout, left }).toEqual({ code: 2, stdout: '', left: [name, 'node_modules'] })
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

  test('a store that there is not is an error of the file, of all commands', async () => {
    const files = { 'a.mjs': configWith("onetick.job('a', {}, () => {})", "{ store: 'redis://u:s3cret@h' }") }
    const message = "a.mjs: ONETICK_STORE_URL: A store URL that starts with 'redis:' is not known."
    const [checked, json, ...others] = await runAll(
      [['check'], ['check', '--json'], ['list'], ['start'], ['dev'], ['migrate']].map(args => ({
        files,
        args: [...args, '--config', 'a.mjs'],
      })),
    )
    expect(checked).toMatchObject({ code: 2, stdout: expect.stringContaining(`\nerror: ${message}`) })
    expect(JSON.parse(json!.stdout)).toMatchObject({ problems: [{ severity: 'error', code: 'ONETICK_STORE_URL' }] })
    for (const { code, stderr } of others) expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })

  test('a config that waits for ever, ends the process or starts its instance passes no command', async () => {
    const fatal = ['await new Promise(() => {})', 'process.exit(0)', 'await onetick.start()']
    const calls = [['list'], ['runs', '--json'], ['start'], ['dev', '--for', '1s'], ['next', 'a']]
    const all = fatal.flatMap(line => calls.map(args => ({ line, args })))
    const ends = await Promise.all(
      all.map(async ({ line, args }) => {
        const folder = folderWith({ 'onetick.config.mjs': configWith(`onetick.job('a', {}, () => {})\n${line}`) })
        return { ...(await run(folder, args)), left: readdirSync(folder).sort() }
      }),
    )
    for (const { code, stdout, stderr, left } of ends) {
      expect({ code, stdout, left }, stderr).toEqual({ code: 2, stdout: '', left: ['node_modules', 'onetick.config.mjs'] })
      expect(stderr).toMatch(/ONETICK_CONFIG: It (never finishes loading|ends the process|starts its instance)\./)
      expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    }
  })

  test('an instance of another copy of the package is not started either', async () => {
    const folder = folderWith({ 'a.mjs': configWith('await onetick.start()') })
    const copy = join(folder, 'node_modules/onetick')
    rmSync(copy)
    cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(copy, 'package.json'))
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const { code, stderr } = await run(folder, ['check', '--config', 'a.mjs'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^a\.mjs:3: ONETICK_CONFIG: It starts its instance\./) })
    expect(readdirSync(folder).sort()).toEqual(['a.mjs', 'node_modules'])
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

  test('it writes the file that --config names, under the namespace that --namespace names', async () => {
    const folder = folderWith({ 'onetick.config.mjs': 'export default 1' })
    const args = ['--config', 'my jobs.ts']
    const { code, stdout } = await run(folder, ['init', ...args, '--namespace', "it's"])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Wrote my jobs\.ts\.\n[\s\S]+ npx onetick check --config 'my jobs\.ts' /),
    })
    expect(readFileSync(join(folder, 'my jobs.ts'), 'utf8')).toContain(String.raw`namespace: 'it\'s' })`)
    expect((await run(folder, ['check', '--strict', ...args])).code).toBe(0)
    expect(await run(folder, ['init', ...args])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'my jobs.ts' is there already"),
    })
    const nowhere = await run(folder, ['init', '--config', 'gone/a.mjs'])
    expect(nowhere).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'gone/a.mjs' cannot be written: there is no folder 'gone'."),
    })
    expect(readdirSync(folder).sort()).toEqual(['my jobs.ts', 'node_modules', 'onetick.config.mjs'])
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
