import type { FastifyRequest } from 'fastify'
import type Stripe from 'stripe'
import { z } from 'zod'
import { countAffected, type Tx, transact } from '../db/index.ts'
import { ANYONE } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { StripeConfig } from '../lib/config.ts'
import { fail } from '../lib/errors/errors.ts'
import { createRareWarning } from '../lib/process/rare-warning.ts'
import { KB } from '../lib/text/units.ts'
import { openStripe, requireStripe } from './stripe.ts'

const MAX_BODY = 256 * KB
const TOLERANCE_SECONDS = 300

/** Notifications after which the subscription of their customer is looked up. */
const RELEVANT = /^(checkout\.session\.|customer\.subscription\.|invoice\.(paid|payment_failed))/

/** Notifications of Stripe. The answer follows the commit; a job does the work. */
export async function stripeWebhookRoutes(app: App, { db, config, log }: Deps) {
  const warn = createRareWarning(log)

  async function readEvent(req: FastifyRequest, stripe: StripeConfig) {
    try {
      return await verifyEvent(req, stripe)
    } catch (err) {
      warn({ reason: (err as Error).message, ip: req.ip }, 'refused a notification of Stripe')
      return fail('INVALID_SIGNATURE', { statusCode: 400 })
    }
  }

  // A scope of its own: the signature covers the bytes of the body, which other routes do not keep.
  await app.register(async (scope) => {
    scope.removeContentTypeParser('application/json')
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_req: unknown, bytes: Buffer) => bytes)
    scope.post(
      '/webhooks/incoming/stripe',
      {
        bodyLimit: MAX_BODY,
        config: ANYONE,
        schema: { hide: true, response: { 200: z.object({ success: z.literal(true) }) } },
      },
      async (req) => {
        const event = await readEvent(req, requireStripe(config.stripe))
        await transact(db, (tx) => storeEvent(tx, event))
        return { success: true as const }
      },
    )
  })
}

/** The library accepts times in the future. A signed notification from the future could be kept and replayed. */
async function verifyEvent({ body, headers }: FastifyRequest, { secretKey, apiBase, webhookSecret }: StripeConfig): Promise<Stripe.Event> {
  const signature = headers['stripe-signature']
  if (typeof signature !== 'string' || !Buffer.isBuffer(body)) throw new Error('no signature')
  const stripe = await openStripe({ secretKey, apiBase })
  const event = stripe.webhooks.constructEvent(body, signature, webhookSecret, TOLERANCE_SECONDS)
  const [, signedAt] = /(?:^|,)t=(\d{1,12})/.exec(signature) ?? []
  if (Number(signedAt) > Date.now() / 1000 + TOLERANCE_SECONDS) throw new Error('signed in the future')
  if (typeof event.id !== 'string' || typeof event.type !== 'string' || event.id.length > 255) throw new Error('not a notification')
  return event
}

/** Each notification counts once. It is trusted to name a customer, nothing else: the state is read from Stripe. */
async function storeEvent(tx: Tx, event: Stripe.Event) {
  const isNew = await countAffected(tx)`
    insert into stripe_events (id, type) values (${event.id}, ${event.type.slice(0, 200)}) on conflict do nothing
  `
  const customer = customerOf(event)
  if (!isNew || !customer || !RELEVANT.test(event.type)) return
  await enqueue(tx, 'billing.sync', { customer }, { key: `billing.sync:${customer}` })
}

/** The id of the customer, which may be expanded. */
function customerOf({ data }: Stripe.Event): string | undefined {
  const customer = (data?.object as { customer?: unknown } | undefined)?.customer
  const id = typeof customer === 'object' && customer !== null ? (customer as { id?: unknown }).id : customer
  return typeof id === 'string' && /^cus_\w{1,250}$/.test(id) ? id : undefined
}

/** Stripe repeats a notification for three days. */
export const dropOldStripeEvents = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from stripe_events where id in (
      select id from stripe_events where received_at < now() - interval '30 days' order by received_at limit ${limit})
  `
