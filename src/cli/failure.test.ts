import { CommanderError } from 'commander'
import { expect, test } from 'vitest'
import { OnetickError } from '../domain/errors.ts'
import { failureOf, LocatedError } from './failure.ts'

test.each([
  ['ONETICK_STORE_UNREACHABLE', 3],
  ['ONETICK_STORE_TIMEOUT', 3],
  ['ONETICK_STORE_BUSY', 3],
  ['ONETICK_STORE_NOT_MIGRATED', 2],
  ['ONETICK_CONFIG', 2],
] as const)('%s ends with code %d', (code, exit) => {
  expect(failureOf(new OnetickError(code, 'What.'))).toMatchObject({ code, exit, stack: null })
})

test('an error of another copy of the package is known by its shape', () => {
  const foreign = Object.assign(new Error('ONETICK_NAME: The job is empty. Name it.'), {
    name: 'OnetickError',
    code: 'ONETICK_NAME',
    remedy: 'Name it.',
  })
  expect(failureOf(foreign)).toMatchObject({ code: 'ONETICK_NAME', exit: 2, stack: null })
})

test('an error is one line, whatever it holds', () => {
  const { message } = failureOf(new OnetickError('ONETICK_CONFIG', 'a\nonetick: all is well\u001b[2J'))
  expect(message).toBe('ONETICK_CONFIG: a onetick: all is well\\u{1b}[2J Correct the file named above.')
})

test('the place stands in front', () => {
  const failure = failureOf(new LocatedError('onetick.config.mjs:3', new OnetickError('ONETICK_SCHEDULE', 'Bad.')))
  expect(failure.message).toMatch(/^onetick\.config\.mjs:3: ONETICK_SCHEDULE: Bad\./)
})

test('an error that nobody planned has its stack, without the password', () => {
  const failure = failureOf(new TypeError('cannot read postgres://u:s3cret@db/x'))
  expect(failure).toMatchObject({ code: null, exit: 1, message: 'TypeError: cannot read postgres://u:***@db/x' })
  expect(failure.stack).toContain('failure.test.ts')
  expect(failure.stack).not.toContain('s3cret')
})

test('a misspelt command comes with the one that was meant', () => {
  const { code, message, exit } = failureOf(
    new CommanderError(1, 'commander.unknownCommand', "error: unknown command 'lsit'\n(Did you mean list?)"),
  )
  expect({ code, exit }).toEqual({ code: 'ONETICK_USAGE', exit: 2 })
  expect(message).toBe("ONETICK_USAGE: Unknown command 'lsit'. Did you mean list? Run: npx onetick --help")
})
