import { expect, test } from 'vitest'
import { boundList } from './bounded-list.ts'

const numbers = Array.from({ length: 250 }, (_, number) => String(number))
const bound = (q: string, max?: number) => boundList(numbers, q, (text) => `Field ${text}`, max)

test('a long list shows its first 100 items, and says how many there are', () => {
  expect(bound('')).toEqual({ shown: numbers.slice(0, 100), found: 250 })
  expect(bound('', 2).shown).toEqual(['0', '1'])
})

test('the others are found by their text, in any case and with spaces around', () => {
  expect(bound(' FIELD 249 ')).toEqual({ shown: ['249'], found: 1 })
  expect(bound('no such field')).toEqual({ shown: [], found: 0 })
})
