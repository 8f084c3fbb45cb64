import { randomUUID } from 'node:crypto'
import { signed } from '../../server/test/support/servers/sns-server.ts'
import { load } from '../load.ts'
import { scaled } from '../seed.ts'
import type { Product, Timing } from './contacts.ts'

const NOTIFICATIONS = 20_000

/** Distinct notifications of a provider: each has its signature verified, and the response follows when it is stored. */
export async function timeNotifications({ url }: Product, scale: number): Promise<Timing> {
  const amount = scaled(NOTIFICATIONS, scale)
  const bodies = Array.from({ length: amount }, () => JSON.stringify(signed({ Message: deliveryOf(randomUUID()) })))
  const target = { url: `${url}/webhooks/sns`, method: 'POST' as const, headers: { 'content-type': 'text/plain; charset=UTF-8' } }
  const { requests } = await load({ ...target, body: () => bodies.pop()! }, { amount })
  return {
    name: `POST /webhooks/sns, ${amount.toLocaleString('en')} signed notifications`,
    result: `${Math.round(requests.average)} per second`,
  }
}

const deliveryOf = (messageId: string) =>
  JSON.stringify({
    eventType: 'Delivery',
    mail: { messageId, timestamp: new Date().toISOString(), tags: {} },
    delivery: { timestamp: new Date().toISOString(), recipients: ['ada@example.com'], smtpResponse: '250 2.6.0 Message received' },
  })
