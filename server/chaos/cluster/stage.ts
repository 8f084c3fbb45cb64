import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { connect, many, one, type Pool } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { judgeSend, type SendAck, type SendCall } from '../mail/mail.ts'
import { type KeptNode, keepNode } from '../nodes/nodes.ts'
import { feedEvidence, startSinkProcess } from '../nodes/sink-process.ts'
import { startLoad } from '../support/load.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import { createRandom } from '../support/random.ts'
import { until } from '../support/until.ts'

type Options = {
  databaseUrl: string
  /** Past a pooler; of the observers of this suite, too. */
  directUrl?: string
  perSecond: number
  seed: number
  env?: Record<string, string>
  workers?: number
  /** Reports each message that arrives, as providers do. */
  evidence?: boolean
}

const PUBLIC_URL = 'http://mail.cluster.example'
const FLOWS_MS = 150_000
const DRAIN_MS = 120_000
const SETTLE_MS = 180_000
const RESTART_MS = 150_000
const ARRIVES_MS = 30_000
const WATCH_MS = 100
/** A number that no other call has. */
const SLOW = 1_000_000

type Row = { id: string; state: string; error: string | null; crashes: number }
/** `gone`: accepted, and neither stored nor sent: the commit was lost. `stuck`: stored, and it neither left nor ended. */
export type Verdict = { accepted: number; gone: string[]; stuck: string[]; twice: string[]; unknown: number; crashed: number }

export type Stage = Awaited<ReturnType<typeof startStage>>

/** Two API nodes and some workers on a database, a relay, and clients that repeat what was not answered. */
export async function startStage({ databaseUrl, directUrl, perSecond, seed, env = {}, workers = 3, evidence = true }: Options) {
  const sink = await startSinkProcess()
  const problems: string[] = []
  const nodes: KeptNode[] = []
  const log = createLog('silent')
  const db = connect({ url: directUrl ?? databaseUrl, max: 2, log })
  const common = { DATABASE_URL: databaseUrl, ...(directUrl ? { DATABASE_DIRECT_URL: directUrl } : {}), SMTP_URL: sink.url, PUBLIC_URL }
  const settings = {
    ...common,
    DATABASE_POOL_SIZE: '6',
    RATE_LIMIT_PER_MINUTE: '0',
    SHUTDOWN_DELAY_SECONDS: '1',
    LOG_LEVEL: 'warn',
    ...env,
  }

  async function addNode(name: string, role: 'api' | 'worker') {
    const node = await keepNode(name, 'product', { ...settings, ROLE: role }, { problems, births: new Map() })
    nodes.push(node)
    await node.serving()
    return node
  }
  const remove = async () => {
    for (const node of nodes) node.kill()
    await Promise.all(nodes.map((node) => node.ended))
    await db.destroy()
    await sink.stop()
  }

  try {
    const api = [await addNode('api1', 'api'), await addNode('api2', 'api')]
    const staff = await Promise.all(Array.from({ length: workers }, (_, n) => addNode(`worker${n + 1}`, 'worker')))
    // Stages may follow each other on one database.
    const name = `cluster${Date.now()}`
    const project = { ...(await newProject(api[0]!.url, name)), domain: `${name}.example` }
    await verifyDomain(db, api[0]!.url, project)
    const feed = evidence ? feedEvidence(db, project.id, sink.tail) : undefined
    const watch = watchHolds(nodes)
    const send = (n: number) => sendCall(project, n)
    const load = startLoad<SendCall, SendAck>({
      urls: api.map(({ url }) => url),
      perSecond,
      random: createRandom(seed),
      next: callsFrom(send),
      judge: judgeSend,
    })
    const arrived: ReceivedMessage[] = []
    const readArrived = () => {
      arrived.push(...sink.read())
      return arrived
    }
    return {
      api,
      workers: staff,
      nodes,
      db,
      problems,
      load,
      addNode,
      /** Kinds of holds that a node has reported. */
      holds: watch.seen,
      isHeld: watch.isHeld,
      /** Waits for that many more answers, and says how long it took. */
      async flows(count: number) {
        const [began, enough] = [performance.now(), load.counts.acknowledged + count]
        await until(`${count} calls succeed`, FLOWS_MS, () => load.counts.acknowledged >= enough)
        return Math.round(performance.now() - began)
      },
      /** Milliseconds from the request of one email to its arrival. */
      async timeOne(n: number) {
        const began = Date.now()
        const { path, headers, body } = send(-n)
        const answer = await fetch(api[0]!.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        })
        const { data } = (await answer.json()) as { data?: { emails: { email: string }[] } }
        if (!data) throw new Error(`one email was answered ${answer.status}`)
        const id = data.emails[0]!.email
        return (await until('one email arrives', ARRIVES_MS, () => readArrived().find((each) => each.id === id))).at - began
      },
      /** Emails whose worker counted as dead while it held them. */
      crashed: async () => (await many(db, sql`select from emails where project_id = ${project.id} and crashes > 0`)).length,
      /** Emails that the relay answers after three seconds. */
      async sendSlow(count: number) {
        const { path, headers, body } = send(-SLOW)
        const to = Array.from({ length: count }, (_, n) => `d3000+slow${n}@example.com`)
        await fetch(api[0]!.url + path, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': 'slow' },
          body: JSON.stringify({ ...body, to }),
        })
      },
      /** All nodes, one after the other, as a deploy does. */
      async restartAll() {
        for (const node of nodes) {
          const pid = node.pid()
          node.signal('SIGTERM')
          await until(`${node.name} has restarted`, RESTART_MS, () => node.pid() !== pid && node.isServing())
        }
      },
      /** Ends the load, and says what became of the emails. */
      async verdict() {
        await load.stop(DRAIN_MS)
        await untilSettled(db)
        await feed?.stop()
        problems.push(...load.wrong.slice(0, 5))
        const rows = await many(db, sql<Row>`select id, state, error, crashes from emails where project_id = ${project.id}`)
        return judge(accepted(load.sent), rows, readArrived())
      },
      async remove() {
        watch.stop()
        await load.stop(0)
        await feed?.stop()
        await remove()
      },
    }
  } catch (err) {
    await remove()
    throw err
  }
}

const callsFrom = (send: (n: number) => SendCall) => {
  let last = 0
  return () => send(++last)
}

const sendCall = ({ secret, domain }: { secret: string; domain: string }, n: number): SendCall => ({
  key: `cluster-${n}`,
  path: '/v1/send',
  headers: { authorization: `Bearer ${secret}`, 'idempotency-key': `cluster-${n}` },
  // The relay answers some of them late, so that emails are under way at any moment.
  body: {
    to: [`${n % 3 ? 'ok' : 'd200'}+${n}@example.com`],
    from: `news@${domain}`,
    subject: `Email ${n}`,
    body: `<p>Hello {{email}}</p>`,
  },
})

const accepted = (sent: ReadonlyMap<string, { ack?: SendAck }>) => [...sent.values()].flatMap(({ ack }) => ack?.emails ?? [])

/** Compares the answers, the rows, and the messages that arrived. */
function judge(acknowledged: string[], rows: Row[], arrived: { id: string }[]): Verdict {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const copies = new Map<string, number>()
  for (const { id } of arrived) copies.set(id, (copies.get(id) ?? 0) + 1)
  const isUnknown = (row: Row) => row.state === 'failed' && row.error === 'outcome_unknown'
  const missing = acknowledged.filter((id) => !copies.has(id))
  return {
    accepted: acknowledged.length,
    gone: missing.filter((id) => !byId.has(id)),
    stuck: rows.filter((row) => !copies.has(row.id) && !isUnknown(row)).map(({ id, state, error }) => `${id} ${state} ${error ?? ''}`),
    twice: [...copies].filter(([, count]) => count > 1).map(([id]) => id),
    unknown: rows.filter(isUnknown).length,
    crashed: rows.filter(({ crashes }) => crashes > 0).length,
  }
}

/** Makes deferred emails due at once. */
const untilSettled = (db: Pool) =>
  until('every email has ended', SETTLE_MS, async () => {
    await sleep(WATCH_MS)
    await sql`update emails set due_at = now() where state = 'deferred' and due_at > now()`.execute(db)
    const { open } = await one<{ open: number }>(db)`
      select count(*)::int as open from emails where state not in ('sent', 'failed', 'skipped', 'cancelled')`
    return open === 0
  })

/** Asks every node whether sending is held. A node that does not answer says nothing. */
function watchHolds(nodes: KeptNode[]) {
  const seen = new Set<string>()
  let stopped = false
  const ask = async ({ url }: KeptNode): Promise<string | undefined> => {
    const body = await fetch(`${url}/ready`).then(
      (answer) => answer.json(),
      () => undefined,
    )
    return (body as { sendingHeld?: string | null } | undefined)?.sendingHeld ?? undefined
  }
  const kinds = async () => (await Promise.all(nodes.map(ask))).filter((kind) => kind !== undefined)
  void (async () => {
    for (; !stopped; await sleep(WATCH_MS)) for (const kind of await kinds()) seen.add(kind)
  })()
  return { seen, isHeld: async () => (await kinds()).length > 0, stop: () => (stopped = true) }
}
