import { describe, expect, test } from 'vitest'
import { exactTime, relativeTime } from './time.tsx'

const NOW = Date.parse('2026-11-16T12:00:00Z')

describe('relativeTime', () => {
  test.each([
    ['2026-11-16T11:59:30Z', 'just now'],
    ['2026-11-16T12:00:20Z', 'in a moment'],
    ['2026-11-16T11:55:00Z', '5 min ago'],
    ['2026-11-16T09:30:00Z', '2 h ago'],
    ['2026-11-15T11:00:00Z', '1 day ago'],
    ['2026-11-10T12:00:00Z', '6 days ago'],
    ['2026-11-16T15:00:00Z', 'in 3 h'],
  ])('shows %s as "%s"', (value, text) => {
    expect(relativeTime(value, NOW, 'en-GB')).toBe(text)
  })

  test('shows a date from the seventh day on, with the year of another year', () => {
    expect(relativeTime('2026-11-09T12:00:00Z', NOW, 'en-GB')).toBe('9 Nov')
    expect(relativeTime('2024-05-03T12:00:00Z', NOW, 'en-GB')).toBe('3 May 2024')
  })
})

test('the exact time names UTC', () => {
  expect(exactTime('2026-11-16T12:00:00.500Z', 'en-GB')).toContain('2026-11-16 12:00:00 UTC')
})
