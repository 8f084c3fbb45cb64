import type { Campaign } from '@sterna/sdk'
import { expect, test } from 'vitest'
import { audienceName, dateOf } from './words.ts'

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
