import { expect, test } from 'vitest'
import { OnetickError } from './errors.ts'

test('an error keeps what it says as JSON, and keeps its cause to itself', () => {
  const error = new OnetickError('ONETICK_STORE_UNREACHABLE', 'It is down.', { cause: new Error('postgres://me:s3cret@host') })
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({
    error: {
      name: 'OnetickError',
      code: 'ONETICK_STORE_UNREACHABLE',
      message: `ONETICK_STORE_UNREACHABLE: It is down. ${error.remedy}`,
      remedy: error.remedy,
    },
  })
})
