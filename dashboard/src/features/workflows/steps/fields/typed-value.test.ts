import { expect, test } from 'vitest'
import { problemOfRow, typeOfValue, valueOfRow } from './typed-value.ts'

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
  expect([row.type, problemOfRow(row), valueOfRow(row)]).toEqual([type, undefined, value])
})

test.each([
  ['number', '-'],
  ['number', ''],
  ['number', '1e999'],
  ['date', ''],
  ['json', '{'],
] as const)('a %s that is typed as far as "%s" is a problem, not a value', (type, text) => {
  expect(problemOfRow({ type, text })).toBeTypeOf('string')
})
