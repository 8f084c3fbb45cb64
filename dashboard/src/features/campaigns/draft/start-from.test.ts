import type { Campaign, Template } from '@sterna/sdk'
import { describe, expect, test } from 'vitest'
import { groupsOf, startOf } from './start-from.ts'

const content = { subject: 'S', body: '<p>B</p>', previewText: null, from: 'a@b.example', fromName: null, replyTo: null, type: 'MARKETING' }
// Only the fields that are read.
const template = { ...content, id: 't1', name: 'News' } as Template
const campaign = { ...content, id: 'c1', name: 'May', audienceType: 'SEGMENT', segmentId: 's1', templateId: null } as Campaign
const sources = { templates: [template], campaigns: [campaign] }

describe('a new campaign', () => {
  test('can start from marketing starters, own templates and recent campaigns', () => {
    const groups = groupsOf(sources)
    expect(Object.values(groups.Starters!)).toContain('Newsletter')
    expect(Object.values(groups.Starters!)).not.toContain('Password reset')
    expect(groups['Your templates']).toEqual({ 'template t1': 'News' })
    expect(groups['Recent campaigns']).toEqual({ 'campaign c1': 'May' })
    expect(Object.keys(groupsOf({ templates: [], campaigns: [] }))).toEqual(['Starters'])
  })

  test('has no subject of its own when it starts blank', () => {
    expect(startOf('blank', sources)).toEqual({ body: expect.stringContaining('Hello') })
  })

  test('keeps the template it came from, and the audience of the campaign it copies', () => {
    expect(startOf('template t1', sources)).toMatchObject({ subject: 'S', templateId: 't1' })
    expect(startOf('campaign c1', sources)).toMatchObject({ subject: 'S', audienceType: 'SEGMENT', segmentId: 's1' })
    const gone = { ...campaign, segmentId: null }
    expect(startOf('campaign c1', { templates: [], campaigns: [gone] })).toMatchObject({ audienceType: 'ALL' })
  })
})
