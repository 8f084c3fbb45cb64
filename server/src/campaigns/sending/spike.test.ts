import { expect, test } from 'vitest'
import { isSpike } from './spike.ts'

test.each([
  ['few emails', { attempted: 199, bounced: 199, complained: 199 }, false],
  ['bounces just below a tenth', { attempted: 1_000, bounced: 99, complained: 0 }, false],
  ['a tenth of bounces', { attempted: 1_000, bounced: 100, complained: 0 }, true],
  ['complaints just below half a percent', { attempted: 1_000, bounced: 0, complained: 4 }, false],
  ['half a percent of complaints', { attempted: 200, bounced: 0, complained: 1 }, true],
])('%s', (_, minutes, expected) => {
  expect(isSpike(minutes)).toBe(expected)
})
