import { expect, test } from 'vitest'
import { formatMoney } from './money.ts'

test('an amount is shown in its currency', () => {
  expect(formatMoney(1_999, 'usd', 'en')).toBe('$19.99')
  expect(formatMoney(1_999, 'jpy', 'en')).toBe('¥1,999')
  expect(formatMoney(5, 'no currency', 'en')).toBe('5 no currency')
})
