import { measure, type Scale } from '../load.ts'
import { connectToBench } from '../seed.ts'
import type { Product, Timing } from './contacts.ts'
import { ownDomain } from './drain.ts'
import { sendTarget } from './send.ts'

const PAIRS = 5
/** As often as a worker adds the counts up. */
const MERGE_MS = 2_000

/** What a cap on transactional emails costs per request: the same requests by a project without and one with a cap, in turns. */
export async function timeCaps(free: Product, capped: Product, scale: Scale): Promise<Timing[]> {
  const client = await connectToBench(free.dataDir)
  const domains = await Promise.all(
    [free, capped].map(async (product, index) => {
      const domain = `caps${index}-${Date.now()}.example`
      await ownDomain(product, domain)
      return domain
    }),
  )
  await client.query('update projects set billing_limit_transactional = 2000000000 where id = $1', [capped.projectId])
  // No worker runs: the counts that it would add up are removed.
  const merging = setInterval(() => void client.query('delete from email_ledger').catch(() => {}), MERGE_MS)
  try {
    const cpu: [number[], number[]] = [[], []]
    for (let pair = 0; pair < PAIRS; pair++)
      for (const [index, product] of [free, capped].entries())
        cpu[index]!.push((await measure(product.pid, sendTarget(product, domains[index]!), { ...scale, runs: 1 })).cpuMicros)
    const [without, withCap] = cpu.map(medianOf) as [number, number]
    const pairs = cpu[0].map((each, index) => (cpu[1][index]! / each).toFixed(2)).join(', ')
    return [
      { name: 'POST /v1/send without a cap, median of 5', result: `${Math.round(without)} µs CPU` },
      {
        name: 'POST /v1/send with a cap, median of 5',
        result: `${Math.round(withCap)} µs CPU, ${(withCap / without).toFixed(2)} × (pairs: ${pairs})`,
      },
    ]
  } finally {
    clearInterval(merging)
    await client.end()
  }
}

const medianOf = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!
