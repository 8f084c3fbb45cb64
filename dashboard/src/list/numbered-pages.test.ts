import { expect, test } from 'vitest'
import { pageOf, toCursorPage } from './numbered-pages.ts'

test('the last page has no cursor', () => {
  expect(toCursorPage({ data: [1], total: 3, page: 1, totalPages: 2 })).toEqual({ data: [1], total: 3, hasMore: true, cursor: '2' })
  expect(toCursorPage({ data: [1], total: 3, page: 2, totalPages: 2 })).toMatchObject({ hasMore: false, cursor: null })
})

test.each([
  [undefined, 1],
  ['3', 3],
  ['0', 1],
  ['-2', 1],
  ['x', 1],
])('the page of %j is %i', (cursor, page) => {
  expect(pageOf(cursor)).toBe(page)
})
