import { z } from 'zod'
import { transact } from '../db/index.ts'
import { auditWithoutChange } from '../http/audit.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { cursorList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Id } from '../http/core/validate.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { NO_CONTENT, resource, routesOf } from '../http/resource.ts'
import { Queued } from '../jobs/job.ts'
import { fail, invalid, notFound } from '../lib/errors/errors.ts'
import { createDns } from '../lib/network/dns.ts'
import { createSafeFetch } from '../lib/network/safe-fetch.ts'
import { refusalOfUrl } from '../lib/network/webhook-target.ts'
import { refuseWhileHeld } from '../nodes/sending-hold.ts'
import { webhookTargetOf } from '../webhooks/target-of.ts'
import { DeliveriesQuery, findDelivery, listDeliveries, WebhookDelivery } from './deliveries.ts'
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  EndpointBody,
  EndpointPatch,
  type EndpointRow,
  getEndpoint,
  listEndpoints,
  MAX_GRACE_HOURS,
  rotateEndpointSecret,
  showEndpoint,
  WebhookEndpoint,
} from './endpoint.ts'
import { queueReplay, ReplayBody, replayDelivery } from './replay.ts'
import { sendTest, TestAnswer } from './send-test.ts'

const EndpointId = z.object({ id: Id('webhook endpoint') })
const DeliveryId = EndpointId.extend({ deliveryId: Id('delivery') })
/** They show the signing secret, so `read` does not open them. */
const COMMON = { tags: ['Webhooks'], caller: 'project', role: 'ADMIN', scope: 'full', read: false, ...SENDS_NOTHING } as const

const endpointResource = (app: App, db: Deps['db']) =>
  resource(app, {
    ...COMMON,
    params: EndpointId,
    find: (req, { id }) => getEndpoint(db, { projectId: req.project.id, id }),
  })

export function webhookEndpointRoutes(app: App, { db, secrets, config }: Deps) {
  const route = routesOf(app, COMMON)
  const target = webhookTargetOf(config)
  const safeFetch = createSafeFetch(createDns({ servers: config.dnsServers }), target)
  const attempts = createQuotaCounter(db, secrets)
  const show = (row: EndpointRow) => showEndpoint(secrets, row)
  const endpoint = endpointResource(app, db)

  /** The addresses of a name are checked when a request is made. */
  function checkUrl(url: string | undefined) {
    const read = url === undefined ? undefined : refusalOfUrl(url, target)
    if (read && 'refusal' in read) invalid('url', read.refusal)
  }

  route.get('/webhook-endpoints', { summary: 'List webhook endpoints', response: z.array(WebhookEndpoint) }, async (req) =>
    (await listEndpoints(db, req.project.id)).map(show),
  )

  route.post(
    '/webhook-endpoints',
    {
      summary: 'Create a webhook endpoint',
      description: 'Sterna tells it what happens in the project, by POST requests signed as Standard Webhooks describes. At most 20.',
      body: EndpointBody,
      audit: 'webhook_endpoint.create',
      auditsValues: true,
      response: { 201: WebhookEndpoint },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      checkUrl(req.body.url)
      const row = await transact(req.db, (tx) => createEndpoint(tx, secrets, req.project.id, req.body))
      return reply.status(201).send(show(row))
    },
  )

  endpoint.get('/webhook-endpoints/:id', { summary: 'Get a webhook endpoint', response: WebhookEndpoint }, async (_req, row) => show(row))

  endpoint.patch(
    '/webhook-endpoints/:id',
    {
      summary: 'Change a webhook endpoint',
      description: 'Deliveries that waited when a request disabled it go on once it is enabled.',
      body: EndpointPatch,
      audit: 'webhook_endpoint.update',
      auditsValues: true,
      response: WebhookEndpoint,
    },
    async (req, { projectId, id }) => {
      checkUrl(req.body.url)
      return show(await transact(req.db, (tx) => changeEndpoint(tx, { projectId, id }, req.body)))
    },
  )

  endpoint.delete(
    '/webhook-endpoints/:id',
    { summary: 'Delete a webhook endpoint', audit: 'webhook_endpoint.delete', response: NO_CONTENT },
    async (req, { projectId, id }, reply) => {
      await transact(req.db, (tx) => deleteEndpoint(tx, { projectId, id }))
      return reply.status(204).send(null)
    },
  )

  endpoint.post(
    '/webhook-endpoints/:id/rotate-secret',
    {
      summary: 'Rotate the secret of a webhook endpoint',
      description: 'For `graceHours` requests are signed with both secrets.',
      body: z.object({ graceHours: z.int().min(0).max(MAX_GRACE_HOURS).default(0) }),
      bodyOptional: true,
      audit: 'webhook_endpoint.rotate_secret',
      response: WebhookEndpoint,
    },
    async (req, { projectId, id }) => {
      return show(await transact(req.db, (tx) => rotateEndpointSecret(tx, secrets, { projectId, id }, req.body.graceHours)))
    },
  )

  endpoint.post(
    '/webhook-endpoints/:id/test',
    {
      summary: 'Send a test request to a webhook endpoint',
      description: 'A signed request of the type `test`, now and once. It is not a delivery. 409 while an operator has held sending.',
      refusals: ['CONFLICT'],
      audit: 'webhook_endpoint.test',
      response: TestAnswer,
      onlyReads: true,
    },
    async (req, row) => {
      await refuseWhileHeld(db)
      await auditWithoutChange(req)
      await attempts.take({ scope: 'webhook-test', subject: row.projectId })
      return sendTest({ safeFetch, secrets }, row)
    },
  )

  deliveryRoutes(app, { db, secrets })
}

function deliveryRoutes(app: App, { db, secrets }: Pick<Deps, 'db' | 'secrets'>) {
  const endpoint = endpointResource(app, db)

  endpoint.get(
    '/webhook-endpoints/:id/deliveries',
    {
      summary: 'List deliveries of a webhook endpoint',
      description: 'The newest first. Those that failed are kept for 30 days, those that succeeded for 3.',
      querystring: DeliveriesQuery,
      response: cursorList(WebhookDelivery),
    },
    (req, { projectId, id }) => listDeliveries(db, secrets, { projectId, id }, req.query),
  )

  endpoint.post(
    '/webhook-endpoints/:id/deliveries/:deliveryId/replay',
    {
      summary: 'Make a delivery again',
      description: 'With the same `webhook-id` and payload, and with all attempts of a new delivery.',
      params: DeliveryId,
      audit: 'webhook_endpoint.replay_delivery',
      response: WebhookDelivery,
      refusals: ['CONFLICT'],
    },
    async (req, row) => {
      refuseDisabled(row)
      const key = { projectId: row.projectId, endpointId: row.id, id: req.params.deliveryId }
      const shown = await transact(req.db, async (tx) => ((await replayDelivery(tx, key)) ? findDelivery(tx, key) : undefined))
      return shown ?? notFound('delivery', key.id)
    },
  )

  endpoint.post(
    '/webhook-endpoints/:id/replay',
    {
      summary: 'Make the deliveries of a period again',
      body: ReplayBody,
      audit: 'webhook_endpoint.replay',
      auditsValues: true,
      response: { 202: Queued },
      refusals: ['CONFLICT'],
    },
    async (req, row, reply) => {
      refuseDisabled(row)
      const { jobId } = await transact(req.db, async (tx) => ({ id: row.id, jobId: await queueReplay(tx, row, req.body) }))
      return reply.status(202).send({ message: 'The deliveries are made again.', jobId })
    },
  )
}

function refuseDisabled({ enabled }: EndpointRow) {
  if (!enabled) fail('CONFLICT', { message: 'The endpoint is disabled.', suggestion: 'Enable it first.' })
}
