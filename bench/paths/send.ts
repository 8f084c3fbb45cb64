import { type Measured, measure, type Scale } from '../load.ts'
import { type Product, send } from './contacts.ts'

const EXISTING = 10_000
/** A new one each time: a domain has one owner, and each run is a project. */
const DOMAIN = `send${Date.now()}.example`
const BODY = `<p>Hello {{ name ?? "there" }}</p>${'<p>The quick brown fox jumps over the lazy dog, and back again.</p>'.repeat(118)}`

/** One mail per request, accepted and written down; nobody sends them meanwhile. */
export async function measureSending(product: Product, scale: Scale): Promise<[string, Measured]> {
  await send(product, 'POST', '/domains', { domain: DOMAIN })
  const bodies = Array.from({ length: EXISTING }, (_, n) =>
    JSON.stringify({ to: `reader${n}@bench.example`, from: `news@${DOMAIN}`, subject: 'Hello', body: BODY }),
  )
  const target = {
    url: `${product.url}/v1/send`,
    method: 'POST' as const,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${product.secretKey}` },
    body: () => bodies[Math.floor(Math.random() * EXISTING)]!,
  }
  return [`POST /v1/send, one recipient, ${(BODY.length / 1024).toFixed(0)} KB`, await measure(product.pid, target, scale)]
}
