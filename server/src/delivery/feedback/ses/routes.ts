import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readStorableJson } from '../../../http/json.ts'
import type { App, Deps } from '../../../http/server.ts'
import { fail } from '../../../lib/errors.ts'
import { createRareWarning } from '../../../lib/rare-warning.ts'
import { KB, MINUTE } from '../../../lib/units.ts'
import { createTally } from '../../../lib/window-counter.ts'
import { createReader, type Envelope } from './envelope.ts'
import { confirmationOf, type Sns } from './sns-client.ts'
import { createAccept } from './store.ts'

const MAX_BODY = 256 * KB
/** A topic is confirmed once; a signed request to do so may be repeated by anybody who has seen it. */
const CONFIRMATIONS = { limit: 10, windowMs: MINUTE }

export async function notificationRoutes(app: App, { db, config, log }: Deps, sns: Sns) {
  const read = createReader(sns, config.snsTopics)
  const accept = createAccept(db)
  const confirmations = createTally(CONFIRMATIONS)
  const warn = createRareWarning(log)

  /** A topic that is not on the list, or a proxy that alters what passes, would else be found when mails are missed. */
  async function readOrWarn({ body, ip }: FastifyRequest) {
    try {
      return await read(body)
    } catch (err) {
      warn({ reason: (err as Error).message, ip }, 'refused a notification')
      throw err
    }
  }

  async function confirm({ SubscribeURL, TopicArn }: Envelope & { SubscribeURL: string }) {
    const url = confirmationOf(SubscribeURL, TopicArn) ?? fail('FORBIDDEN', { message: 'The confirmation is not one of Amazon SNS.' })
    if (confirmations.hit(TopicArn)) fail('SERVICE_UNAVAILABLE', { retryAfter: confirmations.retryAfter(TopicArn) })
    await sns.confirm(url).catch((err) => fail('SERVICE_UNAVAILABLE', { message: 'Could not be confirmed.', retryAfter: 30, cause: err }))
    log.info({ topic: TopicArn }, 'subscribed to a topic of Amazon SNS')
  }

  // In a scope of its own: SNS says that its JSON is text, and nobody else may.
  await app.register(async (scope) => {
    scope.addContentTypeParser('text/plain', { parseAs: 'buffer' }, async (_req: unknown, bytes: Buffer) => readStorableJson(bytes))
    scope.post(
      '/webhooks/sns',
      {
        bodyLimit: MAX_BODY,
        config: { caller: 'anyone' },
        schema: { hide: true, response: { 200: z.object({ success: z.literal(true) }) } },
      },
      async (req) => {
        const envelope = await readOrWarn(req)
        if (envelope.Type === 'Notification') await accept.submit({ id: envelope.MessageId, message: envelope.Message })
        else if (envelope.Type === 'SubscriptionConfirmation') await confirm(envelope)
        else log.warn({ topic: envelope.TopicArn }, 'no longer subscribed to a topic of Amazon SNS')
        return { success: true as const }
      },
    )
  })
}
