import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { startEmbedded } from '../../src/db/embedded/embedded.ts'
import { connect, many, one, type Pool } from '../../src/db/index.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder } from '../../test/support/postgres.ts'
import { builtProcess } from '../nodes/build-processes.ts'
import { type KeptNode, keepNode } from '../nodes/nodes.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import { until } from '../support/until.ts'
import type { LoadOrder, LoadOutcome, OverloadPlan, OverloadTenant } from './overload-client.ts'

type Plan = { seconds: number; say: (line: string) => void }

const TENANTS = 4
/** How much more than the node can answer is offered, and how much of it counts as idle. */
const FACTOR = 10
const MODERATE = 0.1
const CLOSED = { seconds: 8, connections: 64 }
/** Enough for ten times the rate. With more than 1,024 that have something to read, Node runs no timers for seconds. */
const OPEN_CONNECTIONS = 1_000
const MODERATE_SECONDS = 15
/** Windows in which the node is measured after the overload. */
const WINDOW_SECONDS = 2
const DRAIN_MS = 180_000
/** Times are ratios to those at a moderate rate; `connections` that the server may end while it is overloaded. */
const BOUNDS = { p99: 20, recoveredP99: 2, recoveredMs: 30_000, memoryMb: 512, connections: 0 }
/** On a machine without other work the p99 is below this; half of it more or less is no difference. */
const RESOLUTION_MS = 10

/** Offers ten times what one API node can answer, as far as the machine allows, and compares what it says with what it has stored. */
export async function overload({ seconds, say }: Plan) {
  const folder = newTestFolder()
  const log = createLog('silent')
  const embedded = await startEmbedded({ dataDir: folder, log })
  const db = connect({ url: embedded.url, max: 2, log })
  const problems: string[] = []
  const nodes: KeptNode[] = []
  let client: ChildProcess | undefined
  try {
    await migrate(embedded.url)
    const keep = async (name: string, role: string) => {
      const env = { DATABASE_URL: embedded.url, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error', ROLE: role }
      const node = await keepNode(name, 'product', env, { problems, births: new Map() })
      nodes.push(node)
      await node.serving()
      return node
    }
    const api = await keep('api', 'api')
    await keep('worker', 'worker')
    client = await startClient({ port: Number(new URL(api.url).port), tenants: await newTenants(db, api.url) })
    const outcomes: LoadOutcome[] = []
    const ended = once(client, 'exit').then(() => Promise.reject(new Error('the client has ended')))
    ended.catch(() => {}) // at the end of the run it is killed
    const load = async (what: string, order: LoadOrder) => {
      client!.send(order)
      const [outcome] = (await Promise.race([once(client!, 'message'), ended])) as [LoadOutcome]
      outcomes.push(outcome)
      say(`${what}: ${describeOutcome(outcome, order.seconds)}`)
      return outcome
    }
    await load('warm-up', { ...CLOSED, seconds: 4 })
    const capacity = answered(await load('capacity', CLOSED)) / CLOSED.seconds
    await drain(db)
    const moderate = { perSecond: capacity * MODERATE, seconds: MODERATE_SECONDS, connections: OPEN_CONNECTIONS }
    const idle = await load('moderate', moderate)
    const over = await load('overload', { perSecond: capacity * FACTOR, seconds, connections: OPEN_CONNECTIONS })
    const peakMb = peakMemory(api.pid())
    const endedAt = performance.now()
    let recoveredMs: number | undefined
    while (recoveredMs === undefined && performance.now() - endedAt < BOUNDS.recoveredMs) {
      const now = await load('afterwards', { ...moderate, seconds: WINDOW_SECONDS })
      if (now.p99 <= BOUNDS.recoveredP99 * Math.max(idle.p99, RESOLUTION_MS)) recoveredMs = performance.now() - endedAt
    }
    await drain(db)
    problems.push(...judge({ idle, over, peakMb, recoveredMs }), ...(await compareStored(db, outcomes)))
    return { capacity, idle, over, offeredPerSecond: over.offered / seconds, peakMb, recoveredMs, problems }
  } finally {
    client?.kill('SIGKILL')
    for (const node of nodes) node.kill()
    await Promise.all(nodes.map((node) => node.ended))
    await db.destroy()
    await embedded.stop()
    destroyTestFolder(folder)
  }
}

async function newTenants(db: Pool, url: string) {
  const tenants: OverloadTenant[] = []
  for (let n = 1; n <= TENANTS; n++) {
    const tenant = { ...(await newProject(url, `overload${n}`)), domain: `overload${n}.example` }
    await verifyDomain(db, url, tenant)
    tenants.push({ secret: tenant.secret, domain: tenant.domain })
  }
  return tenants
}

async function startClient(plan: OverloadPlan) {
  const client = fork(await builtProcess('overload-client'), [JSON.stringify(plan)])
  await once(client, 'message')
  return client
}

const answered = ({ statuses }: LoadOutcome) =>
  Object.entries(statuses).reduce((sum, [status, count]) => sum + (status.startsWith('2') ? count : 0), 0)

/** Peak resident memory of a process, in MB. */
const peakMemory = (pid: number) => Math.round(Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)

const describeOutcome = (outcome: LoadOutcome, seconds: number) => {
  const statuses = Object.entries(outcome.statuses).map(([status, count]) => `${count} × ${status}`)
  const rate = Math.round(outcome.offered / seconds)
  return `${rate} requests per second, ${statuses.join(', ')}; p50 ${outcome.p50.toFixed(1)} ms, p99 ${outcome.p99.toFixed(1)} ms; ${outcome.skipped} not made, ${outcome.resets} connections lost, ${outcome.unanswered} without an answer`
}

/** Waits until every email has left: the worker takes CPU from the node that is measured. */
const drain = (db: Pool) =>
  until('every email has left', DRAIN_MS, async () => {
    const { open } = await one<{ open: number }>(
      db,
    )`select count(*)::int as open from emails where state not in ('sent', 'failed', 'skipped')`
    return open === 0
  })

type Measured = { idle: LoadOutcome; over: LoadOutcome; peakMb: number; recoveredMs: number | undefined }

function judge({ idle, over, peakMb, recoveredMs }: Measured): string[] {
  const allowed = Math.max(idle.p99, RESOLUTION_MS) * BOUNDS.p99
  const unexpected = Object.keys(over.statuses).filter((status) => !/^(2\d\d|429|503)$/.test(status))
  const rules: [boolean, string][] = [
    [over.p99 > allowed, `accepted requests took ${over.p99.toFixed(0)} ms (p99) of ${allowed.toFixed(0)} ms`],
    [answered(over) === 0, 'no request was accepted'],
    [answered(over) === over.offered, 'every request was accepted: this was no overload'],
    [unexpected.length > 0, `some were answered ${unexpected.join(', ')}`],
    [over.withoutRetryAfter > 0, `${over.withoutRetryAfter} refusals came without Retry-After`],
    [over.resets > BOUNDS.connections, `${over.resets} connections were lost`],
    [over.unanswered > 0, `${over.unanswered} requests had no answer`],
    [peakMb > BOUNDS.memoryMb, `the node took ${peakMb} MB of memory`],
    [recoveredMs === undefined, `not recovered within ${BOUNDS.recoveredMs / 1_000} s`],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, what]) => what)
}

/** Everything accepted is stored once, and nothing else. */
async function compareStored(db: Pool, outcomes: LoadOutcome[]): Promise<string[]> {
  const unanswered = outcomes.reduce((sum, outcome) => sum + outcome.unanswered, 0)
  const emails = await many<{ id: string }>(db)`select id from emails`
  return compare(
    outcomes.flatMap((outcome) => outcome.emails),
    emails.map(({ id }) => id),
    unanswered,
  )
}

function compare(accepted: string[], stored: string[], unanswered: number): string[] {
  const [said, there] = [new Set(accepted), new Set(stored)]
  const lost = accepted.filter((id) => !there.has(id)).length
  const extra = stored.filter((id) => !said.has(id)).length
  return [
    ...(lost ? [`${lost} accepted emails are not stored`] : []),
    ...(said.size < accepted.length || there.size < stored.length ? ['some emails exist twice'] : []),
    ...(extra > unanswered ? [`${extra} emails are stored, and were refused`] : []),
  ]
}
