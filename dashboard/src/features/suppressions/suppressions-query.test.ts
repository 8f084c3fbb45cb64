import { expect, test } from 'vitest'
import { suppressionsQuery } from './suppressions-query.ts'

test('the filters of the URL become the query of the API, and a reason that does not exist is left out', () => {
  expect(suppressionsQuery({ limit: 25, q: 'ada', cursor: 'c', filters: { reason: 'BOUNCE' } })).toEqual({
    limit: 25,
    q: 'ada',
    cursor: 'c',
    reason: 'BOUNCE',
  })
  expect(suppressionsQuery({ limit: 25, filters: { reason: 'toString' } })).toEqual({ limit: 25 })
})
