import { expect, test } from 'vitest'
import { addDays, periodOf, readDays, splitSeries, sumOf } from './period.ts'

test('a period ends today in the time zone of the project', () => {
  const now = Date.parse('2026-03-01T02:00:00Z')
  expect(periodOf(7, 'UTC', now)).toEqual({ days: 7, from: '2026-02-23', to: '2026-03-01', beforeFrom: '2026-02-16', timezone: 'UTC' })
  expect(periodOf(7, 'America/New_York', now).to).toBe('2026-02-28')
  expect(periodOf(7, 'Asia/Tokyo', Date.parse('2026-03-01T20:00:00Z')).to).toBe('2026-03-02')
})

test('an unknown length is the usual one', () => {
  expect([readDays('7'), readDays('90'), readDays('8'), readDays(undefined)]).toEqual([7, 90, 30, 30])
})

test('a series is taken apart into the period and the one before it', () => {
  const points = [1, 2, 3, 4].map((n) => ({ n }))
  expect(splitSeries(points, { days: 2 })).toEqual({ before: [{ n: 1 }, { n: 2 }], current: [{ n: 3 }, { n: 4 }] })
  expect(sumOf(points, 'n')).toBe(10)
})

test('days are counted over months', () => {
  expect(addDays('2026-02-28', 1)).toBe('2026-03-01')
})
