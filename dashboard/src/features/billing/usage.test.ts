import { expect, test } from 'vitest'
import { reachedOn, readCap } from './usage.ts'

const PERIOD = { start: '2026-06-01T00:00:00.000Z', end: '2026-07-01T00:00:00.000Z' }
const at = Date.parse('2026-06-11T00:00:00Z')

test('the day a cap is reached follows from the pace so far', () => {
  expect(reachedOn({ limit: 2_000, usage: 1_000 }, PERIOD, at)).toBe('2026-06-21T00:00:00.000Z')
  expect(reachedOn({ limit: 4_000, usage: 1_000 }, PERIOD, at)).toBe(undefined)
  expect(reachedOn({ limit: null, usage: 1_000 }, PERIOD, at)).toBe(undefined)
  expect(reachedOn({ limit: 1_000, usage: 1_000 }, PERIOD, at)).toBe(undefined)
  expect(reachedOn({ limit: 1_000, usage: 10 }, PERIOD, Date.parse('2026-06-01T02:00:00Z'))).toBe(undefined)
})

test.each([
  ['', null],
  [' 1,000 ', 1_000],
  ["25'000", 25_000],
  ['0', undefined],
  ['-5', undefined],
  ['many', undefined],
])('the cap "%s" is read as %s', (text, cap) => {
  expect(readCap(text)).toBe(cap)
})
