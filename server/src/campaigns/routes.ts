import { z } from 'zod'
import { transact } from '../db/index.ts'
import { readTransport } from '../db/instance.ts'
import { readIfMatch } from '../http/if-match.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { CursorQuery, cursorList, pageList } from '../http/paging.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { isId } from '../lib/id.ts'
import { AuditEntry, actorOf, listActions } from './draft/audit.ts'
import { CAMPAIGN_BODY_LIMIT, CampaignBody, checkCampaign, ScheduledFor } from './draft/body.ts'
import { Campaign, CampaignListItem, campaignNotFound, getCampaign } from './draft/campaign.ts'
import { createCampaign, duplicateCampaign } from './draft/create.ts'
import { deleteCampaign } from './draft/delete.ts'
import { CampaignsQuery, listCampaigns } from './draft/list.ts'
import { replaceCampaign } from './draft/replace.ts'
import { CampaignStats, countRefused, statsOf } from './ledger/stats.ts'

export const CampaignParam = z.object({ id: z.string() })

const Replacement = CampaignBody.extend({
  scheduledFor: ScheduledFor.nullish().describe(
    'For a scheduled campaign: another time, or null to make it a draft again. Ignored for a draft.',
  ),
})

export function campaignRoutes(app: App, { db, secrets, config: { transportKind } }: Deps) {
  const route = routesOf(app, { tags: ['Campaigns'], caller: 'project' })
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
      response: z.object({ success: z.literal(true), data: Campaign }),
      refusals: ['RESOURCE_NOT_FOUND'],
      bodyLimit,
    },
    async (req) => {
      const content = await checkCampaign(db, req.project.id, req.body)
      const created = await transact(req.db, (tx) => createCampaign(tx, req.project.id, content))
      return { success: true as const, data: created }
    },
  )

  route.get('/campaigns/:id', { summary: 'Get a campaign', params: CampaignParam, response: Campaign, etag: true }, (req) =>
    getCampaign(db, { projectId: req.project.id, id: req.params.id }),
  )

  route.put(
    '/campaigns/:id',
    {
      summary: 'Replace a campaign',
      description: 'Replaces the content and the audience of a draft or a scheduled campaign.',
      params: CampaignParam,
      body: Replacement,
      audit: 'campaign.update',
      response: Campaign,
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      bodyLimit,
      etag: true,
    },
    async (req) => {
      const key = { projectId: req.project.id, id: req.params.id }
      await getCampaign(db, key)
      const { scheduledFor, ...given } = req.body
      const content = await checkCampaign(db, key.projectId, given)
      const edit = { ...key, content, scheduledFor, revisions: readIfMatch(req), actor: actorOf(req) }
      return (await transact(req.db, (tx) => replaceCampaign(tx, edit))) ?? campaignNotFound(key.id)
    },
  )

  route.delete(
    '/campaigns/:id',
    {
      summary: 'Delete a campaign',
      description: 'Refused while it is scheduled or being sent. Its emails stay.',
      params: CampaignParam,
      audit: 'campaign.delete',
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const { id } = req.params
      const deleted = isId(id) && (await transact(req.db, (tx) => deleteCampaign(tx, { projectId: req.project.id, id })))
      return deleted ? reply.status(204).send(null) : campaignNotFound(id)
    },
  )

  route.post(
    '/campaigns/:id/duplicate',
    {
      summary: 'Duplicate a campaign',
      description: 'Copies content and audience into a new draft.',
      params: CampaignParam,
      audit: 'campaign.duplicate',
      response: { 201: Campaign },
    },
    async (req, reply) => {
      const { id } = req.params
      const copy = isId(id) && (await transact(req.db, (tx) => duplicateCampaign(tx, { projectId: req.project.id, id })))
      return reply.status(201).send(copy || campaignNotFound(id))
    },
  )

  route.get(
    '/campaigns/:id/stats',
    { summary: 'Get the results of a campaign', params: CampaignParam, response: CampaignStats },
    async (req) => {
      const campaign = await getCampaign(db, { projectId: req.project.id, id: req.params.id })
      const transport = transportKind ?? (await readTransport(db))
      const deliveryReported = campaign.deliveredCount > 0 || transport !== 'smtp'
      return statsOf(campaign, { refusedCount: await countRefused(db, campaign), deliveryReported })
    },
  )

  route.get(
    '/campaigns/:id/audit',
    {
      summary: 'List what was done to a campaign',
      description: 'Who started, scheduled, paused, resumed, cancelled or resent it, newest first.',
      params: CampaignParam,
      querystring: CursorQuery,
      response: cursorList(AuditEntry),
    },
    async (req) => {
      const { projectId, id } = await getCampaign(db, { projectId: req.project.id, id: req.params.id })
      return listActions(db, secrets, { projectId, id }, req.query)
    },
  )
}
