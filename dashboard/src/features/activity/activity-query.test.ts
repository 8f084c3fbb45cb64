import { expect, test } from 'vitest'
import { activityQuery } from './activity-query.ts'

test('kinds, person and range of the URL become a request', () => {
  const filters = { kind: 'email.sent,nothing,workflow.failed', time: '2026-01-01..2026-01-31' }
  expect(activityQuery({ limit: 25, cursor: 'x', filters }, 'c1')).toEqual({
    limit: 25,
    cursor: 'x',
    types: 'email.sent,workflow.failed',
    contactId: 'c1',
    startDate: '2026-01-01',
    endDate: '2026-01-31',
  })
  expect(activityQuery({ limit: 25, filters: { kind: 'nothing', time: 'x' } }, undefined)).toEqual({ limit: 25 })
})
