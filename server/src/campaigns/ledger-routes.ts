import { z } from 'zod'
import { transact } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { cursorList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Queued } from '../jobs/job.ts'
import { csvExportRoutes } from '../projects/csv/csv-export-routes.ts'
import { campaignResource } from './campaign-resource.ts'
import { AudienceContact, AudienceQuery, listAudience } from './draft/audience-list.ts'
import { CopiedToSegment, CopyToSegmentBody, queueCopyToSegment } from './ledger/copy-to-segment.ts'
import { ExcludedContact, ExcludedQuery, listExcluded } from './ledger/excluded.ts'
import { CampaignExportBody, campaignExport, queueCampaignExport } from './ledger/export.ts'
import { CampaignHour, listHours } from './ledger/hours.ts'
import { CampaignReason, listReasons } from './ledger/reasons.ts'
import { CampaignRecipient, listRecipients, RecipientsQuery } from './ledger/recipients.ts'

/** Lists of recipients and of excluded contacts, with reasons. */
export function campaignLedgerRoutes(app: App, { db, secrets }: Deps) {
  const route = campaignResource(app, db)

  route.get(
    '/campaigns/:id/recipients',
    {
      summary: 'List the recipients of a campaign',
      description: 'With the outcome of each and its reason. Recipients are fixed when the campaign starts.',
      querystring: RecipientsQuery,
      response: cursorList(CampaignRecipient),
      slowRead: true,
    },
    (req, campaign) => listRecipients(db, secrets, campaign, req.query),
  )

  route.get(
    '/campaigns/:id/excluded',
    {
      summary: 'List the excluded contacts of a campaign',
      description: 'Contacts that matched the audience when the campaign started, and might not get the email.',
      querystring: ExcludedQuery,
      response: cursorList(ExcludedContact),
      slowRead: true,
    },
    (req, campaign) => listExcluded(db, secrets, campaign, req.query),
  )

  route.get(
    '/campaigns/:id/audience',
    {
      summary: 'List the audience of a campaign',
      description: 'The contacts behind the numbers of `preflight`: who would get it now, and who would not.',
      querystring: AudienceQuery,
      response: cursorList(AudienceContact),
      slowRead: true,
    },
    (req, campaign) => listAudience(db, secrets, campaign, req.query),
  )

  route.get(
    '/campaigns/:id/reasons',
    {
      summary: 'Count the recipients of a campaign by reason',
      description: 'Recipients whose email failed, was skipped or is open. Sent emails have no reason.',
      response: z.object({ data: z.array(CampaignReason) }),
      slowRead: true,
    },
    async (_req, campaign) => ({ data: await listReasons(db, campaign) }),
  )

  route.get(
    '/campaigns/:id/hours',
    {
      summary: 'List the first 48 hours of a campaign',
      description: 'Emails sent, and recipients that opened or clicked, by hour. Empty before the start.',
      response: z.object({ data: z.array(CampaignHour) }),
      slowRead: true,
    },
    async (_req, campaign) => ({ data: await listHours(db, campaign) }),
  )

  route.post(
    '/campaigns/:id/copy-to-segment',
    {
      summary: 'Copy recipients of a campaign to a new static segment',
      description: 'By a job. The segment is there at once; recipients whose contact was deleted are left out.',
      body: CopyToSegmentBody,
      audit: 'campaign.copy_to_segment',
      scope: { all: ['campaigns', 'contacts'] },
      ...SENDS_NOTHING,
      response: { 202: CopiedToSegment },
      refusals: ['CONFLICT'],
    },
    async (req, campaign, reply) => {
      const queued = await transact(req.db, (tx) => queueCopyToSegment(tx, campaign, req.body))
      return reply.status(202).send({ message: 'The recipients are being copied.', ...queued })
    },
  )

  route.post(
    '/campaigns/:id/export',
    {
      summary: 'Export recipients or excluded contacts of a campaign',
      description: 'As CSV, by a job. At most two unfinished exports per project.',
      body: CampaignExportBody,
      audit: 'campaign_export.create',
      ...SENDS_NOTHING,
      scope: 'full',
      response: { 202: Queued },
    },
    async (req, campaign, reply) => {
      const jobId = await transact(req.db, (tx) => queueCampaignExport(tx, campaign, req.body))
      return reply.status(202).send({ message: 'The export is queued.', jobId })
    },
  )

  csvExportRoutes(app, { db }, { path: '/campaigns', tags: ['Campaigns'], type: campaignExport.type, noun: 'a campaign', file: 'campaign' })
}
