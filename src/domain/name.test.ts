import { expect, test } from 'vitest'
import { checkKey, checkName } from './name.ts'

test.each(['job', 'Job', 'job ', 'a}:{b', "'; DROP TABLE onetick_jobs--", '__proto__', 'Prüfung ✓', '仕事', 'x'.repeat(255)])(
  '%s is a name',
  name => {
    expect(checkName('The job name', name)).toBe(name)
  },
)

test.each(['', 'a\0b', 'a\nb', 'a\x1b[31mb', 'a\u202eb', 'a\u200bb', 'x'.repeat(256), 'ü'.repeat(128), '@lease', '\ud800', 7, null])(
  '%j is refused, and printed so that it does no harm',
  name => {
    const refusal = (): string => {
      try {
        return checkName('The job name', name)
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(refusal()).toMatch(/^ONETICK_NAME: The job name /)
    expect(refusal()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(refusal().length).toBeLessThan(300)
  },
)

test('an empty name is called a name, and null is not called an object', () => {
  expect(() => checkName('The job name', '')).toThrow('The job name is empty.')
  expect(() => checkName('The job name', null)).toThrow('The job name is null, not text.')
})

test('the id of an ask may start with @, as nothing of Onetick’s own stands among them', () => {
  expect(checkKey('The id', '@lease')).toBe('@lease')
  for (const id of ['', 'a\0b', '\ud800', 'x'.repeat(256), 7]) expect(() => checkKey('The id', id)).toThrow(/^ONETICK_NAME: The id /)
})
