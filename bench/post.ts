import { createDns } from '../server/src/lib/network/dns.ts'
import { createSafeFetch, createSafeSession } from '../server/src/lib/network/safe-fetch.ts'
import { readNetworks } from '../server/src/lib/network/webhook-target.ts'
import { headersOf } from '../server/src/webhook-endpoints/deliver.ts'
import { newSigningSecret } from '../server/src/webhooks/sign.ts'

// The floor of webhooks: the same signed requests to the same receiver by the same client, with a prebuilt body and no database.
const [url, given, atOnce] = process.argv.slice(2) as [string, string, string]
const safeFetch = createSafeFetch(createDns({}), { allowed: readNetworks(['127.0.0.1/32']), ownHost: 'bench.example' })
const signing = { secret: newSigningSecret(), previous: null }
const body = Buffer.from(JSON.stringify({ type: 'event.signed up', data: { plan: 'pro', seats: 3, note: 'x'.repeat(300) } }))

async function post(count: number) {
  const session = createSafeSession()
  let left = count
  const work = async () => {
    while (left-- > 0) {
      const headers = headersOf(signing, { id: crypto.randomUUID(), at: new Date(), body })
      const outcome = await safeFetch({ url, method: 'POST', headers, body, timeoutMs: 10_000 }, session)
      if (outcome.is !== 'status' || outcome.status !== 200) throw new Error(`the receiver replied ${JSON.stringify(outcome)}`)
    }
  }
  await Promise.all(Array.from({ length: Number(atOnce) }, work))
  session.close()
}
const count = Number(given)
await post(Math.min(count, 5_000)) // warm up
const before = process.cpuUsage()
await post(count)
const { user, system } = process.cpuUsage(before)
process.send?.({ perRequest: (user + system) / count })
process.exit(0)
