import { expect, test } from 'vitest'
import { percentile } from './delivery-times.ts'

const buckets = (...counts: number[]) => counts.map((count, index) => ({ upToSeconds: [1, 2, 5, null][index]!, count }))

test.each([
  [buckets(0, 0, 0, 0), 0.5, null],
  [buckets(10, 0, 0, 0), 0.5, 0.5],
  [buckets(10, 10, 0, 0), 0.5, 1],
  [buckets(50, 0, 50, 0), 0.95, 4.7],
  [buckets(1, 0, 0, 9), 0.5, 5],
])('a percentile of %j at %d is %d', (given, share, expected) => {
  expect(percentile(given, share)).toBe(expected)
})
