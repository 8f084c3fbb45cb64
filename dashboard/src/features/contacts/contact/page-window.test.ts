import { expect, test } from 'vitest'
import { PAGES_SHOWN, pagesInWindow, skippedToShow } from './page-window.ts'

const loaded = [1, 2, 3, 4, 5, 6]

test('at most four pages are on screen, the oldest of them when more are loaded', () => {
  expect(pagesInWindow(loaded.slice(0, 3), skippedToShow(3))).toEqual([1, 2, 3])
  expect(pagesInWindow(loaded, skippedToShow(loaded.length))).toEqual([3, 4, 5, 6])
  expect(pagesInWindow(loaded, skippedToShow(loaded.length))).toHaveLength(PAGES_SHOWN)
})

test('newer pages come back one by one', () => {
  expect(pagesInWindow(loaded, 1)).toEqual([2, 3, 4, 5])
})
