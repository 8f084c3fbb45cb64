import { connectToBench } from '../seed.ts'
import { type Product, send, type Timing } from './contacts.ts'
import { ownDomain, queueEmails, type Sink } from './drain.ts'

const CAMPAIGN = 400_000
/** For a quick run. A smaller one would be sent before the other emails are measured. */
const SMALL_CAMPAIGN = 20_000
const EMAILS = 300
/** A new domain per run: a domain has one owner, and each run has its own project. */
const DOMAIN = `latency${Date.now()}.example`

/** From the request to the receiver's reply: with an idle worker, and while another project's campaign is sent. */
export async function timeLatency(product: Product, sink: Sink, other: Partial<Product>, scale: number): Promise<Timing[]> {
  const theirs = { ...product, ...other }
  await ownDomain(theirs, DOMAIN)
  const waits = (name: string) => timeWaits(theirs, sink, { name, count: EMAILS, domain: DOMAIN })
  await waits('warm')
  const idle = await waits('idle')
  const queued = scale < 0.1 ? SMALL_CAMPAIGN : CAMPAIGN
  const client = await connectToBench(product.dataDir)
  await queueEmails(client, product.projectId, queued, 'CAMPAIGN')
  const beside = await waits('beside')
  const { rowCount } = await client.query(`delete from emails where project_id = $1 and state = 'queued'`, [product.projectId])
  await client.end()
  if (!rowCount) throw new Error('the campaign was over before the others were sent')
  return [
    { name: `one email from request to the receiver's reply, idle: p50, p99 of ${EMAILS}`, result: describeWaits(idle) },
    { name: `the same while another project's ${queued.toLocaleString('en')} bulk emails wait`, result: describeWaits(beside) },
  ]
}

/** One after the other, in milliseconds, sorted. */
export async function timeWaits(product: Product, sink: Sink, { name, count, domain }: { name: string; count: number; domain: string }) {
  const found: number[] = []
  for (let n = 0; n < count; n++) {
    const to = `${name}${n}@latency.example`
    const arrival = sink.arrival(to)
    const startedAt = performance.timeOrigin + performance.now()
    await send(product, 'POST', '/v1/send', { to, from: `news@${domain}`, subject: 'Hello', body: '<p>Hello</p>' })
    found.push((await arrival) - startedAt)
  }
  return found.sort((a, b) => a - b)
}

/** p50 and p99. */
export const describeWaits = (sorted: number[]) =>
  [0.5, 0.99].map((share) => `${sorted[Math.floor(sorted.length * share)]!.toFixed(0)} ms`).join(', ')
