import { expect, test } from 'vitest'
import { suppressionFilter, suppressionsQuery } from './suppressions-query.ts'

test('the filters of the URL become the query of the API, and a reason that does not exist is left out', () => {
  expect(suppressionsQuery({ limit: 25, q: 'ada', cursor: 'c', filters: { reason: 'BOUNCE' } })).toEqual({
    limit: 25,
    q: 'ada',
    cursor: 'c',
    reason: 'BOUNCE',
  })
  expect(suppressionsQuery({ limit: 25, filters: { reason: 'toString' } })).toEqual({ limit: 25 })
})

test('an export has the filters of the list, but not its page', () => {
  expect(suppressionFilter({ q: 'ada', filters: { reason: 'BOUNCE' } })).toEqual({ q: 'ada', reason: 'BOUNCE' })
})
