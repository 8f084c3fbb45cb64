import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { transact } from '../db/index.ts'
import { cursorList } from '../http/paging.ts'
import type { App, Deps } from '../http/server.ts'
import { Queued } from '../jobs/job.ts'
import { csvExportRoutes } from '../projects/csv-export-routes.ts'
import { AudienceContact, AudienceQuery, listAudience } from './draft/audience-list.ts'
import { getCampaign } from './draft/campaign.ts'
import { CopiedToSegment, CopyToSegmentBody, queueCopyToSegment } from './ledger/copy-to-segment.ts'
import { ExcludedContact, ExcludedQuery, listExcluded } from './ledger/excluded.ts'
import { CampaignExportBody, campaignExport, queueCampaignExport } from './ledger/export.ts'
import { CampaignHour, listHours } from './ledger/hours.ts'
import { CampaignReason, listReasons } from './ledger/reasons.ts'
import { CampaignRecipient, listRecipients, RecipientsQuery } from './ledger/recipients.ts'
import { CampaignParam } from './routes.ts'

/** Who gets a campaign, who does not, and why. */
export function campaignLedgerRoutes(app: App, { db, secrets }: Deps) {
  const tags = ['Campaigns']
  const config = { caller: 'project' as const }
  const slow = { ...config, slowRead: true }

  app.get(
    '/campaigns/:id/recipients',
    {
      config: slow,
      schema: {
        tags,
        summary: 'List the recipients of a campaign',
        description: 'With the outcome of each and its reason. Recipients are fixed when the campaign starts.',
        params: CampaignParam,
        querystring: RecipientsQuery,
        response: { 200: cursorList(CampaignRecipient) },
      },
    },
    async (req) => listRecipients(db, secrets, await find(req), req.query),
  )

  app.get(
    '/campaigns/:id/excluded',
    {
      config: slow,
      schema: {
        tags,
        summary: 'List the excluded contacts of a campaign',
        description: 'Contacts that matched the audience when the campaign started, and might not get the email.',
        params: CampaignParam,
        querystring: ExcludedQuery,
        response: { 200: cursorList(ExcludedContact) },
      },
    },
    async (req) => listExcluded(db, secrets, await find(req), req.query),
  )

  app.get(
    '/campaigns/:id/audience',
    {
      config: slow,
      schema: {
        tags,
        summary: 'List the audience of a campaign',
        description: 'The contacts behind the numbers of `preflight`: who would get it now, and who would not.',
        params: CampaignParam,
        querystring: AudienceQuery,
        response: { 200: cursorList(AudienceContact) },
      },
    },
    async (req) => listAudience(db, secrets, await find(req), req.query),
  )

  app.get(
    '/campaigns/:id/reasons',
    {
      config: slow,
      schema: {
        tags,
        summary: 'Count the recipients of a campaign by reason',
        description: 'Those that failed, were skipped or are open. Sent emails have no reason.',
        params: CampaignParam,
        response: { 200: z.object({ data: z.array(CampaignReason) }) },
      },
    },
    async (req) => ({ data: await listReasons(db, await find(req)) }),
  )

  app.get(
    '/campaigns/:id/hours',
    {
      config: slow,
      schema: {
        tags,
        summary: 'List the first 48 hours of a campaign',
        description: 'Emails sent, and recipients that opened or clicked, by hour. Empty before the start.',
        params: CampaignParam,
        response: { 200: z.object({ data: z.array(CampaignHour) }) },
      },
    },
    async (req) => ({ data: await listHours(db, await find(req)) }),
  )

  app.post(
    '/campaigns/:id/copy-to-segment',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Copy recipients of a campaign to a new static segment',
        description: 'By a job. The segment is there at once; recipients whose contact was deleted are left out.',
        params: CampaignParam,
        body: CopyToSegmentBody,
        response: { 202: CopiedToSegment },
      },
    },
    async (req, reply) => {
      const campaign = await find(req)
      const queued = await transact(db, (tx) => queueCopyToSegment(tx, campaign, req.body))
      return reply.status(202).send({ message: 'The recipients are being copied.', ...queued })
    },
  )

  app.post(
    '/campaigns/:id/export',
    {
      config,
      schema: {
        tags,
        summary: 'Export recipients or excluded contacts of a campaign',
        description: 'As CSV, by a job. At most two unfinished exports per project.',
        params: CampaignParam,
        body: CampaignExportBody,
        response: { 202: Queued },
      },
    },
    async (req, reply) => {
      const campaign = await find(req)
      const jobId = await transact(db, (tx) => queueCampaignExport(tx, campaign, req.body))
      return reply.status(202).send({ message: 'The export is queued.', jobId })
    },
  )

  csvExportRoutes(app, { db }, { path: '/campaigns', tags, type: campaignExport.type, noun: 'a campaign', file: 'campaign' })

  const find = (req: FastifyRequest) => getCampaign(db, { projectId: req.project.id, id: (req.params as { id: string }).id })
}
