import type { Campaign } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { audienceName, campaignsQuery, dateOf } from './campaigns-query.ts'

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

test('a campaign shows the date that matters', () => {
  const campaign = { status: 'DRAFT', updatedAt: 'u', scheduledFor: 's', startedAt: 'b', sentAt: 'e' } as Campaign
  expect(dateOf(campaign)).toEqual({ word: 'Edited', at: 'u' })
  expect(dateOf({ ...campaign, status: 'SCHEDULED' })).toEqual({ word: 'Sends', at: 's' })
  expect(dateOf({ ...campaign, status: 'SENDING' })).toEqual({ word: 'Started', at: 'b' })
  expect(dateOf({ ...campaign, status: 'SENT' })).toEqual({ word: 'Sent', at: 'e' })
  expect(dateOf({ ...campaign, status: 'CANCELLED' })).toEqual({ word: 'Cancelled', at: 'u' })
})

test('the audience has a name', () => {
  expect(audienceName({ audienceType: 'ALL', segment: null })).toBe('Everyone')
  expect(audienceName({ audienceType: 'SEGMENT', segment: { id: '1', name: 'Pro' } })).toBe('Pro')
  expect(audienceName({ audienceType: 'FILTERED', segment: null })).toBe('A filter')
})
