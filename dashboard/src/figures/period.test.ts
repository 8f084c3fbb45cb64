import { expect, test } from 'vitest'
import { addDays, periodOf, readDays, splitSeries, sumOf, timesOf } from './period.ts'

test('a period ends today in the time zone of the project', () => {
  const now = Date.parse('2026-03-01T02:00:00Z')
  expect(periodOf(7, 'UTC', now)).toEqual({ days: 7, from: '2026-02-23', to: '2026-03-01', beforeFrom: '2026-02-16', timezone: 'UTC' })
  expect(periodOf(7, 'America/New_York', now).to).toBe('2026-02-28')
  expect(periodOf(7, 'Asia/Tokyo', Date.parse('2026-03-01T20:00:00Z')).to).toBe('2026-03-02')
})

test.each([
  ['UTC', '2026-03-28..2026-03-29'],
  // Clocks go forward in the night of the 29th: the last day has 23 hours.
  ['Europe/Berlin', '2026-03-27T23:00:00.000Z..2026-03-29T21:59:59.999Z'],
  ['America/New_York', '2026-03-28T04:00:00.000Z..2026-03-30T03:59:59.999Z'],
  // Five and a half hours ahead: the day begins within an hour of UTC, which belongs to the day before.
  ['Asia/Kolkata', '2026-03-27T19:00:00.000Z..2026-03-29T18:59:59.999Z'],
  ['Pacific/Kiritimati', '2026-03-27T10:00:00.000Z..2026-03-29T09:59:59.999Z'],
])('the two days of a period in %s are %s', (timezone, times) => {
  expect(timesOf({ from: '2026-03-28', to: '2026-03-29', timezone })).toBe(times)
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
