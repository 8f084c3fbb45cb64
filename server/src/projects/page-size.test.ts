import { expect, test } from 'vitest'
import { sizeAfterPage } from './page-size.ts'

test.each([
  [1, 5, 4],
  [1_250, 90, 5_000],
  [2_000, 5, 5_000],
  [5_000, 5, 5_000],
  [20, 300, 33],
  [312, 400, 390],
  [5_000, 600, 1_250],
  [200, 600, 100],
  [20, 600, 20],
  [1, 11_000, 1],
])('after a page of %i contacts that took %i ms the next one has %i', (size, ms, next) => {
  expect(sizeAfterPage(size, { ms, largest: 5_000 })).toBe(next)
})
