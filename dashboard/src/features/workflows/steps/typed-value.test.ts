import { expect, test } from 'vitest'
import { typeOfValue, valueOfRow } from './typed-value.ts'

test.each([
  ['pro', 'string'],
  ['', 'string'],
  ['3', 'string'],
  [3, 'number'],
  [-1.5, 'number'],
  [true, 'boolean'],
  [false, 'boolean'],
  ['1990-05-17', 'date'],
  [null, 'delete'],
  [{ a: [1] }, 'json'],
])('%j is edited as %s, and stays what it is', (value, type) => {
  const row = typeOfValue(value)
  expect([row.type, valueOfRow(row)]).toEqual([type, value])
})

test('what is not complete yet is a value nevertheless', () => {
  expect([
    valueOfRow({ type: 'number', text: '-' }),
    valueOfRow({ type: 'boolean', text: '' }),
    valueOfRow({ type: 'json', text: '{' }),
  ]).toEqual([0, true, '{'])
})
