import { measure, type Scale, type Target } from '../load.ts'
import type { Product, Timing } from './contacts.ts'
import { ownDomain } from './drain.ts'
import { sendTarget } from './send.ts'
import { trackTarget } from './track.ts'

const PAIRS = 3

/** Tracking and sending with the pair of the project and with keys that have every limit, in turns. */
export async function timeKeys(product: Product & { cookie: string }, scale: Scale): Promise<Timing[]> {
  const domain = `keys${Date.now()}.example`
  await ownDomain(product, domain)
  const create = async (body: object) => {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const answer = await fetch(`${product.url}/projects/${product.projectId}/keys`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: product.cookie },
      body: JSON.stringify({ name: 'Bench', networks: ['127.0.0.0/8'], expiresAt, ...body }),
    })
    if (!answer.ok) throw new Error(`could not create a key: ${answer.status} ${await answer.text()}`)
    return ((await answer.json()) as { key: string }).key
  }
  const publicKey = await create({ kind: 'public' })
  const secretKey = await create({ kind: 'secret', scopes: ['send'], senderDomains: [domain] })
  const limited = { ...product, publicKey, secretKey }
  return [
    ...(await compare('POST /v1/track', product.pid, [trackTarget(product), trackTarget(limited)], scale)),
    ...(await compare('POST /v1/send', product.pid, [sendTarget(product, domain), sendTarget(limited, domain)], scale)),
  ]
}

async function compare(name: string, pid: number, targets: [pair: Target, key: Target], scale: Scale): Promise<Timing[]> {
  const cpu: [number[], number[]] = [[], []]
  for (let pair = 0; pair < PAIRS; pair++)
    for (const [index, target] of targets.entries()) cpu[index]!.push((await measure(pid, target, { ...scale, runs: 1 })).cpuMicros)
  const [byPair, byKey] = cpu.map((values) => values.toSorted((a, b) => a - b)[values.length >> 1]!) as [number, number]
  const pairs = cpu[0].map((each, index) => (cpu[1][index]! / each).toFixed(2)).join(', ')
  return [
    { name: `${name} with the pair of the project, median of ${PAIRS}`, result: `${Math.round(byPair)} µs CPU` },
    {
      name: `${name} with a key that has scopes, domains, networks and an expiry`,
      result: `${Math.round(byKey)} µs CPU, ${(byKey / byPair).toFixed(2)} × (pairs: ${pairs})`,
    },
  ]
}
