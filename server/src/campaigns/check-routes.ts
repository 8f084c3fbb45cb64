import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { sendTestEmail, TestEmailAnswer } from '../delivery/emails/test-email.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { frameSchema, readFrameToken, sendFrame } from '../http/preview-frame.ts'
import { routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { Address } from '../http/validate.ts'
import { notFound } from '../lib/errors.ts'
import { findPreviewPage } from '../templates/preview-pages.ts'
import { getCampaign } from './draft/campaign.ts'
import { ClicksPreview, previewClicks } from './draft/clicks-preview.ts'
import { contentOfCampaign } from './draft/content.ts'
import { CampaignLink, listLinks } from './draft/links.ts'
import { Preflight, preflightCampaign } from './draft/preflight.ts'
import { CampaignParam } from './routes.ts'

/** What one looks at before and after a campaign is sent. */
export function campaignCheckRoutes(app: App, { db, secrets, config: { sendRatePerSecond: ratePerSecond, publicUrl } }: Deps) {
  const route = routesOf(app, { tags: ['Campaigns'], caller: 'project' })
  const quotas = createQuotaCounter(db, secrets)
  const find = (req: FastifyRequest) => getCampaign(db, { projectId: req.project.id, id: (req.params as { id: string }).id })

  route.post(
    '/campaigns/:id/test',
    {
      summary: 'Send a test email of a campaign',
      description:
        'Sends the campaign to one address, with `[TEST]` in its subject. Rendered for the contact with this address, if there is one. Ignores ' +
        'subscriptions, not suppressions. The email has `test: true`, is not tracked, and is in no counts. At most 60 an hour and project.',
      params: CampaignParam,
      body: z.object({ email: Address }),
      response: TestEmailAnswer,
    },
    async (req) => {
      const campaign = await find(req)
      const { projectId, id: campaignId } = campaign
      const content = contentOfCampaign(campaign)
      return sendTestEmail(
        { db, quotas },
        { projectId, to: req.body.email, content, sourceType: 'CAMPAIGN', campaignId, requestId: req.id },
      )
    },
  )

  route.get(
    '/campaigns/:id/preflight',
    {
      summary: 'Check a campaign before sending it',
      description: 'Who will get it and who will not, what is missing, and how long it will take. Sending does not need it.',
      params: CampaignParam,
      response: Preflight,
      slowRead: true,
    },
    async (req) => preflightCampaign(db, await find(req), { ratePerSecond }),
  )

  route.get(
    '/campaigns/:id/links',
    {
      summary: 'List the links of a campaign',
      description:
        'Clicks and people, without machines; first the links that most people clicked, last those that nobody clicked. A link with variables is ' +
        'listed as it was clicked, or as it is written if nobody clicked it.',
      params: CampaignParam,
      response: z.object({ data: z.array(CampaignLink) }),
      slowRead: true,
    },
    async (req) => ({ data: await listLinks(db, await find(req)) }),
  )

  route.post(
    '/campaigns/:id/links/preview',
    {
      summary: 'Show the clicks of a campaign on its email',
      description:
        'Renders the email for a made-up recipient, with a label at each tracked link: the people that clicked it, and their share. A link that ' +
        'is at several places has one figure.',
      params: CampaignParam,
      response: ClicksPreview,
      slowRead: true,
      onlyReads: true,
    },
    async (req) => previewClicks({ db, secrets, publicUrl }, await find(req)),
  )

  app.get('/preview/clicks/:token', { config: { caller: 'anyone' }, schema: frameSchema }, async (req, reply) => {
    const page = await findPreviewPage(db, readFrameToken(secrets, 'clicks', req.params.token))
    return sendFrame(reply, page?.html ?? notFound('preview', req.params.token), { ...req.query, opensTabs: true })
  })
}
