import { expect, test } from 'vitest'
import { feedbackSenderOf, withFeedbackId } from './feedback-id.ts'

test.each([
  ['https://mail.example.com', 'mailexamplecom'],
  ['https://newsletters.shop.example.com', 'shopexamplecom'.padStart(15, 's')],
  ['http://a.b:3000', 'steab'],
  ['http://localhost:3000', 'localhost'],
  ['http://[::1]:3000', 'ster1'],
])('the installation at %s is %s in Feedback-ID headers', (publicUrl, sender) => {
  expect(feedbackSenderOf(publicUrl)).toBe(sender)
  expect(sender.length).toBeGreaterThanOrEqual(5)
  expect(sender.length).toBeLessThanOrEqual(15)
})

const campaign = { campaignId: '019a0000-0000-7000-8000-00000000000c', projectId: '019a0000-0000-7000-8000-00000000000a' }

test('an email of a campaign has a Feedback-ID of campaign, project, type and installation, in place of a custom one', () => {
  const headers = { 'X-Shop': '1', 'feedback-id': 'a:b:c:custom' }
  expect(withFeedbackId(campaign, { type: 'MARKETING', headers }, 'mailexamplecom')).toEqual({
    'X-Shop': '1',
    'Feedback-ID': `${campaign.campaignId}:${campaign.projectId}:marketing:mailexamplecom`,
  })
})

test('any other email has the headers of its request', () => {
  const headers = { 'Feedback-ID': 'a:b:c:custom' }
  expect(withFeedbackId({ ...campaign, campaignId: null }, { type: 'MARKETING', headers }, 'mailexamplecom')).toEqual(headers)
})
