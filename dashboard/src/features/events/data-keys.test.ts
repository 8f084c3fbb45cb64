import { expect, test } from 'vitest'
import { dataKeysOf, showData } from './data-keys.ts'

test('the keys that most events have become columns', () => {
  const events = [{ data: { plan: 'pro', seats: 3 } }, { data: { seats: 1, city: 'Rome' } }, { data: {} }]
  expect(dataKeysOf(events)).toEqual(['seats', 'city', 'plan'])
  expect(dataKeysOf(events, 1)).toEqual(['seats'])
  expect(dataKeysOf([])).toEqual([])
})

test('text is shown as it is, other values as JSON', () => {
  expect(['<b>', 3, null, { a: [1] }, undefined].map(showData)).toEqual(['<b>', '3', 'null', '{"a":[1]}', ''])
})
