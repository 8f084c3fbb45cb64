import { expect, test } from 'vitest'
import { backoffMs } from './backoff.ts'

test('a wait doubles with each failure, up to the longest', () => {
  const waits = [0, 1, 2, 5, 6, 2_000].map((failures) => backoffMs(failures, { first: 1_000, longest: 40_000 }))
  expect(waits).toEqual([1_000, 2_000, 4_000, 32_000, 40_000, 40_000])
})
