import { randomBytes } from 'node:crypto'
import { type Measured, measure, type Scale, type Target } from '../load.ts'
import type { Product } from './contacts.ts'
import { ownDomain } from './drain.ts'

const EXISTING = 10_000
/** A new one each time: a domain has one owner, and each run is a project. */
const DOMAIN = `send${Date.now()}.example`
const BODY = `<p>Hello {{ name ?? "there" }}</p>${'<p>The quick brown fox jumps over the lazy dog, and back again.</p>'.repeat(118)}`
const SIZE = `${(BODY.length / 1024).toFixed(0)} KB`

const requestFor = (n: number, body = BODY) =>
  JSON.stringify({ to: `reader${n}@bench.example`, from: `news@${DOMAIN}`, subject: 'Hello', body })
const anyone = () => Math.floor(Math.random() * EXISTING)

/** What the framework alone does with such a request. */
export const SEND_FLOOR = { name: `floor: an echo of the body of /v1/send, ${SIZE}`, body: requestFor(1) }

/** One mail per request, accepted and written down; nobody sends them meanwhile. */
export async function measureSending(product: Product, scale: Scale): Promise<[string, Measured][]> {
  await ownDomain(product, DOMAIN)
  const same = Array.from({ length: EXISTING }, (_, n) => requestFor(n))
  const target = (body: () => string): Target => ({
    url: `${product.url}/v1/send`,
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${product.secretKey}` },
    body,
  })
  // The number stands in front, so that no two bodies are alike and none costs the load generator much to make.
  const own = () => same[anyone()]!.replace('"body":"', `"body":"${randomBytes(8).toString('hex')} `)
  return [
    [
      `POST /v1/send, one recipient, ${SIZE}, the same body`,
      await measure(
        product.pid,
        target(() => same[anyone()]!),
        scale,
      ),
    ],
    [`POST /v1/send, one recipient, ${SIZE}, a body of its own`, await measure(product.pid, target(own), scale)],
  ]
}
