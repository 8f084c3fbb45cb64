import { randomBytes } from 'node:crypto'
import { type Measured, measure, type Scale } from '../load.ts'
import type { Product } from './contacts.ts'

const EXISTING = 10_000

/** One event per request, as browsers and servers send them. */
export async function measureTracking({ url, pid, publicKey }: Product, scale: Scale): Promise<[string, Measured][]> {
  const known = () => `visitor${Math.floor(Math.random() * EXISTING)}@bench.example`
  const unknown = () => `${randomBytes(8).toString('hex')}@bench.example`
  const track = (email: () => string, headers?: () => Record<string, string>) =>
    measure(
      pid,
      {
        url: `${url}/v1/track`,
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${publicKey}` },
        body: () => JSON.stringify({ email: email(), event: 'signed up', data: { plan: 'pro', seats: 3 } }),
        ...(headers ? { moreHeaders: headers } : {}),
      },
      scale,
    )
  const key = () => ({ 'idempotency-key': randomBytes(12).toString('hex') })
  return [
    ['POST /v1/track, 10 k existing contacts', await track(known)],
    ['POST /v1/track, 10 k existing contacts, with a key', await track(known, key)],
    ['POST /v1/track, new contacts', await track(unknown)],
  ]
}
