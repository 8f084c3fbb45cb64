import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { startEmbedded } from '../src/db/embedded/embedded.ts'
import { connect, many, one, type Pool } from '../src/db/index.ts'
import { migrate } from '../src/db/migrate.ts'
import { createLog } from '../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder } from '../test/support/postgres.ts'
import { startSmtpServer } from '../test/support/servers/smtp-server.ts'
import { median } from './neighbours/neighbours-check.ts'
import { type KeptNode, keepNode } from './nodes/nodes.ts'
import { newProject, verifyDomain } from './support/project.ts'
import { until } from './support/until.ts'

type Plan = { sends: number; say: (line: string) => void }
type Tenant = { id: string; secret: string; domain: string }

/** Longest pause between two emails of a node that is otherwise idle: longer than it asks for work. */
const PAUSE_MS = 1_500
const SCHEDULED = 20
/** Emails of one owner that the relay answers after 200 ms each: minutes of work. */
const GREEDY = 3_000
const ARRIVES_MS = 30_000
const CUT_MS = 50
/** Longest times, in milliseconds: from the request to the relay, after the time of a scheduled email, and after the kill of a worker. */
const BOUNDS = { idle: 1_000, scheduled: 1_000, other: 1_500, recovered: 10_000 }

export type IdleTimes = { idle: number[]; scheduled: number[]; other: number[]; recovered: number }

/** How late emails leave a node that has nothing else to do, with notifications of PostgreSQL and without. */
export async function timesAtIdle({ sends, say }: Plan) {
  const folder = newTestFolder()
  const log = createLog('silent')
  const embedded = await startEmbedded({ dataDir: folder, log })
  const db = connect({ url: embedded.url, max: 4, log })
  const sink = await startSmtpServer()
  const problems: string[] = []
  const nodes: KeptNode[] = []
  try {
    await migrate(embedded.url)
    const env = { DATABASE_URL: embedded.url, DATABASE_POOL_SIZE: '6', RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error', SMTP_URL: sink.url }
    for (const role of ['api', 'worker', 'worker']) {
      const node = await keepNode(`${role}${nodes.length}`, 'product', { ...env, ROLE: role }, { problems, births: new Map() })
      nodes.push(node)
      await node.serving()
    }
    const [api, ...workers] = nodes as [KeptNode, ...KeptNode[]]
    const tenants = [await newTenant(db, api.url, 'greedy'), await newTenant(db, api.url, 'other')] as const
    const measure = async (what: string) => {
      const times = await measureAll({ db, url: api.url, sink, tenants, workers, sends })
      problems.push(...judge(what, times))
      say(`${what}: ${describeTimes(times)}`)
      return times
    }
    const notified = await measure('with notifications')
    const cut = cutNotifications(db)
    const without = await measure('without notifications')
    await cut.stop()
    return { notified, without, cuts: cut.count(), problems }
  } finally {
    for (const node of nodes) node.kill()
    await Promise.all(nodes.map((node) => node.ended))
    await db.destroy()
    await sink.stop()
    await embedded.stop()
    destroyTestFolder(folder)
  }
}

async function newTenant(db: Pool, url: string, name: string): Promise<Tenant> {
  const tenant = { ...(await newProject(url, name)), domain: `${name}.example` }
  await verifyDomain(db, url, tenant)
  return tenant
}

/** Ends every connection that listens, as soon as it is there. */
function cutNotifications(db: Pool) {
  let [isOver, cuts] = [false, 0]
  const cutting = (async () => {
    for (; !isOver; await sleep(CUT_MS))
      cuts += (await many(db)`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sterna queue'`).length
  })()
  return {
    count: () => cuts,
    async stop() {
      isOver = true
      await cutting
    },
  }
}

type Stage = {
  db: Pool
  url: string
  sink: Awaited<ReturnType<typeof startSmtpServer>>
  tenants: readonly [Tenant, Tenant]
  workers: KeptNode[]
  sends: number
}

async function measureAll({ db, url, sink, tenants: [greedy, other], workers, sends }: Stage): Promise<IdleTimes> {
  const send = async ({ secret, domain }: Tenant, to: string | string[], more: object = {}) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` }
    const body = JSON.stringify({ to, from: `news@${domain}`, subject: 'Hello', body: '<p>Hello</p>', ...more })
    const answer = await fetch(`${url}/v1/send`, { method: 'POST', headers, body })
    if (!answer.ok) throw new Error(`an email was answered ${answer.status}`)
    const { data } = (await answer.json()) as { data: { emails: { email: string }[] } }
    return data.emails.map(({ email }) => email)
  }
  const arrivalOf = async (id: string) =>
    (await until('an email arrives', ARRIVES_MS, () => sink.messages.find((each) => each.id === id))).at
  const timeOne = async (tenant: Tenant) => {
    const startedAt = Date.now()
    const [id] = await send(tenant, 'reader@example.com')
    return (await arrivalOf(id!)) - startedAt
  }

  const idle: number[] = []
  for (let n = 0; n < sends; n++) {
    await sleep(Math.random() * PAUSE_MS)
    idle.push(await timeOne(other))
  }
  const scheduled = await Promise.all(
    Array.from({ length: SCHEDULED }, async (_, n) => {
      const at = Date.now() + 2_000 + n * 150
      const [id] = await send(other, 'reader@example.com', { sendAt: new Date(at).toISOString() })
      return (await arrivalOf(id!)) - at
    }),
  )

  for (let n = 0; n < GREEDY; n += 100)
    await send(
      greedy,
      Array.from({ length: 100 }, (_, index) => `d200+${n + index}@example.com`),
    )
  const others: number[] = []
  for (let n = 0; n < sends; n++) others.push(await timeOne(other))

  const [victim] = workers
  const pid = victim!.pid()
  const before = await many<{ worker: number }>(db)`select worker from senders`
  victim!.signal('SIGKILL')
  const killedAt = Date.now()
  // The worker that takes over the claims of a dead one removes its lease.
  await until('the claims of the killed worker are taken over', ARRIVES_MS, async () => {
    const leases = await many(db)`select 1 from senders where worker = any(${before.map(({ worker }) => worker)}::int[])`
    return leases.length < before.length
  })
  const recovered = Date.now() - killedAt
  await until('the worker has restarted', ARRIVES_MS, () => victim!.pid() !== pid && victim!.isServing())
  await sql`update emails set state = 'skipped', error = 'not needed any more' where project_id = ${greedy.id} and state = 'queued'`.execute(
    db,
  )
  await until('no email is under way', ARRIVES_MS, async () => {
    const { open } = await one<{ open: number }>(db)`select count(*)::int as open from emails where state in ('sending', 'queued')`
    return open === 0
  })
  return { idle, scheduled, other: others, recovered }
}

const most = (values: number[]) => Math.max(...values)

function judge(what: string, { idle, scheduled, other, recovered }: IdleTimes): string[] {
  const rules: [boolean, string][] = [
    [most(idle) > BOUNDS.idle, `an email left an idle node after ${most(idle)} ms`],
    [Math.min(...scheduled) < 0, `a scheduled email left ${-Math.min(...scheduled)} ms too early`],
    [most(scheduled) > BOUNDS.scheduled, `a scheduled email left ${most(scheduled)} ms after its time`],
    [most(other) > BOUNDS.other, `an email of another owner left after ${most(other)} ms`],
    [recovered > BOUNDS.recovered, `claims of a killed worker were taken over after ${recovered} ms`],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, problem]) => `${what}: ${problem}`)
}

const describeTimes = ({ idle, scheduled, other, recovered }: IdleTimes) =>
  [
    `from idle ${median(idle)} ms, the longest ${idle
      .toSorted((a, b) => b - a)
      .slice(0, 3)
      .join(', ')} ms`,
    `after its time ${median(scheduled)} ms, at most ${most(scheduled)} ms`,
    `beside another owner ${median(other)} ms, at most ${most(other)} ms`,
    `taken over after ${recovered} ms`,
  ].join('; ')
