import { expect, test } from 'vitest'
import { readSpan, readTime } from './moment.ts'

test('dates are the texts of the grammar that exist in the calendar, years 1 to 9999', () => {
  const differing: string[] = []
  for (const year of ['0000', '0001', '0004', '0100', '1900', '2000', '2023', '2024', '9999'])
    for (let month = 0; month <= 13; month++)
      for (let day = 0; day <= 32; day++) {
        const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
        const time = Date.parse(text)
        // `Date` reads 30 February as 2 March.
        const exists = year !== '0000' && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
        if ((readTime(text) !== undefined) !== exists) differing.push(text)
      }
  expect(differing).toEqual([])
})

test.each([
  ['2026-01-31', '2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
  ['2026-01-31T12:30Z', '2026-01-31T12:30:00.000Z', '2026-01-31T12:30:00.001Z'],
  ['2026-01-31T12:30:15.9999Z', '2026-01-31T12:30:15.999Z', '2026-01-31T12:30:16.000Z'],
  ['2026-01-31T12:30:15+05:30', '2026-01-31T07:00:15.000Z', '2026-01-31T07:00:15.001Z'],
  ['9999-12-31', '9999-12-31T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
])('%s covers %s to %s', (text, start, end) => {
  expect(readSpan(text)).toEqual({ start: Date.parse(start), end: Date.parse(end) })
})

test.each([
  '2026-1-31',
  '2026-01-31T24:00Z',
  '2026-01-31T12:60Z',
  '2026-01-31T12:30:60Z',
  '2026-01-31T12:30',
  '2026-01-31 12:30Z',
  '2026-01-31T12:30z',
  '2026-01-31T12:30+15:00',
  '2026-01-31T12:30:15.Z',
  '2026-01-31T12:30:15.1234567890Z',
  '2026-01-31\n',
  '٢٠٢٦-٠١-٣١',
  '275760-09-13',
  'infinity',
  '',
])('%j is no date', (text) => {
  expect(readTime(text)).toBeUndefined()
})
