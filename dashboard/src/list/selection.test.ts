import { expect, test } from 'vitest'
import { between, countSelected, isSelected, MAX_IDS, NOTHING, select, selectAll } from './selection.ts'

test('rows are selected and deselected by id', () => {
  const two = select(NOTHING, ['a', 'b'], true)
  const one = select(two, ['a'], false)
  expect([isSelected(one, 'a'), isSelected(one, 'b'), countSelected(one, 100)]).toEqual([false, true, 1])
  expect(countSelected(NOTHING, 100)).toBe(0)
})

test('everything that matches is selected but the rows that are deselected afterwards', () => {
  const all = select(selectAll(), ['a', 'b'], false)
  expect([isSelected(all, 'a'), isSelected(all, 'z'), countSelected(all, 100)]).toEqual([false, true, 98])
  expect(countSelected(select(all, ['a'], true), 100)).toBe(99)
})

test('at most as many ids are selected as a bulk request takes', () => {
  const ids = Array.from({ length: MAX_IDS + 5 }, (_, index) => String(index))
  expect(countSelected(select(NOTHING, ids, true), 5_000)).toBe(MAX_IDS)
})

test('a click with Shift selects the rows between, in both directions', () => {
  const page = ['a', 'b', 'c', 'd']
  expect(between(page, 'b', 'd')).toEqual(['b', 'c', 'd'])
  expect(between(page, 'd', 'b')).toEqual(['b', 'c', 'd'])
  expect(between(page, undefined, 'c')).toEqual(['c'])
  expect(between(page, 'gone', 'c')).toEqual(['c'])
})
