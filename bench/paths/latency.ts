import { connectToBench } from '../seed.ts'
import { type Product, send, type Timing } from './contacts.ts'
import { ownDomain, queueMails, type Sink } from './drain.ts'

const CAMPAIGN = 400_000
/** For a quick look. Fewer would be gone before the others are measured. */
const SMALL_CAMPAIGN = 20_000
const MAILS = 300
/** A new one each time: a domain has one owner, and each run is a project. */
const DOMAIN = `latency${Date.now()}.example`

/** From the request to the receiver's answer: with nothing else to do, and while another project's campaign goes out. */
export async function timeLatency(product: Product, sink: Sink, other: Partial<Product>, scale: number): Promise<Timing[]> {
  const theirs = { ...product, ...other }
  await ownDomain(theirs, DOMAIN)
  await waits(theirs, sink, 'warm')
  const idle = await waits(theirs, sink, 'idle')
  const queued = scale < 0.1 ? SMALL_CAMPAIGN : CAMPAIGN
  const client = await connectToBench(product.dataDir)
  await queueMails(client, product.projectId, queued, 'CAMPAIGN')
  const beside = await waits(theirs, sink, 'beside')
  const { rowCount } = await client.query(`delete from emails where project_id = $1 and state = 'queued'`, [product.projectId])
  await client.end()
  if (!rowCount) throw new Error('the campaign was over before the others were sent')
  return [
    { name: `one mail from request to the receiver's answer, idle: p50, p99 of ${MAILS}`, result: describe(idle) },
    { name: `the same while another project's ${queued.toLocaleString('en')} bulk mails wait`, result: describe(beside) },
  ]
}

/** One after the other, in milliseconds, sorted. */
async function waits(product: Product, sink: Sink, name: string) {
  const found: number[] = []
  for (let n = 0; n < MAILS; n++) {
    const to = `${name}${n}@latency.example`
    const arrival = sink.arrival(to)
    const startedAt = performance.timeOrigin + performance.now()
    await send(product, 'POST', '/v1/send', { to, from: `news@${DOMAIN}`, subject: 'Hello', body: '<p>Hello</p>' })
    found.push((await arrival) - startedAt)
  }
  return found.sort((a, b) => a - b)
}

const describe = (sorted: number[]) => [0.5, 0.99].map((share) => `${sorted[Math.floor(sorted.length * share)]!.toFixed(0)} ms`).join(', ')
