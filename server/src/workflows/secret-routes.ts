import { z } from 'zod'
import { transact } from '../db/index.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Id, Timestamp } from '../http/core/validate.ts'
import { routesOf } from '../http/resource.ts'
import { getWebhookSecret, rotateWebhookSecret, type WebhookSecret } from './webhooks/webhook-secret.ts'

const Secret = z.object({
  secret: z.string().describe('Signs webhooks by Standard Webhooks (HMAC-SHA256).'),
  previousUntil: Timestamp.nullable().describe('After a rotation, requests are also signed with the secret before, until this time.'),
})

const show = ({ secret, previousUntil }: WebhookSecret) => ({ secret, previousUntil })

export function webhookSecretRoutes(app: App, { db, secrets }: Deps) {
  const route = routesOf(app, { tags: ['Projects'], caller: 'session', role: 'ADMIN', ...NO_KEYS })
  const params = z.object({ id: Id('project') })

  route.get('/projects/:id/webhook-secret', { summary: 'Get the secret that signs webhooks', params, response: Secret }, async (req) =>
    show(await getWebhookSecret(db, secrets, req.project.id)),
  )

  route.post(
    '/projects/:id/webhook-secret',
    {
      summary: 'Rotate the secret that signs webhooks',
      description: 'For a day requests are signed with both secrets.',
      params,
      audit: 'webhook_secret.rotate',
      response: Secret,
    },
    async (req) => show(await transact(req.db, (tx) => rotateWebhookSecret(tx, secrets, req.project.id))),
  )
}
