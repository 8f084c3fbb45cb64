import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ANYONE } from '../../../http/auth/declaration.ts'
import { readStorableJson } from '../../../http/core/json.ts'
import type { App, Deps } from '../../../http/core/types.ts'
import { createWindowCounter } from '../../../lib/concurrency/window-counter.ts'
import { fail } from '../../../lib/errors/errors.ts'
import { createRareWarning } from '../../../lib/process/rare-warning.ts'
import { KB, MINUTE } from '../../../lib/text/units.ts'
import { createEnvelopeReader, type Envelope } from './envelope.ts'
import { confirmationUrl, type SnsClient } from './sns-client.ts'
import { createNotificationStore } from './store.ts'

const MAX_BODY = 256 * KB
/** A topic is confirmed once. Anybody who has seen the signed request can replay it. */
const CONFIRMATIONS = { limit: 10, windowMs: MINUTE }

export async function notificationRoutes(app: App, { db, config, log }: Deps, sns: SnsClient) {
  const readEnvelope = createEnvelopeReader(sns, config.snsTopics)
  const store = createNotificationStore(db)
  const confirmations = createWindowCounter(CONFIRMATIONS)
  const warn = createRareWarning(log)

  /** Without the warning, an unlisted topic or a proxy that alters requests would go unnoticed until bounces are missing. */
  async function readOrWarn({ body, ip }: FastifyRequest) {
    try {
      return await readEnvelope(body)
    } catch (err) {
      warn({ reason: (err as Error).message, ip }, 'refused a notification')
      throw err
    }
  }

  async function confirm({ SubscribeURL, TopicArn }: Envelope & { SubscribeURL: string }) {
    const url = confirmationUrl(SubscribeURL, TopicArn) ?? fail('FORBIDDEN', { message: 'The confirmation URL is not one of Amazon SNS.' })
    if (confirmations.count(TopicArn)) fail('SERVICE_UNAVAILABLE', { retryAfter: confirmations.retryAfter(TopicArn) })
    await sns
      .confirm(url)
      .catch((err) => fail('SERVICE_UNAVAILABLE', { message: 'The subscription could not be confirmed.', retryAfter: 30, cause: err }))
    log.info({ topic: TopicArn }, 'subscribed to an Amazon SNS topic')
  }

  // A scope of its own: SNS sends JSON as text/plain, which no other route accepts.
  await app.register(async (scope) => {
    scope.addContentTypeParser('text/plain', { parseAs: 'buffer' }, async (_req: unknown, bytes: Buffer) => readStorableJson(bytes))
    scope.post(
      '/webhooks/sns',
      {
        bodyLimit: MAX_BODY,
        config: ANYONE,
        schema: { hide: true, response: { 200: z.object({ success: z.literal(true) }) } },
      },
      async (req) => {
        const envelope = await readOrWarn(req)
        if (envelope.Type === 'Notification') await store.submit({ id: envelope.MessageId, message: envelope.Message })
        else if (envelope.Type === 'SubscriptionConfirmation') await confirm(envelope)
        else log.warn({ topic: envelope.TopicArn }, 'no longer subscribed to an Amazon SNS topic')
        return { success: true as const }
      },
    )
  })
}
