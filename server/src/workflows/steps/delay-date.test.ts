import { expect, test } from 'vitest'
import { dateOf, whenOfDate } from './delay-date.ts'

const YEARLY = { until: 'data.birthday', repeats: 'yearly', hour: 9, timezone: 'UTC' } as const
const ONCE = { ...YEARLY, repeats: 'never' } as const
const when = (date: string, config: Parameters<typeof whenOfDate>[1], now: string) =>
  whenOfDate(dateOf(date)!, config, new Date(now))?.toISOString()

test.each([
  ['later this year', '1990-05-17', '2026-01-01T00:00:00Z', '2026-05-17T09:00:00.000Z'],
  ['over this year', '1990-05-17', '2026-05-17T09:00:00Z', '2027-05-17T09:00:00.000Z'],
  ['on the leap day', '1992-02-29', '2026-01-01T00:00:00Z', '2026-02-28T09:00:00.000Z'],
  ['on the leap day of a leap year', '1992-02-29', '2028-01-01T00:00:00Z', '2028-02-29T09:00:00.000Z'],
])('a birthday %s', (_, date, now, expected) => {
  expect(when(date, YEARLY, now)).toBe(expected)
})

test('a date that does not repeat is met once, in the time zone of the step', () => {
  expect(when('2026-07-01T00:00:00Z', { ...ONCE, timezone: 'Europe/Berlin' }, '2026-06-01T00:00:00Z')).toBe('2026-07-01T07:00:00.000Z')
  expect(when('2020-07-01', ONCE, '2026-06-01T00:00:00Z')).toBe('2020-07-01T09:00:00.000Z')
})

test.each(['soon', '2026-02-31', '17.05.1990', 5, null, undefined])('%j is no date', (value) => {
  expect(dateOf(value)).toBe(undefined)
})
