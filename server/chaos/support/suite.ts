import { type Faults, injectFaults } from '../nodes/inject-faults.ts'
import type { Cluster } from '../nodes/nodes.ts'
import { type Check, checkDatabase, describeBroken } from './check.ts'
import { type Answer, type Call, type Counts, type Sent, startLoad, type Verdict } from './load.ts'
import { createRandom, type Random } from './random.ts'

export type Plan = { seed: number; faults: number; calmMs: number; withinMs: number; say?: (line: string) => void }

/** The load, the judgement of its responses, and the checks of the database in the end. */
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
    /** Waits until enough was sent, in case the faults are over earlier. */
    enough?: () => Promise<unknown>
    /** Waits until all accepted work is done. */
    settle?: () => Promise<unknown>
    checks: (sent: Map<string, Sent<C, Ack>>) => Check[]
  }>
}

const DRAIN_MS = 120_000
const MAX_WRONG_SHOWN = 10

/** Starts the product, loads it at a steady rate while its processes are killed, and compares the responses with the database. */
export async function runUnderFaults<C extends Call, Ack>(plan: Plan, { start, faults, prepare, flow, ...rate }: Suite<C, Ack>) {
  // Separate sequences: the speed of the load must not change the faults.
  const [callRandom, clientRandom, faultRandom] = [0, 1, 2].map((offset) => createRandom(plan.seed + offset)) as [Random, Random, Random]
  const cluster = await start()
  try {
    const { next, judge, enough = async () => {}, settle = async () => {}, checks } = await prepare(cluster, callRandom)
    const startedAt = performance.now()
    const load = startLoad({ urls: [cluster.main.url, cluster.api.url], random: clientRandom, next, judge, ...rate })
    const injected: Record<string, number> = {}
    // Reported together with the problems of clients and nodes, which say more about the cause.
    const stopped = await disturb({ ...plan, flow }, cluster, faults(cluster, faultRandom), load.counts, faultRandom, injected)
      .then(enough)
      .then(() => [], describeError)
    await load.stop(DRAIN_MS)
    // The last call may have reached a crash point, and the first node takes its database with it.
    const unsettled = await allServe(cluster)
      .then(settle)
      .then(() => [], describeError)
    const seconds = (performance.now() - startedAt) / 1_000
    const broken = await checkDatabase(cluster.databaseUrl, checks(load.sent))
    const problems = [...stopped, ...unsettled, ...load.wrong.slice(0, MAX_WRONG_SHOWN), ...cluster.problems, ...broken.map(describeBroken)]
    const { counts, waits, sent } = load
    return { problems, broken, injected, seconds, calls: sent.size, ...counts, ...waits, survivors: cluster.survivors }
  } finally {
    await cluster.destroy()
  }
}

const allServe = ({ main, api, workers }: Cluster) => Promise.all([main, api, ...workers].map((node) => node.serving()))

const describeError = (err: Error) => [err.message]

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
  await injectFaults({ faults, count, random, counts, calmMs, until: Date.now() + withinMs, ...(flow ? { flow } : {}), say, injected })
  await allServe(cluster)
}
