import type { Body, Campaign, Template } from '@sterna/sdk'
import { STARTERS } from '../../../content/starters.ts'

type Sources = { templates: Template[]; campaigns: Campaign[] }

/** What a new campaign takes from its source. Without a subject the form uses the name of the campaign. */
type Start = Partial<Body<'POST /campaigns'>> & { body: string }

/** Starters that are sent to many; the others answer one person. */
const OFFERED = STARTERS.filter(({ id, type }) => type === 'MARKETING' && id !== 'blank')
const BLANK = STARTERS.find(({ id }) => id === 'blank')!

/** The sources to choose from, below their headings. A heading without a source is left out. */
export function groupsOf({ templates, campaigns }: Sources): Record<string, Record<string, string>> {
  const options = (kind: string, rows: { id: string; name: string }[]) =>
    Object.fromEntries(rows.map(({ id, name }) => [`${kind} ${id}`, name]))
  const groups = {
    Starters: options('starter', OFFERED),
    'Your templates': options('template', templates),
    'Recent campaigns': options('campaign', campaigns),
  }
  return Object.fromEntries(Object.entries(groups).filter(([, group]) => Object.keys(group).length > 0))
}

export function startOf(source: string, { templates, campaigns }: Sources): Start {
  const [kind, id] = source.split(' ')
  const starter = kind === 'starter' && OFFERED.find((each) => each.id === id)
  if (starter) return { subject: starter.subject, body: starter.body, type: starter.type }
  const template = kind === 'template' && templates.find((each) => each.id === id)
  if (template) return { ...contentOf(template), templateId: template.id }
  const campaign = kind === 'campaign' && campaigns.find((each) => each.id === id)
  if (campaign) return { ...contentOf(campaign), ...audienceOf(campaign), templateId: campaign.templateId }
  return { body: BLANK.body }
}

function contentOf({ subject, body, previewText, from, fromName, replyTo, type }: Template | Campaign) {
  return { subject, body, previewText, fromName, replyTo, type, ...(from && { from }) }
}

/** The audience of a campaign. Its segment may be gone: then it has to be chosen again. */
function audienceOf({ audienceType, segmentId, audienceCondition }: Campaign) {
  if (audienceType === 'SEGMENT' && segmentId) return { audienceType, segmentId }
  if (audienceType === 'FILTERED' && audienceCondition) return { audienceType, audienceCondition }
  return { audienceType: 'ALL' as const }
}
