import { expect, test } from 'vitest'
import { portablePattern } from './portable-pattern.ts'

test.each([
  ['^[^\\p{Cc}\\u2028\\u2029]*$', '^[^\\x00-\\x1f\\x7f-\\x9f\u2028\u2029]*$'],
  ['[\\u2028-\\u202E]', '[\u2028-\u202e]'],
  ['\\u0085', '\\x85'],
  ['\\\\u2028', '\\\\u2028'],
  ['\\\\\\u2028', '\\\\\u2028'],
  ['^[A-Za-z0-9._@+-]+\\/\\d$', '^[A-Za-z0-9._@+-]+\\/\\d$'],
])('%j becomes %j', (source, portable) => {
  expect(portablePattern(source)).toBe(portable)
})
