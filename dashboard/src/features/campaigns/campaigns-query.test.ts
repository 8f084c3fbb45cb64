import { expect, test } from 'vitest'
import { campaignsQuery } from './campaigns-query.ts'

test('the newest come first, and what the server does not know is left out', () => {
  expect(campaignsQuery({ limit: 25, filters: {} })).toEqual({ page: 1, pageSize: 25, sort: 'createdAt', dir: 'desc' })
  expect(
    campaignsQuery({ limit: 25, cursor: '2', q: 'may', filters: { status: 'SENT', segment: 's1', date: '2026-05-01..2026-05-31' } }),
  ).toMatchObject({
    page: 2,
    search: 'may',
    status: 'SENT',
    segmentId: 's1',
    dateFrom: '2026-05-01',
    dateTo: '2026-05-31',
  })
  expect(campaignsQuery({ limit: 25, filters: { status: 'LOST' } })).not.toHaveProperty('status')
})
