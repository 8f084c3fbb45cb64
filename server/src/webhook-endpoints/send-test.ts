import { z } from 'zod'
import { newId } from '../lib/id.ts'
import type { SafeFetch } from '../lib/network/safe-fetch.ts'
import type { Secrets } from '../lib/secrets.ts'
import { CALL_TIMEOUT_MS } from '../webhooks/calls.ts'
import { hasSucceeded, reasonOf } from '../webhooks/retry.ts'
import { createWebhookSigner, openSecrets } from '../webhooks/sign.ts'
import { headersOf } from './deliver.ts'
import type { EndpointRow } from './endpoint.ts'
import { payloadOf } from './payload.ts'

export const TestAnswer = z.object({
  status: z.int().nullable().describe('The HTTP status of the reply; null if there was no reply.'),
  durationMs: z.int(),
  error: z.string().nullable(),
})

/** One signed request of the type `test`, made now. */
export async function sendTest({ safeFetch, secrets }: { safeFetch: SafeFetch; secrets: Secrets }, endpoint: EndpointRow) {
  const id = newId()
  const at = new Date()
  const data = { message: 'A test of this webhook endpoint.' }
  const message = { id, type: 'test', name: 'test', contactId: null, contactEmail: null, emailId: null, data, createdAt: at.toISOString() }
  const body = JSON.stringify(payloadOf(endpoint.projectId, message))
  const headers = headersOf(createWebhookSigner(openSecrets(secrets, endpoint)), { id, at, body })
  const outcome = await safeFetch({ url: endpoint.url, method: 'POST', headers, body, timeoutMs: CALL_TIMEOUT_MS })
  const error = hasSucceeded(outcome) ? null : reasonOf(outcome)
  return { status: outcome.is === 'status' ? outcome.status : null, durationMs: outcome.ms, error }
}
