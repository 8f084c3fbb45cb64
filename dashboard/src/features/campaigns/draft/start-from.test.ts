import type { Campaign, Template } from '@sterna/sdk'
import { describe, expect, test } from 'vitest'
import type { Starter } from '../../../content/starters/starter-choices.ts'
import { startGroups, startOfCampaign, startOfTemplate } from './start-from.ts'

const content = {
  subject: 'S',
  body: '<p>B</p>',
  design: null,
  previewText: null,
  from: 'a@b.example',
  fromName: null,
  replyTo: null,
  type: 'MARKETING',
}
// Only the fields that are read.
const template = { ...content, id: 't1', name: 'News' } as Template
const campaign = { ...content, id: 'c1', name: 'May', audienceType: 'SEGMENT', segmentId: 's1', templateId: null } as Campaign
const starters = [
  { key: 'newsletter', name: 'Newsletter', category: 'news' },
  { key: 'password-reset', name: 'Password reset', category: 'account' },
] as Starter[]

describe('a new campaign', () => {
  test('can start from starters for many people, own templates and recent campaigns', () => {
    const groups = startGroups({ starters, templates: [{ ...template, hasDesign: false }], campaigns: [{ ...campaign, hasDesign: false }] })
    expect(groups.map(({ choices }) => choices.map(({ label }) => label))).toEqual([['Blank', 'Newsletter'], ['News'], ['May']])
  })

  test('keeps the template it came from with its design, and the audience of the campaign it copies', () => {
    const design = { version: 1 as const, content: [] }
    expect(startOfTemplate(template)).toMatchObject({ subject: 'S', templateId: 't1', body: '<p>B</p>' })
    expect(startOfTemplate({ ...template, design })).toMatchObject({ design })
    expect(startOfTemplate({ ...template, design })).not.toHaveProperty('body')
    expect(startOfCampaign(campaign)).toMatchObject({ subject: 'S', audienceType: 'SEGMENT', segmentId: 's1' })
    expect(startOfCampaign({ ...campaign, segmentId: null })).toMatchObject({ audienceType: 'ALL' })
  })
})
