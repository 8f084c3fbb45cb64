import { sql } from 'kysely'
import type { Tx } from '../../db/index.ts'
import { newId } from '../../lib/id.ts'
import { lockSegments } from '../../segments/definition/limits.ts'
import { MAX_NAME } from '../../templates/template.ts'
import { type Audience, resolveAudience, usesOfAudience } from './audience.ts'
import type { CampaignContent } from './body.ts'
import { type CampaignKey, type CampaignRow, campaignNotFound, findCampaign, getCampaign } from './campaign.ts'

/** Locks the segments of the project against deletion until the end of the transaction, and checks those of the audience. */
export async function lockAudience(tx: Tx, projectId: string, audience: Audience) {
  if (!usesOfAudience(audience).segments.length) return
  await lockSegments(tx, projectId)
  await resolveAudience(tx, projectId, audience)
}

/** Columns of a campaign that a request sets, with their values. */
export function columnsOf({ audience, ...content }: CampaignContent) {
  const { name, description = null, subject, body, design, previewText, from, fromName, replyTo = null, type } = content
  return {
    name,
    description,
    subject,
    body,
    ...(design === undefined ? {} : { design: design && JSON.stringify(design) }),
    preview_text: previewText || null,
    from_address: from,
    from_name: fromName || null,
    reply_to: replyTo,
    type,
    template_id: content.templateId ?? null,
    audience_type: audience.type,
    segment_id: audience.type === 'SEGMENT' ? audience.segmentId : null,
    audience_condition: audience.type === 'FILTERED' ? JSON.stringify(audience.condition) : null,
    uses: JSON.stringify(usesOfAudience(audience)),
    rate_per_minute: content.ratePerMinute ?? null,
  }
}

export async function createCampaign(tx: Tx, projectId: string, content: CampaignContent): Promise<CampaignRow> {
  await lockAudience(tx, projectId, content.audience)
  const columns = columnsOf(content)
  const id = newId()
  await sql`
    insert into campaigns (project_id, id, ${sql.join(Object.keys(columns).map((name) => sql.ref(name)))})
    values (${projectId}, ${id}, ${sql.join(Object.values(columns))})
  `.execute(tx)
  return getCampaign(tx, { projectId, id })
}

const COPY = ' (Copy)'
const COPIED = sql`description, subject, body, design, preview_text, from_address, from_name, reply_to, type, template_id, audience_type, segment_id,
  audience_condition, uses, rate_per_minute`

/** Copies content and audience into a new draft. */
export async function duplicateCampaign(tx: Tx, { projectId, id }: CampaignKey): Promise<CampaignRow> {
  // The copy is a draft, which keeps its segment from being deleted.
  await lockSegments(tx, projectId)
  const copyId = newId()
  await sql`
    insert into campaigns (project_id, id, name, ${COPIED})
    select project_id, ${copyId}, left(name, ${MAX_NAME - COPY.length}) || ${COPY}, ${COPIED}
    from campaigns where project_id = ${projectId} and id = ${id} and deleted_at is null
  `.execute(tx)
  return (await findCampaign(tx, { projectId, id: copyId })) ?? campaignNotFound(id)
}
