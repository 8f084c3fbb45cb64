import { z } from 'zod'
import { type Pool, transact } from '../db/index.ts'
import { readTransport } from '../db/instance.ts'
import { readIfMatch } from '../http/if-match.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { CursorQuery, cursorList, pageList } from '../http/paging.ts'
import { EDITING, NoContent, resource, tagged } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { AuditEntry, actorOf, listActions } from './draft/audit.ts'
import { CAMPAIGN_BODY_LIMIT, CampaignBody, checkCampaign, ScheduledFor } from './draft/body.ts'
import { Campaign, findCampaign, showCampaign } from './draft/campaign.ts'
import { createCampaign, duplicateCampaign } from './draft/create.ts'
import { deleteCampaign } from './draft/delete.ts'
import { CampaignsQuery, listCampaigns } from './draft/list.ts'
import { replaceCampaign } from './draft/replace.ts'
import { CampaignStats, countRefused, statsOf } from './ledger/stats.ts'

/** Of the routes below `/campaigns/:id`. */
export const campaignResource = (db: Pool) => resource('campaign', (key) => findCampaign(db, key))

const Replacement = CampaignBody.extend({
  scheduledFor: ScheduledFor.nullish().describe(
    'For a scheduled campaign: another time, or null to make it a draft again. Ignored for a draft.',
  ),
})

const tags = ['Campaigns']
const config = { caller: 'project' as const }
const bodyLimit = CAMPAIGN_BODY_LIMIT

export function campaignRoutes(app: App, deps: Deps) {
  collectionRoutes(app, deps)
  itemRoutes(app, deps)
}

function collectionRoutes(app: App, { db }: Deps) {
  app.get(
    '/campaigns',
    {
      config: { ...config, slowRead: true },
      schema: { tags, summary: 'List campaigns', querystring: CampaignsQuery, response: { 200: pageList(Campaign) } },
    },
    async (req, reply) => sendPage(reply, await listCampaigns(db, req.project.id, req.query)),
  )

  app.post(
    '/campaigns',
    {
      config: { ...config, refusals: ['RESOURCE_NOT_FOUND'] },
      bodyLimit,
      schema: {
        tags,
        summary: 'Create a campaign',
        description: 'Creates a draft. An unverified sender is refused with 403.',
        body: CampaignBody,
        response: { 200: z.object({ success: z.literal(true), data: Campaign }) },
      },
    },
    async (req) => {
      const content = await checkCampaign(db, req.project.id, req.body)
      const created = await transact(db, (tx) => createCampaign(tx, req.project.id, content))
      return { success: true as const, data: showCampaign(created) }
    },
  )
}

function itemRoutes(app: App, { db, secrets, config: { transportKind } }: Deps) {
  const { params, find, on } = campaignResource(db)

  app.get(
    '/campaigns/:id',
    { config, schema: { tags, summary: 'Get a campaign', params, response: { 200: Campaign } } },
    async (req, reply) => {
      return tagged(reply, showCampaign(await find(req)))
    },
  )

  app.put(
    '/campaigns/:id',
    {
      config: { ...config, ...EDITING },
      bodyLimit,
      schema: {
        tags,
        summary: 'Replace a campaign',
        description: 'Replaces the content and the audience of a draft or a scheduled campaign.',
        params,
        body: Replacement,
        response: { 200: Campaign },
      },
    },
    async (req, reply) => {
      const { projectId } = await find(req)
      const { scheduledFor, ...given } = req.body
      const content = await checkCampaign(db, projectId, given)
      const edit = { content, scheduledFor, revisions: readIfMatch(req), actor: actorOf(req) }
      const replaced = await on(req, (key) => transact(db, (tx) => replaceCampaign(tx, { ...key, ...edit })))
      return tagged(reply, showCampaign(replaced))
    },
  )

  app.delete(
    '/campaigns/:id',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Delete a campaign',
        description: 'Refused while it is scheduled or being sent. Its emails stay.',
        params,
        response: { 204: NoContent },
      },
    },
    async (req, reply) => {
      await on(req, (key) => transact(db, (tx) => deleteCampaign(tx, key)))
      return reply.status(204).send(null)
    },
  )

  app.post(
    '/campaigns/:id/duplicate',
    {
      config,
      schema: {
        tags,
        summary: 'Duplicate a campaign',
        description: 'Copies content and audience into a new draft.',
        params,
        response: { 201: Campaign },
      },
    },
    async (req, reply) => {
      const copy = await on(req, (key) => transact(db, (tx) => duplicateCampaign(tx, key)))
      return reply.status(201).send(showCampaign(copy))
    },
  )

  app.get(
    '/campaigns/:id/stats',
    { config, schema: { tags, summary: 'Get the results of a campaign', params, response: { 200: CampaignStats } } },
    async (req) => {
      const campaign = await find(req)
      const transport = transportKind ?? (await readTransport(db))
      const deliveryReported = campaign.deliveredCount > 0 || transport !== 'smtp'
      return statsOf(campaign, { refusedCount: await countRefused(db, campaign), deliveryReported })
    },
  )

  app.get(
    '/campaigns/:id/audit',
    {
      config,
      schema: {
        tags,
        summary: 'List what was done to a campaign',
        description: 'Who started, scheduled, paused, resumed, cancelled or resent it, newest first.',
        params,
        querystring: CursorQuery,
        response: { 200: cursorList(AuditEntry) },
      },
    },
    async (req) => {
      const { projectId, id } = await find(req)
      return listActions(db, secrets, { projectId, id }, req.query)
    },
  )
}
