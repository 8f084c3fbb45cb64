import { z } from 'zod'
import { sendTestEmail, TestEmailAnswer } from '../delivery/emails/test-email.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { requireSenderDomain } from '../http/auth/scopes.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address } from '../http/core/validate.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { FRAME_ROUTE, readFrameToken, sendFrame } from '../http/preview-frame.ts'
import { notFound } from '../lib/errors/errors.ts'
import { findPreviewPage } from '../templates/preview-pages.ts'
import { campaignResource } from './campaign-resource.ts'
import { contentOfCampaign } from './draft/campaign.ts'
import { ClicksPreview, previewClicks } from './draft/clicks-preview.ts'
import { CampaignLink, listLinks } from './draft/links.ts'
import { Preflight, preflightCampaign } from './draft/preflight.ts'

/** Preflight, test email and click preview. */
export function campaignCheckRoutes(app: App, { db, secrets, config: { sendRatePerSecond: ratePerSecond, publicUrl } }: Deps) {
  const route = campaignResource(app, db)
  const quotas = createQuotaCounter(db, secrets)

  route.post(
    '/campaigns/:id/test',
    {
      summary: 'Send a test email of a campaign',
      description:
        'Sends the campaign to one address, with `[TEST]` in its subject. Rendered for the contact with this address, if there is one. Ignores ' +
        'subscriptions, not suppressions. The email has `test: true`, is not tracked, and is in no counts. At most 60 an hour and project.',
      body: z.object({ email: Address }),
      audit: 'campaign.test',
      senders: ['stored'],
      stops: 'never',
      scope: 'send',
      response: TestEmailAnswer,
    },
    (req, campaign) => {
      const { projectId, id: campaignId } = campaign
      requireSenderDomain(req.project, campaign.from)
      const content = contentOfCampaign(campaign)
      const test = { projectId, to: req.body.email, content, sourceType: 'CAMPAIGN' as const, campaignId, requestId: req.id }
      return sendTestEmail({ db: req.db, quotas }, test)
    },
  )

  route.get(
    '/campaigns/:id/preflight',
    {
      summary: 'Check a campaign before sending it',
      description: 'Recipients, excluded contacts, missing values, and the time it will take. Sending does not need it.',
      response: Preflight,
      slowRead: true,
    },
    (_req, campaign) => preflightCampaign(db, campaign, { ratePerSecond }),
  )

  route.get(
    '/campaigns/:id/links',
    {
      summary: 'List the links of a campaign',
      description:
        'Clicks and people, without machines; first the links that most people clicked, last those that nobody clicked. A link with variables is ' +
        'listed as it was clicked, or as it is written if nobody clicked it.',
      response: z.object({ data: z.array(CampaignLink) }),
      slowRead: true,
    },
    async (_req, campaign) => ({ data: await listLinks(db, campaign) }),
  )

  route.post(
    '/campaigns/:id/links/preview',
    {
      summary: 'Show the clicks of a campaign on its email',
      description:
        'Renders the email for a made-up recipient, with a label at each tracked link: the people that clicked it, and their share. A link that ' +
        'is at several places has one figure.',
      response: ClicksPreview,
      slowRead: true,
      ...SENDS_NOTHING,
      audit: null,
      onlyReads: true,
    },
    (_req, campaign) => previewClicks({ db, secrets, publicUrl }, campaign),
  )

  app.get('/preview/clicks/:token', FRAME_ROUTE, async (req, reply) => {
    const page = await findPreviewPage(db, readFrameToken(secrets, 'clicks', req.params.token))
    return sendFrame(reply, page?.html ?? notFound('preview', req.params.token), { ...req.query, opensTabs: true })
  })
}
