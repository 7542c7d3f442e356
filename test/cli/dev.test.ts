import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, test } from 'vitest'
import { folderWith, run, start } from './command.ts'

/** Two jobs that can be killed in the middle; no store of their own. */
const config = `import { setTimeout as sleep } from 'node:timers/promises'
import { Onetick } from 'onetick'
const onetick = new Onetick()
for (const name of ['short', 'long']) {
  onetick.job(name, { schedule: '* * * * *', overlap: 'queue', misfire: 'all' }, async ({ signal }) => {
    console.log('working')
    await sleep(name === 'short' ? 200 : 900, undefined, { signal })
  })
}
export default onetick
`

interface Audit {
  readonly event: 'audit'
  readonly clean: boolean
  readonly kills: number
  readonly from: string
  readonly until: string
  readonly all: Counts
  readonly jobs: readonly (Counts & { readonly name: string })[]
}

type Counts = Readonly<Record<'due' | 'ran' | 'failed' | 'skipped' | 'superseded' | 'unfinished' | 'waiting' | 'twice' | 'missed', number>>

test('on SQLite: a replica is killed, another takes over, and the audit finds nothing twice and nothing missed', async () => {
  const folder = folderWith({ 'onetick.config.mjs': config })
  const dev = start(folder, ['dev', '--every', '2s', '--kill-every', '3s'])
  await dev.printed(/ ↻ took over /)
  await dev.printed(/ · back /)
  // twice, as one press of Ctrl-C under npm comes
  dev.child.kill('SIGINT')
  dev.child.kill('SIGINT')
  const { code, stdout, stderr } = await dev.ended
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^ {2}replicas {2}8081 {2}8082 {2}8083 /m)
  expect(stdout).toMatch(/^ {2}store {5}sqlite:.+\.onetick\/dev\.db$/m)
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}808[123] {2}▸ claimed +(short|long) +\d\d:\d\d:\d\d$/m)
  expect(stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}808[123] {2}✓ finished +(short|long) +\d\d:\d\d:\d\d {2}\d.* m?s$/m)
  expect(stdout).toMatch(/ 808[123] {2}· stood by /)
  expect(stdout).toMatch(/ 808[123] {2}✗ killed +SIGKILL, while it ran (short|long)$/m)
  expect(stdout).toMatch(/ 808[123] {2}↻ took over +(short|long) +\d\d:\d\d:\d\d {2}from 808[123], attempt \d$/m)
  expect(stdout).toMatch(/ 808[123] {2}│ says +working$/m)
  expect(stdout).toMatch(/^What came due until the stop at \d\d:\d\d:\d\d\.\d{3}; what came due later is not counted\.$/m)
  const [, due, ran, takenOver] = /^due (\d+) · ran (\d+) · twice 0 · missed 0 · taken over (\d+)$/m.exec(stdout) ?? []
  expect(Number(due), stdout).toBeGreaterThanOrEqual(4)
  expect(ran).toBe(due)
  expect(Number(takenOver)).toBeGreaterThanOrEqual(1)
  expect(stdout).toContain('✓ Each occurrence ran once.')
  expect(readFileSync(join(folder, '.onetick/.gitignore'), 'utf8')).toBe('*\n')
  const ledger = await run(folder, ['runs', '--all', '--store', 'sqlite:./.onetick/dev.db'])
  expect(ledger.stdout).toMatch(/ leaseLost +1 /)
})

test.skipIf(inject('postgresUrl') === null)('on PostgreSQL: the same in a namespace of its own, as JSON, for a while', async () => {
  const folder = folderWith({ 'onetick.config.mjs': config })
  const store = inject('postgresUrl') as string
  const args = ['--replicas', '2', '--base-port', '9001', '--every', '1s', '--kill-every', '2s', '--for', '5s', '--json']
  const { code, stdout, stderr } = await run(folder, ['dev', '--store', store, ...args])
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' })
  const events = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { event: string; replica?: string })
  const audit = events.at(-1) as unknown as Audit
  expect(audit).toMatchObject({ event: 'audit', clean: true, all: { twice: 0, missed: 0 } })
  expect(audit.kills).toBeGreaterThanOrEqual(1)
  expect(audit.all.due).toBeGreaterThanOrEqual(8)
  expect([...new Set(events.map(({ replica }) => replica))].sort()).toEqual(['9001', '9002', undefined])
  expect(existsSync(join(folder, '.onetick'))).toBe(false)
})

test('a job that is behind has as many due as the others, and what became of each adds up', async () => {
  const slow = config.replace('200 : 900', '50 : 2400')
  const { code, stdout } = await run(folderWith({ 'onetick.config.mjs': slow }), [
    ...['dev', '--every', '1s', '--kill-every', '0', '--for', '5s', '--json'],
  ])
  const { jobs, all, from, until, clean } = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Audit
  expect({ code, clean }, stdout).toEqual({ code: 0, clean: true })
  expect(Date.parse(until) - Date.parse(from)).toBeGreaterThan(1000)
  const [short, long] = [jobs.find(({ name }) => name === 'short')!, jobs.find(({ name }) => name === 'long')!]
  expect(long.due).toBe(short.due)
  expect(long.due).toBeGreaterThanOrEqual(2)
  for (const of of [all, short, long]) {
    expect(of.ran + of.failed + of.skipped + of.superseded + of.unfinished + of.waiting + of.missed).toBe(of.due)
  }
})

test('a second signal ends at once, and no replica stays behind', async () => {
  const stubborn = config.replace("await sleep(name === 'short' ? 200 : 900, undefined, { signal })", 'await sleep(600_000)')
  const dev = start(folderWith({ 'onetick.config.mjs': stubborn }), [
    'dev',
    '--every',
    '1s',
    '--kill-every',
    '0',
    '--replicas',
    '1',
    '--json',
  ])
  await dev.printed(/"started"/)
  dev.child.kill('SIGTERM')
  await sleep(400)
  const children = childrenOf(dev.child.pid)
  dev.child.kill('SIGTERM')
  expect((await dev.ended).code).toBe(143)
  await sleep(100)
  expect(children).toHaveLength(1)
  expect(children.filter(isAlive)).toEqual([])
})

test('a config that fails in the replicas ends it with their code', async () => {
  const failing = `if (process.send !== undefined) throw new Error('only here')\n${config}`
  const { code, stderr } = await run(folderWith({ 'onetick.config.mjs': failing }), ['dev', '--every', '1s'])
  expect(code).toBe(2)
  expect(stderr).toBe('onetick.config.mjs:1: ONETICK_CONFIG: It throws: Error: only here. Correct the file named above.\n')
})

test('a config that hands in an opened store is refused', async () => {
  const opened = config
    .replace('new Onetick()', "new Onetick({ store: openStore('sqlite:./x.db', {}) })")
    .replace('{ Onetick }', '{ Onetick, openStore }')
  const { code, stderr } = await run(folderWith({ 'onetick.config.mjs': opened }), ['dev'])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^ONETICK_USAGE: The config hands in an opened store/) })
})

/** Linux only, as far as it tells of children; elsewhere the list is what ps prints. */
function childrenOf(parent: number | undefined): number[] {
  const listed = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return listed.trim().split(' ').filter(Boolean).map(Number)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
