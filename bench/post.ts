import { connect } from 'node:net'
import { createDns } from '../server/src/lib/network/dns.ts'
import { createSafeFetch, createSafeSession } from '../server/src/lib/network/safe-fetch.ts'
import { headersOf } from '../server/src/webhook-endpoints/deliver.ts'
import { createWebhookSigner, newSigningSecret } from '../server/src/webhooks/sign.ts'

// The floor of webhooks: the same signed requests to the same receiver by the same client, with a prebuilt body and no database.
const [url, given, atOnce] = process.argv.slice(2) as [string, string, string]
const safeFetch = createSafeFetch(createDns({}), { allowed: ['127.0.0.1/32'], ownHost: 'bench.example' })
const sign = createWebhookSigner({ secret: newSigningSecret(), previous: null })
const body = Buffer.from(JSON.stringify({ type: 'event.signed up', data: { plan: 'pro', seats: 3, note: 'x'.repeat(300) } }))

async function post(count: number) {
  const session = createSafeSession()
  let left = count
  const work = async () => {
    while (left-- > 0) {
      const headers = headersOf(sign, { id: crypto.randomUUID(), at: new Date(), body })
      const outcome = await safeFetch({ url, method: 'POST', headers, body, timeoutMs: 10_000, mayRepeat: true }, session)
      if (outcome.is !== 'status' || outcome.status !== 200) throw new Error(`the receiver replied ${JSON.stringify(outcome)}`)
    }
  }
  await Promise.all(Array.from({ length: Number(atOnce) }, work))
}
/** What no client can do without: the bytes of a request are written, those of the reply are read. */
async function writeAndRead(count: number) {
  const { hostname, port, host } = new URL(url)
  const headers = Object.entries(headersOf(sign, { id: crypto.randomUUID(), at: new Date(), body })).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const bytes = Buffer.concat([
    Buffer.from(`POST / HTTP/1.1\r\nhost: ${host}\r\n${headers.join('')}content-length: ${body.length}\r\n\r\n`),
    body,
  ])
  let left = count
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname).on('error', reject)
      const next = () => {
        if (left-- > 0) return socket.write(bytes)
        socket.destroy()
        resolve()
      }
      // The reply of the receiver is small: it comes in one piece.
      socket.on('data', next).on('connect', next)
    })
  await Promise.all(Array.from({ length: Number(atOnce) }, work))
}

const count = Number(given)
async function cpuPerRequest(work: (count: number) => Promise<void>) {
  await work(Math.min(count, 5_000)) // warm up
  const before = process.cpuUsage()
  await work(count)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}
process.send?.({ perRequest: await cpuPerRequest(post), perWrite: await cpuPerRequest(writeAndRead) })
process.exit(0)
