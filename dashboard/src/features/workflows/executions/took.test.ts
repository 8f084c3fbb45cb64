import { expect, test } from 'vitest'
import { describeDuration, tookOf } from './took.ts'

test.each([
  [0, '< 1 s'],
  [42_000, '42 s'],
  [125_000, '2 min'],
  [2 * 3_600_000, '2 h'],
  [26.5 * 3_600_000, '1 d 2 h'],
])('%d ms are shown as %s', (ms, words) => {
  expect(describeDuration(ms)).toBe(words)
})

test('what runs has taken no time yet', () => {
  expect(tookOf({ startedAt: '2026-01-01T00:00:00Z', completedAt: null })).toBe(undefined)
  expect(tookOf({ startedAt: '2026-01-01T00:00:00Z', completedAt: '2026-01-01T00:01:00Z' })).toBe('1 min')
})
