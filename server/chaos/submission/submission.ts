import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { connect, many, one, type Pool, transact } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { MB } from '../../src/lib/text/units.ts'
import { holdSending, resumeSending } from '../../src/nodes/sending-hold.ts'
import { freePort } from '../../test/support/process.ts'
import { killBackend } from '../nodes/inject-faults.ts'
import { type Cluster, startCluster } from '../nodes/nodes.ts'
import { newProject, verifyDomain } from '../support/project.ts'
import { createRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { createSubmitter } from './submission-client.ts'

type Plan = { seed: number; faults: number; messages: number; connections: number; calmMs: number; say?: (line: string) => void }

const DOMAIN = 'chaos.example'
const FLOW = 10
const RECOVERY_MS = 150_000
const TO = 'reader@example.com'

const letter = (n: number | string, body = 'Hello\r\n', more = '') =>
  Buffer.from(`From: chaos@${DOMAIN}\r\nTo: ${TO}\r\nSubject: ${n}\r\n${more}\r\n${body}`)

/** Messages over many connections, each repeated with its key until it is accepted, while the node and its PostgreSQL are killed. */
export async function submissionUnderFaults({ seed, faults, messages, connections, calmMs, say = () => {} }: Plan) {
  const startedAt = performance.now()
  const { cluster, place, db, projectId } = await startPlace()
  const random = createRandom(seed)
  const replies = new Map<number, string>()
  const injected: Record<string, number> = {}
  let retried = 0
  let next = 0

  async function work() {
    const submitter = createSubmitter(place)
    while (next < messages || Object.values(injected).reduce((sum, count) => sum + count, 0) < faults) {
      const n = next++
      const { reply, tries } = await submitter.submit(
        `reader${n % 100}@example.com`,
        letter(n, undefined, `X-Sterna-Idempotency-Key: chaos-${n}\r\n`),
      )
      replies.set(n, reply)
      if (tries > 1) retried++
    }
    submitter.end()
  }

  async function inject() {
    for (let fault = 0; fault < faults; fault++) {
      const enough = replies.size + FLOW
      await until(`${FLOW} messages are accepted`, RECOVERY_MS, () => replies.size >= enough)
      await sleep(random.between(0, calmMs))
      const kind = random.pick(['kill -9 of the node', 'kill -9 of a busy PostgreSQL backend'])
      if (kind === 'kill -9 of the node') {
        cluster.main.signal('SIGKILL')
        await cluster.main.serving()
      } else await killBackend(cluster.databaseUrl)
      injected[kind] = (injected[kind] ?? 0) + 1
      say(`${fault + 1}/${faults} ${kind}; ${replies.size} messages are accepted`)
    }
  }

  try {
    await Promise.all([inject(), ...Array.from({ length: connections }, work)])
    const problems = [...cluster.problems, ...(await compare(db, projectId, replies))]
    return {
      injected,
      messages: replies.size,
      retried,
      problems,
      seconds: (performance.now() - startedAt) / 1_000,
      survivors: cluster.survivors,
    }
  } finally {
    await db.destroy()
    await cluster.destroy()
  }
}

/** Every 250 is an email, and none is there twice. */
async function compare(db: Pool, projectId: string, replies: Map<number, string>): Promise<string[]> {
  const rows = await until('the database answers', RECOVERY_MS, () =>
    many<{ subject: string; ids: string[] }>(db)`
      select c.subject, array_agg(e.id::text) as ids from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where e.project_id = ${projectId} group by c.subject`.catch(() => undefined),
  )
  const stored = new Map(rows.map(({ subject, ids }) => [Number(subject), ids]))
  return [...replies].flatMap(([n, reply]) => {
    const ids = stored.get(n) ?? []
    if (!reply.startsWith('250 2.0.0 queued ')) return [`message ${n} was refused: ${reply}`]
    if (ids.length !== 1) return [`message ${n} has ${ids.length} emails`]
    return reply.includes(ids[0]!) ? [] : [`message ${n} got another id than its email has`]
  })
}

type LargePlan = { messages: number; bytes: number }

/** Large messages of one project at once, while another one submits small ones. Peak memory of the node, in MB. */
export async function largeSubmissions({ messages, bytes }: LargePlan) {
  const { cluster, place, db } = await startPlace()
  try {
    const small = { ...place, key: await newNeighbour(db, cluster) }
    const large = letter('large', `${'x'.repeat(998)}\r\n`.repeat(Math.floor(bytes / 1_000) - 1))
    const memory = watchResident(cluster.main.pid())
    const neighbour = createSubmitter(small)
    let isOver = false
    let waited = 0
    const besides = (async () => {
      const refused: string[] = []
      while (!isOver) {
        const askedAt = performance.now()
        const reply = await neighbour.submitOnce(TO, Buffer.from(letter('small').toString().replace(DOMAIN, NEIGHBOUR)))
        waited = Math.max(waited, performance.now() - askedAt)
        if (!reply.startsWith('250')) refused.push(reply)
        await sleep(20)
      }
      neighbour.end()
      return refused
    })()
    const replies = await Promise.all(Array.from({ length: messages }, () => createSubmitter(place).submitOnce(TO, large)))
    isOver = true
    const refused = await besides
    const [accepted, busy] = ['250', '452 4.3.1'].map((code) => replies.filter((reply) => reply.startsWith(code)).length) as [
      number,
      number,
    ]
    const others = replies.filter((reply) => !/^(250|452 4\.3\.1)/.test(reply))
    const problems = [
      ...cluster.problems,
      ...(accepted ? [] : ['no large message was accepted']),
      ...others.map((reply) => `a large message got: ${reply}`),
      ...refused.map((reply) => `a small message of another project got: ${reply}`),
    ]
    return { accepted, busy, peakMb: memory.stop(), beforeMb: memory.before, longestWaitMs: Math.round(waited), problems }
  } finally {
    await db.destroy()
    await cluster.destroy()
  }
}

/** Workers look every five seconds whether sending is held. */
const HELD_MS = 7_000
const SENT_MS = 300_000

/** Large messages of two projects that wait until sending goes on. Peak memory of the node while they are built and leave, in MB. */
export async function largeBacklog({ messages, bytes }: LargePlan) {
  const { cluster, place, db } = await startPlace()
  try {
    const body = `${'x'.repeat(998)}\r\n`.repeat(Math.floor(bytes / 1_000) - 1)
    const large = letter('large', body)
    const theirs = Buffer.from(large.toString('latin1').replace(DOMAIN, NEIGHBOUR), 'latin1')
    const submitters = [createSubmitter(place), createSubmitter({ ...place, key: await newNeighbour(db, cluster) })]
    await transact(db, (tx) => holdSending(tx, 'the run of messages that wait'))
    await sleep(HELD_MS)
    for (let n = 0; n < messages; n++) await submitters[n % 2]!.submit(TO, n % 2 ? theirs : large)
    for (const submitter of submitters) submitter.end()
    const { waiting } = await one<{ waiting: number }>(db)`select count(*)::int as waiting from emails where state = 'queued'`
    const memory = watchResident(cluster.main.pid())
    await transact(db, resumeSending)
    await until('every large message has left', SENT_MS, async () => {
      const { sent } = await one<{ sent: number }>(db)`select count(*)::int as sent from emails where state = 'sent'`
      return sent === messages
    })
    return { waiting, peakMb: memory.stop(), beforeMb: memory.before, problems: cluster.problems }
  } finally {
    await db.destroy()
    await cluster.destroy()
  }
}

const NEIGHBOUR = 'neighbour.example'

async function newNeighbour(db: Pool, { main }: Cluster) {
  const { id, secret } = await newProject(main.url, 'neighbour')
  await verifyDomain(db, main.url, { id, secret, domain: NEIGHBOUR })
  return secret
}

/** A node with every role, in the sandbox, that accepts messages by SMTP. */
async function startPlace() {
  const port = await freePort()
  const cluster = await startCluster({ single: true, env: { SMTP_SUBMISSION_PORT: String(port), SMTP_SUBMISSION_HOST: '127.0.0.1' } })
  const db = connect({ url: cluster.databaseUrl, max: 2, log: createLog('silent') })
  const { id, secret } = await newProject(cluster.main.url)
  await verifyDomain(db, cluster.main.url, { id, secret, domain: DOMAIN })
  await sql`select 1`.execute(db)
  return { cluster, db, projectId: id, place: { port, key: secret } }
}

/** Resident memory of a process. Linux only. */
function watchResident(pid: number) {
  const resident = () => Math.round((Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024) / MB)
  const before = resident()
  let peak = before
  const timer = setInterval(() => (peak = Math.max(peak, resident())), 20)
  return {
    before,
    stop() {
      clearInterval(timer)
      return Math.max(peak, resident())
    },
  }
}
