import { randomBytes } from 'node:crypto'
import { load, type Measured, measure, type Scale, type Target } from '../load.ts'
import { watchMemory } from '../process.ts'
import { connectToBench, scaled } from '../seed.ts'
import type { Product, Timing } from './contacts.ts'
import { seedTracked } from './segments.ts'

const EXISTING = 10_000

const REQUESTS = 1_000_000

const bodyFor = (email: string) => JSON.stringify({ email, event: 'signed up', data: { plan: 'pro', seats: 3 } })
const known = Array.from({ length: EXISTING }, (_, n) => bodyFor(`visitor${n}@bench.example`))
const knownBody = () => known[Math.floor(Math.random() * EXISTING)]!
const newBody = () => bodyFor(`${randomBytes(8).toString('hex')}@bench.example`)

const target = ({ url, publicKey }: Product, body: () => string): Target => ({
  url: `${url}/v1/track`,
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${publicKey}` },
  body,
})

/** Events of known contacts. */
export const trackTarget = (product: Product) => target(product, knownBody)

/** One event per request, as browsers and servers send them. */
export async function measureTracking(product: Product, scale: Scale): Promise<[string, Measured][]> {
  const track = (body: () => string, headers?: () => Record<string, string>) =>
    measure(product.pid, { ...target(product, body), ...(headers ? { moreHeaders: headers } : {}) }, scale)
  const key = () => ({ 'idempotency-key': randomBytes(12).toString('hex') })
  return [
    ['POST /v1/track, 10 k existing contacts', await track(knownBody)],
    ['POST /v1/track, 10 k existing contacts, with a key', await track(knownBody, key)],
    ['POST /v1/track, new contacts', await track(newBody)],
    ['POST /v1/track, 10 k existing contacts, 10 of 200 tracked segments concerned', await withTracked(product, () => track(knownBody))],
  ]
}

/** The reactions are written, not handled: an API node has no worker. */
async function withTracked(product: Product, work: () => Promise<Measured>) {
  const client = await connectToBench(product.dataDir)
  await seedTracked(client, product.projectId, 'signed up')
  const measured = await work()
  for (const table of ['segments', 'listeners', 'reactions'])
    await client.query(`delete from ${table} where project_id = $1`, [product.projectId])
  await client.end()
  return measured
}

/** Peak memory of a node during many requests: whether it grows with them. */
export async function watchTracking(product: Product, scale: number): Promise<Timing> {
  const total = scaled(REQUESTS, scale)
  const peakOf = async (amount: number) => {
    const memory = watchMemory(product.pid)
    await load(target(product, knownBody), { amount })
    return memory.stop()
  }
  const [early, late] = [await peakOf(total / 10), await peakOf((total * 9) / 10)]
  return { name: `memory while tracking ${total.toLocaleString('en')} events: first tenth, the rest`, result: `${early} MB, ${late} MB` }
}
