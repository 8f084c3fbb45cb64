import { expect, test } from 'vitest'
import { begunHours, ticksOf } from './hours.ts'

test.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 2, 4, 6, 8]],
  [100, [0, 50, 100]],
  [950, [0, 500, 1_000]],
])('a chart up to %i has the ticks %j', (max, ticks) => {
  expect(ticksOf(max)).toEqual(ticks)
})

test('hours to come are not drawn', () => {
  const hour = (from: string) => ({ from, sent: 0, opened: 0, clicked: 0 })
  const hours = [hour('2026-01-01T00:00:00Z'), hour('2026-01-01T01:00:00Z'), hour('2026-01-01T02:00:00Z')]
  expect(begunHours(hours, Date.parse('2026-01-01T01:30:00Z'))).toHaveLength(2)
})
