import { expect, test } from 'vitest'
import { audienceQuery, excludedQuery, recipientFilters, recipientsQuery } from './recipients-query.ts'

test('the filters of the URL become those of the server', () => {
  const request = {
    limit: 50,
    cursor: 'c',
    q: 'ada',
    filters: { outcome: 'failed', reason: 'transient', activity: 'bounced', link: 'https://a.example' },
  }
  expect(recipientsQuery(request)).toEqual({
    limit: 50,
    cursor: 'c',
    search: 'ada',
    outcome: 'failed',
    reason: 'transient',
    activity: 'bounced',
    link: 'https://a.example',
  })
  expect(excludedQuery({ limit: 25, filters: { reason: 'suppressed' } })).toEqual({ limit: 25, reason: 'suppressed' })
  expect(audienceQuery({ limit: 25, q: 'bob', filters: { part: 'recipients' } })).toEqual({ limit: 25, part: 'recipients', search: 'bob' })
})

test('a value that the server does not know is left out', () => {
  expect(recipientFilters({ filters: { outcome: 'lost', reason: 'toString', activity: 'slept' } })).toEqual({})
  expect(audienceQuery({ limit: 25, filters: { part: 'constructor' } })).toEqual({ limit: 25 })
})
