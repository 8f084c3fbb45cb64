import { z } from 'zod'
import { transact } from '../db/index.ts'
import { requireSenderDomain } from '../http/auth/scopes.ts'
import { requireSendersOf } from '../http/auth/what-sends.ts'
import { readIfMatch } from '../http/core/if-match.ts'
import { CursorQuery, cursorList, pageList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import { readTransport } from '../nodes/instance.ts'
import { campaignResource } from './campaign-resource.ts'
import { AuditEntry, actorOf, listActions } from './draft/audit.ts'
import { CAMPAIGN_BODY_LIMIT, CampaignBody, checkCampaign, ScheduledFor } from './draft/body.ts'
import { Campaign, CampaignListItem } from './draft/campaign.ts'
import { createCampaign, duplicateCampaign } from './draft/create.ts'
import { deleteCampaign } from './draft/delete.ts'
import { CampaignsQuery, listCampaigns } from './draft/list.ts'
import { replaceCampaign } from './draft/replace.ts'
import { CampaignStats, countRefused, statsOf } from './ledger/stats.ts'

const Replacement = CampaignBody.extend({
  scheduledFor: ScheduledFor.nullish().describe(
    'For a scheduled campaign: another time, or null to make it a draft again. Ignored for a draft.',
  ),
})

export function campaignRoutes(app: App, { db, secrets, config: { transportKind } }: Deps) {
  const route = routesOf(app, { tags: ['Campaigns'], caller: 'project', role: 'MEMBER', scope: 'campaigns', read: true })
  const ofCampaign = campaignResource(app, db)
  const bodyLimit = CAMPAIGN_BODY_LIMIT

  route.get(
    '/campaigns',
    { summary: 'List campaigns', querystring: CampaignsQuery, response: pageList(CampaignListItem), slowRead: true },
    async (req, reply) => sendPage(reply, await listCampaigns(db, req.project.id, req.query)),
  )

  route.post(
    '/campaigns',
    {
      summary: 'Create a campaign',
      description: 'Creates a draft. An unverified sender is refused with 403.',
      body: CampaignBody,
      audit: 'campaign.create',
      senders: ['new'],
      stops: 'never',
      response: z.object({ success: z.literal(true), data: Campaign }),
      refusals: ['RESOURCE_NOT_FOUND'],
      bodyLimit,
    },
    async (req) => {
      const content = await checkCampaign(db, req.project.id, req.body)
      requireSenderDomain(req.project, content.from)
      const created = await transact(req.db, (tx) => createCampaign(tx, req.project.id, content))
      return { success: true as const, data: created }
    },
  )

  ofCampaign.get('/campaigns/:id', { summary: 'Get a campaign', response: Campaign, etag: true }, async (_req, campaign) => campaign)

  ofCampaign.put(
    '/campaigns/:id',
    {
      summary: 'Replace a campaign',
      description: 'Replaces the content and the audience of a draft or a scheduled campaign.',
      body: Replacement,
      audit: 'campaign.update',
      senders: ['stored', 'new', 'live'],
      stops: 'some',
      response: Campaign,
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      bodyLimit,
      etag: true,
    },
    async (req, { projectId, id }) => {
      const { scheduledFor, ...given } = req.body
      const content = await checkCampaign(db, projectId, given)
      requireSenderDomain(req.project, content.from)
      const edit = { projectId, id, caller: req.project, content, scheduledFor, revisions: readIfMatch(req), actor: actorOf(req) }
      return transact(req.db, (tx) => replaceCampaign(tx, edit))
    },
  )

  ofCampaign.delete(
    '/campaigns/:id',
    {
      summary: 'Delete a campaign',
      description: 'Refused while it is scheduled or being sent. Its emails stay.',
      audit: 'campaign.delete',
      senders: ['stored'],
      stops: 'never',
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, { projectId, id }, reply) => {
      await transact(req.db, async (tx) => {
        await requireSendersOf(tx, req.project, { campaign: id })
        await deleteCampaign(tx, { projectId, id })
      })
      return reply.status(204).send(null)
    },
  )

  ofCampaign.post(
    '/campaigns/:id/duplicate',
    {
      summary: 'Duplicate a campaign',
      description: 'Copies content and audience into a new draft.',
      audit: 'campaign.duplicate',
      senders: ['stored'],
      stops: 'never',
      response: { 201: Campaign },
    },
    async (req, { projectId, id }, reply) => {
      const copy = await transact(req.db, async (tx) => {
        const copied = await duplicateCampaign(tx, { projectId, id })
        requireSenderDomain(req.project, copied.from)
        return copied
      })
      return reply.status(201).send(copy)
    },
  )

  ofCampaign.get('/campaigns/:id/stats', { summary: 'Get the results of a campaign', response: CampaignStats }, async (_req, campaign) => {
    const transport = transportKind ?? (await readTransport(db))
    const deliveryReported = campaign.deliveredCount > 0 || transport !== 'smtp'
    return statsOf(campaign, { refusedCount: await countRefused(db, campaign), deliveryReported })
  })

  ofCampaign.get(
    '/campaigns/:id/audit',
    {
      summary: 'List what was done to a campaign',
      description: 'Starts, schedules, pauses, resumes, cancellations and resends, each with its author, newest first.',
      querystring: CursorQuery,
      response: cursorList(AuditEntry),
    },
    (req, { projectId, id }) => listActions(db, secrets, { projectId, id }, req.query),
  )
}
