import { type Check, checkDatabase, tell } from './check.ts'
import { type Faults, unleash } from './inject-faults.ts'
import { type Answer, type Call, type Counts, type Sent, startLoad, type Verdict } from './load.ts'
import type { Cluster } from './nodes.ts'
import { createRandom, type Random } from './random.ts'

export type Plan = { seed: number; faults: number; calmMs: number; withinMs: number; say?: (line: string) => void }

/** What is sent, what its answers mean, and what must be true of the database in the end. */
type Suite<C extends Call, Ack> = {
  perSecond: number
  /** Calls that must succeed between two faults. */
  flow?: number
  clients?: number
  fickleShare?: number
  start: () => Promise<Cluster>
  faults: (cluster: Cluster, random: Random) => Faults
  prepare: (
    cluster: Cluster,
    random: Random,
  ) => Promise<{
    next: () => C
    judge: (answer: Answer) => Verdict<Ack>
    /** Waits until enough was sent, should the faults be over before. */
    enough?: () => Promise<unknown>
    /** Waits until what was asked for has been done. */
    settle?: () => Promise<unknown>
    checks: (sent: Map<string, Sent<C, Ack>>) => Check[]
  }>
}

const DRAIN_MS = 30_000
const MAX_WRONG_SHOWN = 10

/** Starts the product, sends at a steady rate while its processes are killed, and compares what clients know with what is there. */
export async function runUnderFaults<C extends Call, Ack>(plan: Plan, { start, faults, prepare, flow, ...rate }: Suite<C, Ack>) {
  // Each draws from its own: how fast the load goes must not change which faults come.
  const [callRandom, clientRandom, faultRandom] = [0, 1, 2].map((offset) => createRandom(plan.seed + offset)) as [Random, Random, Random]
  const cluster = await start()
  try {
    const { next, judge, enough = async () => {}, settle = async () => {}, checks } = await prepare(cluster, callRandom)
    const startedAt = performance.now()
    const load = startLoad({ urls: [cluster.main.url, cluster.api.url], random: clientRandom, next, judge, ...rate })
    const injected: Record<string, number> = {}
    // Whatever stopped it, what clients and nodes have seen says more about the cause.
    const stopped = await disturb({ ...plan, flow }, cluster, faults(cluster, faultRandom), load.counts, faultRandom, injected)
      .then(enough)
      .then(() => [], tellError)
    await load.stop(DRAIN_MS)
    // The last call may have been the one that a node had to die at, and the first takes the database with it.
    const unsettled = await allServe(cluster)
      .then(settle)
      .then(() => [], tellError)
    const seconds = (performance.now() - startedAt) / 1_000
    const broken = await checkDatabase(cluster.databaseUrl, checks(load.sent))
    const problems = [...stopped, ...unsettled, ...load.wrong.slice(0, MAX_WRONG_SHOWN), ...cluster.problems, ...broken.map(tell)]
    const { counts, waits, sent } = load
    return { problems, broken, injected, seconds, calls: sent.size, ...counts, ...waits, survivors: cluster.survivors }
  } finally {
    await cluster.destroy()
  }
}

const allServe = ({ main, api, workers }: Cluster) => Promise.all([main, api, ...workers].map((node) => node.serving()))

const tellError = (err: Error) => [err.message]

type Disturbance = Plan & { flow: number | undefined }

async function disturb(
  plan: Disturbance,
  cluster: Cluster,
  faults: Faults,
  counts: Counts,
  random: Random,
  injected: Record<string, number>,
) {
  const { faults: count, calmMs, withinMs, flow, say = () => {} } = plan
  await unleash({ faults, count, random, counts, calmMs, until: Date.now() + withinMs, ...(flow ? { flow } : {}), say, injected })
  await allServe(cluster)
}
