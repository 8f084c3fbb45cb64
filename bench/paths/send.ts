import { randomBytes } from 'node:crypto'
import { type Measured, measure, type Scale, type Target } from '../load.ts'
import type { Product } from './contacts.ts'
import { ownDomain } from './drain.ts'

const EXISTING = 10_000
/** A new domain per run: a domain has one owner, and each run has its own project. */
const DOMAIN = `send${Date.now()}.example`
const BODY = `<p>Hello {{ name ?? "there" }}</p>${'<p>The quick brown fox jumps over the lazy dog, and back again.</p>'.repeat(118)}`
const SIZE = `${(BODY.length / 1024).toFixed(0)} KB`

const requestFor = (n: number, body = BODY, domain = DOMAIN) =>
  JSON.stringify({ to: `reader${n}@bench.example`, from: `news@${domain}`, subject: 'Hello', body })
const randomContact = () => Math.floor(Math.random() * EXISTING)

/** The cost of such a request in the framework alone. */
export const SEND_FLOOR = { name: `floor: an echo of the body of /v1/send, ${SIZE}`, body: requestFor(1) }

/** One email per request, accepted and written; no worker sends them meanwhile. */
export async function measureSending(product: Product, scale: Scale): Promise<[string, Measured][]> {
  await ownDomain(product, DOMAIN)
  const same = Array.from({ length: EXISTING }, (_, n) => requestFor(n))
  const target = (body: () => string) => targetOf(product, body)
  // A random prefix makes each body different at little cost for the load generator.
  const own = () => same[randomContact()]!.replace('"body":"', `"body":"${randomBytes(8).toString('hex')} `)
  return [
    [
      `POST /v1/send, one recipient, ${SIZE}, the same body`,
      await measure(
        product.pid,
        target(() => same[randomContact()]!),
        scale,
      ),
    ],
    [`POST /v1/send, one recipient, ${SIZE}, a body of its own`, await measure(product.pid, target(own), scale)],
  ]
}

const targetOf = ({ url, secretKey }: Product, body: () => string): Target => ({
  url: `${url}/v1/send`,
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${secretKey}` },
  body,
})

/** Emails with the same body from a domain of the project. */
export function sendTarget(product: Product, domain: string): Target {
  const requests = Array.from({ length: EXISTING }, (_, n) => requestFor(n, BODY, domain))
  return targetOf(product, () => requests[randomContact()]!)
}
