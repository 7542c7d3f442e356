import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { Onetick } from '../../src/index.ts'
import { openStore } from '../../src/store/open.ts'
import { configWith, folderWith, run, runAll } from './command.ts'

const hostile = 'evil\n00:00:00.000  ✓ finished\u001b[2J'
let home = ''
let store = ''

/** A database in which one job ran, one failed, one is paused, one has a name from somewhere else. */
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'onetick-lists-'))
  store = `sqlite:${join(home, 'jobs.db')}`
  const onetick = new Onetick({ store, lease: '3s', replica: 'pod' })
  onetick.job('good', { schedule: 'every 1s' }, () => {})
  onetick.job('bad', { schedule: 'every 1s' }, () => {
    throw new Error('no\n00:00:00.000  ✓ finished  good\u001b[31m postgres://u:s3cret@h')
  })
  onetick.job('nightly', { schedule: '30 2 * * *', timeZone: 'Europe/Berlin' }, () => {})
  const ended = new Promise<void>(resolve => {
    const seen = new Set<string>()
    onetick.on('settled', ({ job }) => seen.add(job).size === 2 && resolve())
  })
  await onetick.start()
  await ended
  await onetick.stop()
  const opened = openStore(store, {})
  const { now } = await opened.read('status', {})
  const declared = onetick.declared.find(({ name }) => name === 'nightly')!
  const replica = { id: 'other-0123abcd', host: 'h', version: '0', release: 'r', role: 'all', tasks: ['nightly'], capacity: 1 } as const
  await opened.declare({
    replica,
    liveForMs: 30_000,
    jobs: [{ ...declared, name: hostile, upcoming: [now + 86_400_000, now + 172_800_000] }],
  })
  await opened.control({ kind: 'pause', name: 'nightly', until: Number.POSITIVE_INFINITY, by: 'ann', why: 'drill' })
  await opened.close()
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

function lines(stdout: string): string[] {
  return stdout.trimEnd().split('\n')
}

describe('what is in the store', () => {
  test('list says schedule, state, last end and what is next', async () => {
    const { code, stdout } = await run(folderWith(), ['list', '--store', store])
    expect(code).toBe(0)
    expect(lines(stdout)[0]).toMatch(/^job +task +schedule +in words +state +last end +next$/)
    expect(stdout).toMatch(/^good +good +every 1s +Every second +(idle|due) \(orphaned\) +succeeded .+ ago|now/m)
    expect(stdout).toMatch(/^bad .+ failed /m)
    expect(stdout).toMatch(/^nightly +nightly +30 2 \* \* \* +At 02:30, Europe\/Berlin time +paused by ann: drill +never +when resumed$/m)
    expect(stdout).toContain('None of them knows the task of the orphaned jobs.')
  })

  test('list --json has a stable shape', async () => {
    const { stdout } = await run(folderWith(), ['list', '--store', store, '--json'])
    const { now, jobs } = JSON.parse(stdout) as { now: string; jobs: Record<string, unknown>[] }
    expect(now).toMatch(/^\d{4}-\d\d-\d\dT.+Z$/)
    const nightly = jobs.find(({ name }) => name === 'nightly')
    expect(nightly).toEqual({
      name: 'nightly',
      task: 'nightly',
      schedule: '30 2 * * *',
      timeZone: 'Europe/Berlin',
      words: 'At 02:30, Europe/Berlin time',
      state: 'paused',
      runningOn: null,
      orphaned: false,
      nextAt: expect.stringMatching(/T0[01]:30:00\.000Z$/),
      lastEndedAt: null,
      lastVerdict: null,
      lastOwner: null,
      asked: 0,
      pause: { since: expect.any(String), until: null, by: 'ann', why: 'drill' },
      removedAt: null,
    })
    expect(jobs.find(({ name }) => name === 'bad')).toMatchObject({
      orphaned: true,
      lastVerdict: 'failed',
      lastEndedAt: expect.any(String),
    })
  })

  test('leases are told in the terms of cron_with_leases', async () => {
    const { code, stdout } = await run(folderWith(), ['leases', '--store', store])
    expect(code).toBe(0)
    expect(lines(stdout)[0]).toMatch(/^jobId +owner +acquiredAt +expiredAt +held$/)
    expect(stdout).toMatch(/^good +pod-[0-9a-f]{8} +\d{4}-\S+ \S+ +\d{4}-\S+ \S+ +free$/m)
    const json = JSON.parse((await run(folderWith(), ['leases', '--store', store, '--json'])).stdout) as { leases: object[] }
    expect(json.leases).toContainEqual({
      jobId: 'good',
      owner: expect.stringMatching(/^pod-/),
      acquiredAt: expect.stringMatching(/Z$/),
      expiredAt: expect.stringMatching(/Z$/),
      held: false,
      fence: expect.any(Number),
    })
  })

  test('runs are told newest first, with verdict, replica and error', async () => {
    const { code, stdout } = await run(folderWith(), ['runs', '--store', store])
    expect(code).toBe(0)
    expect(lines(stdout)[0]).toMatch(/^ *run +occurrence +job +end +attempt +replica +late +took$/)
    expect(stdout).toMatch(/ good +succeeded +1 +pod-[0-9a-f]{8} +\d+ ms +\d+ ms$/m)
    expect(stdout).toMatch(
      / bad +failed +1 +pod-[0-9a-f]{8} .+ Error: no 00:00:00\.000 ✓ finished good\\u\{1b\}\[31m postgres:\/\/u:\*\*\*@h$/m,
    )
  })

  test('runs of one job, and as JSON', async () => {
    const { stdout } = await run(folderWith(), ['runs', 'bad', '-n', '1', '--store', store, '--json'])
    const { runs } = JSON.parse(stdout) as { runs: object[] }
    expect(runs).toEqual([
      {
        ...{ id: expect.any(Number), job: 'bad', cause: '', scheduledAt: expect.any(String), untilAt: expect.any(String), count: 1 },
        ...{ attempt: 1, fence: expect.any(Number), replica: expect.stringMatching(/^pod-/), startedAt: expect.any(String) },
        ...{ endedAt: expect.any(String), end: 'failed', final: true, reason: null, takenOver: false, latenessMs: expect.any(Number) },
        ...{ durationMs: expect.any(Number), error: { name: 'Error', message: expect.stringMatching(/^no\n.+ postgres:\/\/u:\*\*\*@h$/) } },
      },
    ])
    const unknown = await run(folderWith(), ['runs', 'nope', '--store', store])
    expect(unknown).toMatchObject({
      code: 2,
      stderr: `ONETICK_JOB_UNKNOWN: There is no job 'nope' in namespace 'default' of ${store}. Run: npx onetick list\n`,
    })
  })

  test('names and messages from the store can neither forge a line nor steer the terminal', async () => {
    const calls = [['list'], ['leases'], ['runs'], ['next', hostile]]
    for (const { code, stdout } of await runAll(calls.map(args => ({ args: [...args, '--store', store] })))) {
      expect(code).toBe(0)
      expect([...stdout].filter(character => character < ' ' && character !== '\n')).toEqual([])
      expect(lines(stdout).filter(line => line.startsWith('00:00:00.000'))).toEqual([])
    }
  })

  test('where nobody listens on a terminal there are no colours', async () => {
    expect((await run(folderWith(), ['list', '--store', store], { FORCE_COLOR: '' })).stdout).not.toContain('\u001b')
  })

  test('--quiet leaves only the rows, --tz says the zone', async () => {
    const { stdout } = await run(folderWith(), ['leases', '--store', store, '--quiet', '--tz', 'Asia/Kolkata'])
    expect(lines(stdout)).toHaveLength(4)
    expect(stdout).not.toMatch(/^jobId/)
  })

  test('the environment names a store too, and another namespace is another world', async () => {
    const [named, fallback, elsewhere] = await Promise.all([
      run(folderWith(), ['leases', '--json'], { ONETICK_STORE: store }),
      run(folderWith(), ['leases', '--json'], { DATABASE_URL: store }),
      run(folderWith(), ['list', '--namespace', 'elsewhere'], { ONETICK_STORE: store }),
    ])
    expect((JSON.parse(named.stdout) as { leases: object[] }).leases).toHaveLength(4)
    expect(fallback.stdout.length).toBe(named.stdout.length)
    expect(elsewhere).toMatchObject({ code: 0, stdout: expect.stringContaining('npx onetick start') })
  })

  test('a variable that names no store is named, and what it holds is not', async () => {
    const calls = [['list'], ['runs', '--json'], ['next', 'nightly'], ['migrate']]
    for (const variable of ['DATABASE_URL', 'ONETICK_STORE']) {
      for (const { code, stdout, stderr } of await Promise.all(
        calls.map(args => run(folderWith(), args, { [variable]: 'mysql://u:s3cret@h/x' })),
      )) {
        expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' })
        expect(stderr).toContain(`${variable}: ONETICK_STORE_URL: A store URL that starts with 'mysql:' is not known.`)
        expect(stderr).not.toContain('s3cret')
      }
    }
    const app = { 'onetick.config.mjs': configWith("onetick.job('a', {}, () => {})", '') }
    expect((await run(folderWith(app), ['start'], { DATABASE_URL: 'mysql://h/x' })).stderr).toMatch(/^DATABASE_URL: ONETICK_STORE_URL: /)
  })

  test('where nothing is, they say where they looked', async () => {
    const where = `namespace 'typo' of ${store}`
    const calls = [['list'], ['leases'], ['runs'], ['runs', 'good'], ['next', 'good']]
    const ends = await Promise.all(calls.map(args => run(folderWith(), [...args, '--store', store, '--namespace', 'typo'])))
    for (const { code, stdout } of ends.slice(0, 3)) {
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.stringContaining(`No jobs yet in ${where}.\n--namespace says which one;`),
      })
    }
    for (const { code, stderr } of ends.slice(3)) {
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`There is no job 'good' in ${where}.`) })
    }
    const own = folderWith({ 'onetick.config.mjs': configWith('', `{ store: '${store}', namespace: 'own' }`) })
    expect((await run(own, ['list'])).stdout).toContain(`No jobs yet in namespace 'own' of ${store}.\n\nDeclare one in onetick.config.mjs:`)
    const json = folderWith({ 'onetick.config.json': JSON.stringify({ store, namespace: 'own' }) })
    expect((await run(json, ['list'])).stdout).toContain(`No jobs yet in namespace 'own' of ${store}.`)
    expect((await run(folderWith(), ['list', '--store', 'memory:'])).stdout).toContain("A memory store is its process's own")
  })
})

describe('next', () => {
  test('a schedule needs neither store nor config, and clock changes are marked', async () => {
    const args = ['--tz', 'Europe/Berlin']
    const [{ code, stdout }, fold] = await Promise.all([
      run(folderWith(), ['next', '30 2 25 10 *', '-n', '2', '--json', ...args]),
      run(folderWith(), ['next', '30 2 * 3,10 *', '-n', '70', ...args]),
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ job: null, schedule: '30 2 25 10 *', timeZone: 'Europe/Berlin', next: { length: 2 } })
    expect(fold.stdout).toMatch(/02:30:00 comes twice: this is the first pass/)
    expect(fold.stdout).toMatch(/02:30:00 does not exist: runs when the clock has jumped over it/)
  })

  test('a job is looked for in the config, then in the store', async () => {
    const declared =
      "import { Onetick } from 'onetick'\nexport const onetick = new Onetick()\nonetick.job('mine', { schedule: 'every 90s' }, () => {})\n"
    const folder = folderWith({ 'onetick.config.mjs': declared })
    expect((await run(folder, ['next', 'mine', '-n', '1'])).stdout).toMatch(/^mine: Every 1 minute 30 seconds\n/)
    const stored = await run(folder, ['next', 'nightly', '--store', store, '--tz', 'Asia/Kolkata'])
    expect(stored.stdout).toMatch(/^nightly: At 02:30, Europe\/Berlin time\n\nlocal time +UTC +Asia\/Kolkata +away\n/)
    expect(await run(folder, ['next', 'nope', '--store', store])).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('migrate', () => {
  test('it plans, prints, applies once, and then has nothing to do', async () => {
    const folder = folderWith()
    const args = ['migrate', '--store', 'sqlite:./new.db']
    expect((await run(folder, [...args, '--plan'])).stdout).toMatch(
      /^sqlite:.+new\.db would go from schema version 0 to \d+, by \d+ statements:/,
    )
    const { stdout: sql } = await run(folder, [...args, '--sql'])
    expect(sql).toMatch(/^-- Onetick: schema version 0 to \d+\.\n[\s\S]+create table [\s\S]+cron_with_leases[\s\S]+;\n$/)
    expect((await run(folder, args)).stdout).toMatch(/went from schema version 0 to \d+/)
    expect((await run(folder, args)).stdout).toMatch(/is up to date \(schema version \d+\)/)
    expect(JSON.parse((await run(folder, [...args, '--json'])).stdout)).toMatchObject({ store: 'sqlite', applied: false, statements: [] })
    expect((await run(folder, ['list', '--store', 'sqlite:./new.db'])).stdout).toContain("No jobs yet in namespace 'default' of sqlite:")
  })

  test('where it could not be done, it is not planned either, and nothing is made', async () => {
    const folder = folderWith()
    const args = ['migrate', '--store', 'sqlite:./gone/new.db']
    for (const { code, stdout, stderr } of await Promise.all([['--plan'], ['--sql'], []].map(more => run(folder, [...args, ...more])))) {
      expect(stderr).toMatch(
        /^ONETICK_STORE_UNFIT: .+: the directory .+gone does not exist\. Create it, or name a file in another one\.\n$/,
      )
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    }
    expect(readdirSync(folder)).toEqual(['node_modules'])
  })

  test.skipIf(inject('postgresUrl') === null)('--sql prints the grants, also where the tables are up to date', async () => {
    const args = ['migrate', '--store', inject('postgresUrl') as string]
    expect((await run(folderWith(), args)).code).toBe(0)
    const { stdout } = await run(folderWith(), [...args, '--sql'])
    expect(stdout).toMatch(/^-- Onetick: up to date, schema version \d+\.\n\n-- grant usage on schema /)
    expect(stdout.match(/^-- grant .+ to ROLE$/gm)).toHaveLength(3)
    expect((await run(folderWith(), [...args, '--plan'])).stdout).toMatch(/ is up to date \(schema version \d+\)\.\n$/)
  })
})
