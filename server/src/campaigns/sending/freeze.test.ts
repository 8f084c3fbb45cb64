import { expect, test } from 'vitest'
import { sizeAfterPage } from './freeze.ts'

test.each([
  [1, 5, 4],
  [1_250, 90, 5_000],
  [2_000, 5, 5_000],
  [5_000, 5, 5_000],
  [312, 400, 312],
  [5_000, 600, 1_250],
  [2, 600, 1],
  [1, 11_000, 1],
])('after a page of %i contacts that took %i ms the next one has %i', (size, ms, next) => {
  expect(sizeAfterPage(size, ms)).toBe(next)
})
