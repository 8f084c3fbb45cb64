import { randomBytes } from 'node:crypto'
import { type Measured, measure, type Scale } from '../load.ts'
import type { Product } from './contacts.ts'

const EXISTING = 10_000

/** One event per request, as browsers and servers send them. */
export async function measureTracking({ url, pid, publicKey }: Product, scale: Scale): Promise<[string, Measured][]> {
  const bodyFor = (email: string) => JSON.stringify({ email, event: 'signed up', data: { plan: 'pro', seats: 3 } })
  const known = Array.from({ length: EXISTING }, (_, n) => bodyFor(`visitor${n}@bench.example`))
  const someone = () => known[Math.floor(Math.random() * EXISTING)]!
  const stranger = () => bodyFor(`${randomBytes(8).toString('hex')}@bench.example`)
  const track = (body: () => string, headers?: () => Record<string, string>) =>
    measure(
      pid,
      {
        url: `${url}/v1/track`,
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${publicKey}` },
        body,
        ...(headers ? { moreHeaders: headers } : {}),
      },
      scale,
    )
  const key = () => ({ 'idempotency-key': randomBytes(12).toString('hex') })
  return [
    ['POST /v1/track, 10 k existing contacts', await track(someone)],
    ['POST /v1/track, 10 k existing contacts, with a key', await track(someone, key)],
    ['POST /v1/track, new contacts', await track(stranger)],
  ]
}
