import { expect, test } from 'vitest'
import { countOf, formatCount, formatPercent } from './count.tsx'

test.each([
  [0, false, '0'],
  [48_210, false, '48,210'],
  [10_000, true, 'over 10,000'],
  [12_345, true, 'about 12,000'],
  [480_000, true, 'about 480 k'],
  [1_230_000, true, 'about 1.2 M'],
])('%d is shown as an estimate (%s) as "%s"', (value, about, text) => {
  expect(formatCount(value, { about, locale: 'en-GB' })).toBe(text)
})

test('a count of one uses the singular', () => {
  const noun = { one: 'contact', many: 'contacts' }
  expect([countOf(0, noun), countOf(1, noun), countOf(2, noun)]).toEqual(['0 contacts', '1 contact', '2 contacts'])
})

test('a percentage has as many digits as it needs', () => {
  const shares = [0, 0.00075, 0.0015, 0.034, 0.05, 0.123, 1]
  expect(shares.map((share) => formatPercent(share, 'en'))).toEqual(['0%', '0.075%', '0.15%', '3.4%', '5%', '12%', '100%'])
})
