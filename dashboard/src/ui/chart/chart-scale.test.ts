import { expect, test } from 'vitest'
import { areaPath, changeOf, linePath, niceTicks, shownLabels } from './chart-scale.ts'

test.each([
  [0, [0, 1]],
  [1, [0, 0.25, 0.5, 0.75, 1]],
  [7, [0, 2, 4, 6, 8]],
  [100, [0, 25, 50, 75, 100]],
  [0.0015, [0, 0.0005, 0.001, 0.0015]],
  [48_210, [0, 20_000, 40_000, 60_000]],
])('the ticks up to %d are round', (max, ticks) => {
  expect(niceTicks(max)).toEqual(ticks)
})

test('ticks of counts are whole', () => {
  expect(niceTicks(1, true)).toEqual([0, 1])
  expect(niceTicks(9, true)).toEqual([0, 5, 10])
})

test('the last tick is never below the largest value', () => {
  for (let max = 0.001; max < 1e7; max *= 1.37) expect(niceTicks(max).at(-1)).toBeGreaterThanOrEqual(max * (1 - 1e-6))
})

test('lines and areas are paths', () => {
  const points: [number, number][] = [
    [0, 10],
    [5.25, 0],
  ]
  expect(linePath(points)).toBe('M0 10L5.3 0')
  expect(areaPath(points, 20)).toBe('M0 10L5.3 0L5.3 20L0 20Z')
  expect(areaPath([], 20)).toBe('')
})

test('a change needs something before', () => {
  expect(changeOf(150, 100)).toBe(0.5)
  expect(changeOf(5, 0)).toBe(undefined)
})

test('labels do not overlap, have equal distances, and end with the last', () => {
  expect(shownLabels(3, 5)).toEqual([0, 1, 2])
  expect(shownLabels(30, 4)).toEqual([9, 19, 29])
  expect(shownLabels(2, 1)).toEqual([0, 1])
})
