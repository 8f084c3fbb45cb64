import { expect, test } from 'vitest'
import { nameOf } from './name-of.ts'

const FIELDS = ['name', 'firstName + lastName']

test.each([
  [{ name: 'Ada Lovelace', firstName: 'A.' }, 'Ada Lovelace'],
  [{ firstName: 'Tomasz', lastName: 'Fischer' }, 'Tomasz Fischer'],
  [{ name: ' ', lastName: 'Fischer' }, 'Fischer'],
  [{ name: 5, firstName: null }, undefined],
  [{}, undefined],
  [null, undefined],
])('%j is called %s', (data, name) => {
  expect(nameOf({ data }, FIELDS)).toBe(name)
})

test('fields that every object inherits are no names', () => {
  expect(nameOf({ data: {} }, ['constructor', 'toString'])).toBe(undefined)
})
