import { expect, test } from 'vitest'
import { bodyOf, type CampaignValues, campaignProblemOf } from './campaign-values.ts'

const values: CampaignValues = {
  name: 'May news',
  description: '',
  subject: 'News',
  previewText: '',
  body: '<p>News</p>',
  design: null,
  type: 'MARKETING',
  from: 'news@acme.example',
  fromName: '',
  replyTo: '',
  audienceType: 'ALL',
  segmentId: 'kept while another audience is chosen',
  condition: '',
  templateId: '',
  ratePerMinute: '',
}

test('only what belongs to the audience is sent, and empty fields are null', () => {
  expect(bodyOf(values)).toMatchObject({
    segmentId: null,
    audienceCondition: null,
    previewText: null,
    ratePerMinute: null,
    templateId: null,
  })
  expect(bodyOf({ ...values, audienceType: 'SEGMENT', segmentId: 's1', ratePerMinute: '60' })).toMatchObject({
    segmentId: 's1',
    ratePerMinute: 60,
  })
})

test.each([
  [{ name: ' ' }, /name/],
  [{ subject: '' }, /subject/],
  [{ body: '' }, /body/],
  [{ from: 'news' }, /sender/],
  [{ audienceType: 'SEGMENT' as const, segmentId: '' }, /segment/],
  [{ audienceType: 'FILTERED' as const, condition: '{' }, /filter/],
  [{ ratePerMinute: '1.5' }, /rate/],
])('%j cannot be saved', (change, problem) => {
  expect(campaignProblemOf({ ...values, ...change })).toMatch(problem)
})

test('a complete campaign can be saved, unless its code has an error', () => {
  expect(campaignProblemOf(values)).toBeUndefined()
  expect(campaignProblemOf(values, [{ message: 'Unexpected "&"' }])).toMatch(/error/)
})
