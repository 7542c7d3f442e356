import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { failureOf, isBusy, isConnectionSpent } from './failure.ts'

/** The same result, as each driver throws it. */
function thrown(name: string, code: number, message: string): readonly (readonly [string, Error])[] {
  return [
    ['node:sqlite', Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode: code })],
    ['better-sqlite3', Object.assign(new Error(message), { code: name })],
    ['libsql', Object.assign(new Error(message), { code: name, rawCode: code })],
  ]
}

const cases = [
  { name: 'SQLITE_FULL', code: 13, becomes: 'ONETICK_STORE_UNREACHABLE', says: 'Free space' },
  { name: 'SQLITE_IOERR_WRITE', code: 778, becomes: 'ONETICK_STORE_UNREACHABLE', says: 'Check the disk' },
  { name: 'SQLITE_CANTOPEN', code: 14, becomes: 'ONETICK_STORE_UNFIT', says: 'the directory /var/lib/app does not exist' },
  { name: 'SQLITE_READONLY_DIRECTORY', code: 1544, becomes: 'ONETICK_STORE_UNFIT', says: 'write access' },
  { name: 'SQLITE_CORRUPT_INDEX', code: 779, becomes: 'ONETICK_STORE_UNFIT', says: 'Restore' },
  { name: 'SQLITE_NOTADB', code: 26, becomes: 'ONETICK_STORE_UNFIT', says: 'another file' },
]

describe.each(cases)('$name', ({ name, code, becomes, says }) => {
  test.each(thrown(name, code, 'it failed'))(`of %s is ${becomes} with its remedy`, (_driver, error) => {
    const failure = failureOf(error, '/var/lib/app/onetick.db')
    expect(failure).toMatchObject({ code: becomes, cause: error })
    expect(String(failure)).toContain(says)
    expect(String(failure)).toContain('/var/lib/app')
    expect(isBusy(error)).toBe(false)
    expect(isConnectionSpent(error)).toBe(true)
  })
})

describe.each([
  { name: 'SQLITE_BUSY', code: 5 },
  { name: 'SQLITE_BUSY_RECOVERY', code: 261 },
  { name: 'SQLITE_BUSY_SNAPSHOT', code: 517 },
  { name: 'SQLITE_LOCKED', code: 6 },
  { name: 'SQLITE_PROTOCOL', code: 15 },
])('$name', ({ name, code }) => {
  test.each(thrown(name, code, 'database is locked'))('of %s is tried again on the same connection', (_driver, error) => {
    expect(isBusy(error)).toBe(true)
    expect(isConnectionSpent(error)).toBe(false)
  })
})

test('a missing table asks for migrate', () => {
  for (const [, error] of thrown('SQLITE_ERROR', 1, 'no such table: onetick_jobs')) {
    expect(failureOf(error, 'f')).toMatchObject({ code: 'ONETICK_STORE_NOT_MIGRATED' })
    expect(isConnectionSpent(error)).toBe(false)
  }
})

test('libsql tells the code of a failed opening in its text only', () => {
  const error = new Error('ConnectionFailed("Unable to open connection to local database /x/y.db: 14")')
  expect(failureOf(error, '/x/y.db')).toMatchObject({ code: 'ONETICK_STORE_UNFIT' })
})

test('a file that cannot be opened where nothing is wrong with its place is a failure that may pass', () => {
  for (const [, error] of thrown('SQLITE_CANTOPEN', 14, 'unable to open database file')) {
    expect(failureOf(error, join(tmpdir(), 'onetick.db'))).toMatchObject({ code: 'ONETICK_STORE_UNREACHABLE', cause: error })
  }
})

test('what is not of SQLite comes back as it is', () => {
  for (const error of [new TypeError('no'), Object.assign(new Error('no'), { code: 'ENOENT' }), 'text', undefined]) {
    expect(failureOf(error, 'f')).toBe(error)
    expect(isBusy(error)).toBe(false)
    expect(isConnectionSpent(error)).toBe(false)
  }
})
