import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbedded } from '../src/db/embedded/embedded.ts'
import { connect, one } from '../src/db/index.ts'
import { migrate } from '../src/db/migrate.ts'
import { createLog } from '../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder } from '../test/support/postgres.ts'
import { type KeptNode, keepNode } from './nodes/nodes.ts'
import { post } from './support/load.ts'
import { newProject, verifyDomain } from './support/project.ts'
import { until } from './support/until.ts'

type Plan = { perSecond: number; rounds: number; say: (line: string) => void }

/** A load balancer asks this often whether a node is ready, and nodes answer for longer than that after they turned unready. */
const ASKED_MS = 200
const DELAY_SECONDS = 1
const RESTARTED_MS = 60_000
const SENT_MS = 60_000
const PATIENCE_MS = 10_000
const DOMAIN = 'rolling.example'

/** Restarts all nodes of an installation one after the other while requests arrive: none may fail, and every accepted email is sent. */
export async function rollingRestarts({ perSecond, rounds, say }: Plan) {
  const folder = newTestFolder()
  const log = createLog('silent')
  const embedded = await startEmbedded({ dataDir: folder, log })
  const problems: string[] = []
  const nodes: KeptNode[] = []
  const db = connect({ url: embedded.url, max: 2, log })
  try {
    await migrate(embedded.url)
    const env = { DATABASE_URL: embedded.url, DATABASE_POOL_SIZE: '8', RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' }
    const keep = async (name: string, role: string) => {
      const settings = { ...env, ROLE: role, SHUTDOWN_DELAY_SECONDS: String(DELAY_SECONDS) }
      const node = await keepNode(name, 'product', settings, { problems, births: new Map() })
      nodes.push(node)
      await node.serving()
      return node
    }
    const api = [await keep('api1', 'api'), await keep('api2', 'api')]
    await keep('worker1', 'worker')
    await keep('worker2', 'worker')
    const tenant = { ...(await newProject(api[0]!.url, 'rolling')), domain: DOMAIN }
    await verifyDomain(db, api[0]!.url, tenant)

    const balancer = startBalancer(api)
    const load = startRequests({ perSecond, secret: tenant.secret, pick: balancer.pick })
    const began = performance.now()
    for (let round = 1; round <= rounds; round++)
      for (const node of nodes) {
        const pid = node.pid()
        node.signal('SIGTERM')
        await until(`${node.name} has restarted`, RESTARTED_MS, () => node.pid() !== pid && node.isServing() && balancer.isReady(node.url))
        say(`round ${round}/${rounds}: ${node.name} has restarted; ${load.counts.answered} answered, ${load.counts.failed.length} failed`)
      }
    await load.stop()
    balancer.stop()
    const seconds = (performance.now() - began) / 1_000
    const open = async () =>
      (await one<{ open: number }>(db)`select count(*)::int as open from emails where state not in ('sent', 'failed', 'skipped')`).open
    await until('every email has left', SENT_MS, async () => (await open()) === 0)
    const { sent } = await one<{ sent: number }>(db)`select count(*)::int as sent from emails where state = 'sent'`
    const { answered, failed, sends } = load.counts
    if (failed.length) problems.push(`${failed.length} requests failed, such as ${failed.slice(0, 3).join(', ')}`)
    if (sent !== sends) problems.push(`${sends} emails were accepted, and ${sent} sent`)
    return {
      seconds,
      restarts: rounds * nodes.length,
      answered,
      failed: failed.length,
      sends,
      sent,
      slowestMs: load.counts.slowestMs,
      problems,
    }
  } finally {
    for (const node of nodes) node.kill()
    await Promise.all(nodes.map((node) => node.ended))
    await db.destroy()
    await embedded.stop()
    destroyTestFolder(folder)
  }
}

/** Sends requests to nodes that were ready when it last asked, in turn. */
function startBalancer(nodes: KeptNode[]) {
  const ready = new Map(nodes.map(({ url }) => [url, true]))
  let turn = 0
  let stopped = false
  const ask = async (url: string) => {
    while (!stopped) {
      ready.set(
        url,
        await fetch(`${url}/ready`).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
      await sleep(ASKED_MS)
    }
  }
  for (const { url } of nodes) void ask(url)
  return {
    pick() {
      const urls = nodes.map(({ url }) => url).filter((url) => ready.get(url))
      return urls[turn++ % Math.max(1, urls.length)]
    },
    /** True for a node that it does not ask, such as a worker. */
    isReady: (url: string) => ready.get(url) ?? true,
    stop: () => (stopped = true),
  }
}

type Requests = { perSecond: number; secret: string; pick: () => string | undefined }

/** Requests at a steady rate, whether earlier ones were answered or not. None is repeated. */
function startRequests({ perSecond, secret, pick }: Requests) {
  const counts = { answered: 0, failed: [] as string[], sends: 0, slowestMs: 0 }
  const agent = new Agent({ keepAlive: true })
  const underWay = new Set<Promise<void>>()
  let number = 0
  let stopped = false

  async function request(n: number) {
    const url = pick()
    const began = performance.now()
    const isSend = n % 2 === 0
    const body = isSend
      ? { to: `reader${n}@example.com`, from: `news@${DOMAIN}`, subject: 'Hello', body: '<p>Hello</p>' }
      : { email: `reader${n % 500}@example.com`, data: { n } }
    const headers = { authorization: `Bearer ${secret}` }
    const call = { key: String(n), path: isSend ? '/v1/send' : '/contacts', headers, body }
    const answer = url
      ? await post(agent, url, call, PATIENCE_MS).catch((err: Error) => ({ status: 0, body: err.message }))
      : { status: -1, body: 'no node is ready' }
    if (answer.status < 200 || answer.status > 299)
      return void counts.failed.push(`${answer.status} ${JSON.stringify(answer.body).slice(0, 100)}`)
    counts.answered++
    if (isSend) counts.sends++
    counts.slowestMs = Math.max(counts.slowestMs, Math.round(performance.now() - began))
  }

  const running = (async () => {
    for (let due = performance.now(); !stopped; due += 1_000 / perSecond) {
      await sleep(Math.max(0, due - performance.now()))
      const each = request(++number).finally(() => underWay.delete(each))
      underWay.add(each)
    }
  })()
  return {
    counts,
    async stop() {
      stopped = true
      await running
      await Promise.all(underWay)
      agent.destroy()
    },
  }
}
