import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import Stripe from 'stripe'

const WEBHOOK_SECRET = 'whsec_for_tests'

type Subscription = { id: string; status: string; customer: string; start: Date; periodStart: Date; periodEnd: Date; endedAt?: Date }
type MeterEvent = { event_name: string; identifier: string; timestamp: string; customer: string; value: number }
/** What the next request to a path gets instead of its answer. `lost`: it is carried out, and the connection breaks. */
type Failure = { path: RegExp; status?: number; message?: string; lost?: boolean }

const seconds = (date: Date) => Math.floor(date.getTime() / 1000)

/** Speaks the parts of the Stripe API that Sterna uses. */
export async function startStripeServer() {
  const customers = new Map<string, { id: string; balance: number; params: URLSearchParams }>()
  const keys = new Map<string, unknown>()
  const subscriptions: Subscription[] = []
  const invoices: Record<string, unknown>[] = []
  const meterEvents: MeterEvent[] = []
  const requests: { method: string; path: string; params: URLSearchParams; key: string | undefined }[] = []
  const failures: Failure[] = []

  const server = createServer((req, res) => {
    handle(req)
      .then(({ status, body, lost }) => {
        if (lost) return void req.socket.destroy()
        res.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_test' }).end(JSON.stringify(body))
      })
      .catch((err) => res.writeHead(500).end(String(err)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  async function handle(req: IncomingMessage) {
    const url = new URL(req.url!, 'http://stripe')
    let text = ''
    for await (const chunk of req) text += chunk
    const params = new URLSearchParams(req.method === 'POST' ? text : url.search)
    const key = req.headers['idempotency-key'] as string | undefined
    requests.push({ method: req.method!, path: url.pathname, params, key })
    const failure = failures.findIndex(({ path }) => path.test(url.pathname))
    const [failing] = failure < 0 ? [] : failures.splice(failure, 1)
    if (failing?.status) return refuse(failing.status, failing.message ?? 'refused')
    const body = key !== undefined && keys.has(key) ? keys.get(key) : answer(req.method!, url.pathname, params)
    if (body === undefined) return refuse(404, `No such route: ${req.method} ${url.pathname}`)
    if (body instanceof Error) return { ...refuse(400, body.message), lost: failing?.lost }
    if (key !== undefined) keys.set(key, body)
    return { status: 200, body, lost: failing?.lost }
  }

  const refuse = (status: number, message: string) => ({
    status,
    body: { error: { type: status < 500 ? 'invalid_request_error' : 'api_error', message } },
    lost: false,
  })

  const list = (data: unknown[]) => ({ object: 'list', has_more: false, data })

  function answer(method: string, path: string, params: URLSearchParams): unknown {
    switch (`${method} ${path.replace(/\/(cus|price|sub)_\w+$/, '/:id')}`) {
      case 'POST /v1/customers': {
        const id = `cus_${customers.size + 1}`
        customers.set(id, { id, balance: 0, params })
        return { id, object: 'customer' }
      }
      case 'GET /v1/customers/:id':
        return { object: 'customer', ...customers.get(path.split('/').at(-1)!) }
      case 'GET /v1/prices/:id': {
        const id = path.split('/').at(-1)!
        return { id, object: 'price', recurring: { usage_type: id.includes('metered') ? 'metered' : 'licensed' } }
      }
      case 'POST /v1/checkout/sessions':
        return { id: 'cs_1', object: 'checkout.session', url: 'https://checkout.stripe.test/cs_1' }
      case 'POST /v1/billing_portal/sessions':
        return { id: 'bps_1', object: 'billing_portal.session', url: `https://portal.stripe.test/${params.get('customer')}` }
      case 'GET /v1/invoices':
        return list(invoices.filter(({ customer }) => customer === params.get('customer')))
      case 'POST /v1/invoices/create_preview':
        return { object: 'invoice', currency: 'eur', total: 1234, amount_due: 1000, period_end: seconds(new Date('2026-12-01T00:00:00Z')) }
      case 'GET /v1/subscriptions':
        return list(subscriptions.filter(({ customer }) => customer === params.get('customer')).map(showSubscription))
      case 'DELETE /v1/subscriptions/:id': {
        const subscription = subscriptions.find(({ id }) => id === path.split('/').at(-1))
        if (!subscription) return new Error('No such subscription')
        subscription.status = 'canceled'
        subscription.endedAt ??= new Date()
        return showSubscription(subscription)
      }
      case 'POST /v1/billing/meter_events':
        return recordMeterEvent(params)
    }
    return undefined
  }

  /** An identifier counts once. */
  function recordMeterEvent(params: URLSearchParams) {
    const identifier = params.get('identifier')!
    if (meterEvents.some((event) => event.identifier === identifier))
      return new Error(`An event already exists with identifier ${identifier}.`)
    meterEvents.push({
      event_name: params.get('event_name')!,
      identifier,
      timestamp: params.get('timestamp')!,
      customer: params.get('payload[stripe_customer_id]')!,
      value: Number(params.get('payload[value]')),
    })
    return { object: 'billing.meter_event', identifier }
  }

  const showSubscription = ({ id, status, customer, start, periodStart, periodEnd, endedAt }: Subscription) => ({
    id,
    object: 'subscription',
    status,
    customer,
    currency: 'eur',
    created: seconds(start),
    start_date: seconds(start),
    ended_at: endedAt ? seconds(endedAt) : null,
    items: list([{ current_period_start: seconds(periodStart), current_period_end: seconds(periodEnd) }]),
  })

  const stripe = new Stripe('sk_test')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    env: {
      STRIPE_SECRET_KEY: 'sk_test_1',
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_PRICE_ID: 'price_metered1,price_base',
      STRIPE_API_BASE: url,
    },
    customers,
    subscriptions,
    invoices,
    meterEvents,
    requests,
    failures,
    /** The body and the header of a notification, signed by the library as Stripe signs it. */
    sign(event: object, { secret = WEBHOOK_SECRET, at = new Date() } = {}) {
      const payload = JSON.stringify({ object: 'event', ...event })
      const header = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: seconds(at) })
      return { payload, headers: { 'stripe-signature': header } }
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
