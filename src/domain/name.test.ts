import { expect, test } from 'vitest'
import { checkName } from './name.ts'

test.each(['job', 'Job', 'job ', 'a}:{b', "'; DROP TABLE onetick_jobs--", '__proto__', 'Prüfung ✓', '仕事', 'x'.repeat(255)])(
  '%s is a name',
  name => {
    expect(checkName('The job', name)).toBe(name)
  },
)

test.each(['', 'a\0b', 'a\nb', 'a\x1b[31mb', 'a\u202eb', 'a\u200bb', 'x'.repeat(256), 'ü'.repeat(128), '@lease', '\ud800', 7, null])(
  '%j is refused, and printed so that it does no harm',
  name => {
    const refusal = (): string => {
      try {
        return checkName('The job', name)
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(refusal()).toMatch(/^ONETICK_NAME: The job /)
    expect(refusal()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(refusal().length).toBeLessThan(300)
  },
)
