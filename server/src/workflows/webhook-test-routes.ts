import { z } from 'zod'
import { Data } from '../contacts/record/data.ts'
import { auditWithoutChange } from '../http/audit.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { contactNotFound, invalid } from '../lib/errors/errors.ts'
import { NIL_ID, newId } from '../lib/id.ts'
import { createDns } from '../lib/network/dns.ts'
import { createSafeFetch } from '../lib/network/safe-fetch.ts'
import { SECOND } from '../lib/text/units.ts'
import { refuseWhileHeld } from '../nodes/sending-hold.ts'
import { signWebhook } from '../webhooks/sign.ts'
import { webhookTargetOf } from '../webhooks/target-of.ts'
import { readGivenStepConfig } from './definition/step-config.ts'
import type { WorkflowRow } from './definition/workflow.ts'
import { ListenedEvent } from './steps/wait-for-event.ts'
import { buildWebhookRequest, readWebhookContact, type WebhookConfig } from './steps/webhook-request.ts'
import { getWebhookSecret } from './webhooks/webhook-secret.ts'
import { workflowResource } from './workflow-resource.ts'

const TIMEOUT_MS = 10 * SECOND

const Tested = z.object({
  config: z.unknown().describe('The config of a WEBHOOK step, saved or not.'),
  contactId: z.uuid().optional().describe('The contact of the execution; a made-up one by default.'),
  event: z.object({ name: ListenedEvent, data: Data.optional() }).optional().describe('The event that started the execution.'),
})
const WebhookRequestShown = z.object({
  url: z.string(),
  method: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
})

/** A WEBHOOK step is looked at, and tried, before any contact comes to it. */
export function workflowWebhookTestRoutes(app: App, { db, secrets, config: settings }: Deps) {
  const route = workflowResource(app, db, ['CONTACT_NOT_FOUND'])
  const quotas = createQuotaCounter(db, secrets)
  const target = webhookTargetOf(settings)
  const safeFetch = createSafeFetch(createDns({ servers: settings.dnsServers }), target)

  route.post(
    '/workflows/:id/webhook-preview',
    {
      summary: 'Show the request of a webhook',
      description: 'As it would be made for this contact and event, without the signature. Calls nothing.',
      body: Tested,
      response: WebhookRequestShown,
      ...SENDS_NOTHING,
      audit: null,
      onlyReads: true,
    },
    async (req, workflow) => build(workflow, req.body),
  )

  route.post(
    '/workflows/:id/webhook-test',
    {
      summary: 'Call a webhook',
      description:
        'Makes the request once, signed, to the same addresses that WEBHOOK steps may call. Returns only the status of the reply. At most 60 an hour and project. 409 while an operator has held sending.',
      body: Tested,
      ...SENDS_NOTHING,
      audit: 'webhook.test',
      refusals: ['CONFLICT'],
      response: z.object({
        status: z.int().nullable().describe('Null: there was no reply.'),
        durationMs: z.int(),
        error: z.string().nullable(),
        request: WebhookRequestShown,
      }),
    },
    async (req, workflow) => {
      const request = await build(workflow, req.body)
      await refuseWhileHeld(db)
      await auditWithoutChange(req)
      await quotas.take({ scope: 'webhook-test', subject: workflow.projectId })
      const secret = await getWebhookSecret(db, secrets, workflow.projectId)
      const signature = signWebhook(secret, { id: `test_${newId()}`, at: new Date(), body: request.body ?? '' })
      const headers = { ...request.headers, ...signature }
      const answer = await safeFetch({ ...request, headers, body: request.body ?? undefined, timeoutMs: TIMEOUT_MS })
      return {
        status: answer.is === 'status' ? answer.status : null,
        durationMs: answer.ms,
        error: answer.is === 'status' ? null : answer.reason,
        request: { ...request, headers },
      }
    },
  )

  async function build({ projectId, id, name }: WorkflowRow, { config: given, contactId, event }: z.output<typeof Tested>) {
    const { config } = await readGivenStepConfig({ type: 'WEBHOOK', config: given }, { path: '', target, projectId, stored: undefined })
    const contact = contactId === undefined ? SAMPLE : ((await readWebhookContact(db, projectId, contactId)) ?? contactNotFound(contactId))
    const startedAt = new Date()
    const data = { ...event?.data?.set, ...event?.data?.transient }
    const started = event ? { id: newId(), name: event.name, data, createdAt: startedAt.toISOString() } : null
    const source = { id: newId(), context: {}, startedAt, event: started, workflow: { id, name }, contact, projectId }
    // Read by its own kind.
    const built = await buildWebhookRequest({ ...source, config: config as WebhookConfig })
    if ('problem' in built) return invalid('config', built.problem)
    return { ...built, body: built.body ?? null }
  }
}

const SAMPLE = {
  id: NIL_ID,
  email: 'ada@example.com',
  subscribed: true,
  createdAt: new Date('2026-01-01T00:00:00Z'),
  data: { firstName: 'Ada' },
}
