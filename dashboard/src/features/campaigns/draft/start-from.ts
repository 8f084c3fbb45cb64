import type { Body, Campaign, CampaignListItem, Sterna, Template, TemplateListItem } from '@sterna/sdk'
import type { StartGroup } from '../../../content/starters/start-picker.tsx'
import { blankChoice, type Starter, starterGroups, starterOf } from '../../../content/starters/starter-choices.ts'
import { blankDesign } from '../../../design/document/design-json.ts'

type Sources = { starters: Starter[]; templates: TemplateListItem[]; campaigns: CampaignListItem[] }

/** The fields that a new campaign takes from its source. Without a subject the form uses the name of the campaign. */
type Start = Partial<Body<'POST /campaigns'>>

/** Starters that answer what one person did. */
const FOR_ONE_PERSON = new Set(['confirmation', 'password-reset', 'magic-link', 'receipt'])

/** The sources to choose from, below their headings. */
export function startGroups({ starters, templates, campaigns }: Sources): StartGroup[] {
  const choices = (kind: string, rows: { id: string; name: string; body: string }[]) =>
    rows.map(({ id, name, body }) => ({ key: `${kind} ${id}`, label: name, content: { design: null, body } }))
  const offered = starterGroups(starters.filter(({ key }) => !FOR_ONE_PERSON.has(key)))
  return [
    { heading: 'Starters', choices: [blankChoice('Blank'), ...offered.flatMap((group) => group.choices)] },
    { heading: 'Your templates', choices: choices('template', templates) },
    { heading: 'Recent campaigns', choices: choices('campaign', campaigns) },
  ]
}

/** The content of the source. Lists have no designs, so that the whole record is loaded. */
export async function loadStart(api: Sterna, source: string, starters: Starter[]): Promise<Start> {
  const [kind, id = ''] = source.split(' ')
  if (kind === 'template') return startOfTemplate(await api.templates.get(id))
  if (kind === 'campaign') return startOfCampaign(await api.campaigns.get(id))
  const starter = starterOf(starters, source)
  return { design: starter?.design ?? blankDesign(), type: 'MARKETING' }
}

export const startOfTemplate = (template: Template): Start => ({ ...contentOf(template), templateId: template.id })

export const startOfCampaign = (campaign: Campaign): Start => ({
  ...contentOf(campaign),
  ...audienceOf(campaign),
  templateId: campaign.templateId,
})

function contentOf({ subject, body, design, previewText, from, fromName, replyTo, type }: Template | Campaign) {
  return { subject, ...(design ? { design } : { body }), previewText, fromName, replyTo, type, ...(from && { from }) }
}

/** The audience of a campaign. Its segment may be gone: then it has to be chosen again. */
function audienceOf({ audienceType, segmentId, audienceCondition }: Campaign) {
  if (audienceType === 'SEGMENT' && segmentId) return { audienceType, segmentId }
  if (audienceType === 'FILTERED' && audienceCondition) return { audienceType, audienceCondition }
  return { audienceType: 'ALL' as const }
}
