import { z } from 'zod'
import { type Pool, transact } from '../../db/index.ts'
import { untrackedPrefixes } from '../../delivery/message/links/tracking.ts'
import { FrameUrl } from '../../http/preview-frame.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { previewTemplate, sampleRecipient } from '../../templates/preview.ts'
import { savePreviewPage } from '../../templates/preview-pages.ts'
import type { CampaignRow } from './campaign.ts'
import { drawClicks } from './click-labels.ts'
import { listLinks } from './links.ts'

export const ClicksPreview = z
  .object({
    frameUrl: FrameUrl,
    links: z.int().describe('Different links of the email that are tracked. 0: it has none to click.'),
  })
  .meta({ id: 'CampaignClicksPreview' })

type Context = { db: Pool; secrets: Secrets; publicUrl: string }

/** The email of a campaign with its clicks drawn onto it, as a page for a frame of the dashboard. */
export async function previewClicks({ db, secrets, publicUrl }: Context, campaign: CampaignRow): Promise<z.output<typeof ClicksPreview>> {
  const { projectId, id, clickedCount, body } = campaign
  const links = await listLinks(db, campaign)
  const shown = await previewTemplate(db, projectId, campaign, sampleRecipient({ publicUrl, secrets, projectId }, undefined, {}))
  const drawn = drawClicks(shown.html, {
    links,
    clickedCount,
    body,
    untracked: untrackedPrefixes(publicUrl),
    peoplePath: (link) => `/app/p/${projectId}/campaigns/${id}/recipients?${new URLSearchParams({ link })}`,
  })
  const frameUrl = await transact(db, (tx) => savePreviewPage(tx, secrets, { projectId, html: drawn.html, kind: 'clicks' }))
  return { frameUrl, links: drawn.links }
}
