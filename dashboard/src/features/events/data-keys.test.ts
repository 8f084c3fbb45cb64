import { expect, test } from 'vitest'
import { dataKeysOf, showData, showKey } from './data-keys.ts'

test('the keys that most events have become columns', () => {
  const events = [{ data: { plan: 'pro', seats: 3 } }, { data: { seats: 1, city: 'Rome' } }, { data: {} }]
  expect(dataKeysOf(events)).toEqual(['seats', 'city', 'plan'])
  expect(dataKeysOf(events, 1)).toEqual(['seats'])
  expect(dataKeysOf([])).toEqual([])
})

test('text is shown as it is, other values as JSON', () => {
  expect(['<b>', 3, null, { a: [1] }, undefined].map(showData)).toEqual(['<b>', '3', 'null', '{"a":[1]}', ''])
})

test('a key that an event lacks is empty, also if objects inherit it', () => {
  const names = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__']
  expect(names.map((name) => showKey({ data: {} }, name))).toEqual(names.map(() => ''))
  expect(names.map((name) => showKey({ data: { [name]: 'x' } }, name))).toEqual(names.map(() => 'x'))
})
