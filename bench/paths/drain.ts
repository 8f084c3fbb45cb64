import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import type { Node } from '../node.ts'
import { cpuSplit, watchMemory } from '../process.ts'
import { connectToBench, idAt, scaled } from '../seed.ts'
import { type Product, send, type Timing } from './contacts.ts'

const EMAILS = 20_000
/** A new domain per run: a domain has one owner, and each run has its own project. */
export const DOMAIN = `drain${Date.now()}.example`
const MANY = 1_000_000
const CONNECTIONS = 16
const ROUNDS = 3
const POLL_MS = 50
const WITHIN_MS = 3_600_000
/** Size of a message on the wire. */
const BYTES = 17_000

const VARIABLES = Array.from({ length: 40 }, (_, n) => `<td style="padding:4px">{{ field${n} ?? "nothing" }}</td>\n`).join('')
const BODY = `<table><tr>${VARIABLES}</tr></table>${'<p>The quick brown fox jumps over the lazy dog, and back again.</p>\n'.repeat(90)}`

/** What the queued emails have in common. */
export type BenchContent = { type: 'TRANSACTIONAL' | 'MARKETING'; subject: string; previewText?: string; body: string }
const CONTENT: BenchContent = { type: 'TRANSACTIONAL', subject: 'Hello {{ field1 }}', body: BODY }

export type Sink = Awaited<ReturnType<typeof startSink>>

export async function startSink() {
  const child = fork(script('../sink.ts'), { execArgv: ['--import', 'tsx'] })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    port,
    url: `smtp://127.0.0.1:${port}?tls=off`,
    async taken() {
      child.send({})
      const [{ taken }] = (await once(child, 'message')) as [{ taken: number }]
      return taken
    },
    /** Arrival time of the next message to this address, in milliseconds since the epoch. Must be called before it is sent. */
    async arrival(address: string) {
      child.send({ await: address })
      const [{ at }] = (await once(child, 'message')) as [{ at: number }]
      return at
    },
    /** How it answers from now on. */
    behave: (behave: { answerMs?: number; refusedShare?: number; pipelining?: boolean }) => child.send({ behave }),
    stop: () => end(child),
  }
}

/** One worker with a queue of one content, alternating with a loop that only signs and pushes, because the speed of the machine varies. */
export async function timeDrain(product: Product, worker: Node, sink: Sink, scale: number): Promise<Timing[]> {
  const count = scaled(EMAILS, scale)
  await ownDomain(product, DOMAIN)
  await drain(product, worker, sink, scaled(2_000, scale)) // warm up
  const rounds: { signed: number; unsigned: number; perSecond: number; cpu: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const floors = { signed: await push(sink, count, true), unsigned: await push(sink, count, false) }
    rounds.push({ ...floors, ...(await drain(product, worker, sink, count)) })
  }
  const median = (of: (round: (typeof rounds)[number]) => number) => rounds.map(of).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]!
  const share = (of: (round: (typeof rounds)[number]) => number) => `${Math.round(median(of) * 100)} %`
  return [
    { name: `floor: a loop that signs and pushes, median of ${ROUNDS}`, result: `${Math.round(median(({ signed }) => signed))} emails/s` },
    { name: 'floor: a loop that only pushes', result: `${Math.round(median(({ unsigned }) => unsigned))} emails/s` },
    {
      name: `drain ${count.toLocaleString('en')} emails, ${(BODY.length / 1024).toFixed(0)} KB, 40 variables, DKIM`,
      result: `${Math.round(median(({ perSecond }) => perSecond))} emails/s, ${share(({ perSecond, signed }) => perSecond / signed)} of the signing loop, ${share(({ perSecond, unsigned }) => perSecond / unsigned)} of the other; ${Math.round(median(({ cpu }) => cpu))} µs CPU per email`,
    },
  ]
}

/** Whether the memory of a worker grows with its queue. */
export async function watchDrain(product: Product, worker: Node, sink: Sink, scale: number): Promise<Timing> {
  const peakOf = async (count: number) => {
    const memory = watchMemory(worker.pid)
    await drain(product, worker, sink, count)
    return memory.stop()
  }
  const [few, many] = [await peakOf(scaled(10_000, scale)), await peakOf(scaled(MANY, scale))]
  return { name: `memory while draining 10 k, then ${scaled(MANY, scale).toLocaleString('en')} emails`, result: `${few} MB, ${many} MB` }
}

/** Deletes emails that other parts of the benchmark have queued in the same data folder: they would be sent along with the measured ones. */
export async function emptyQueue({ dataDir }: Product) {
  const client = await connectToBench(dataDir)
  await client.query(`delete from emails where state in ('queued', 'deferred')`)
  await client.query('vacuum emails')
  await client.end()
}

/** Marked as verified without DNS. Taken from the project of another part, which has ended: only one project can have a domain. */
export async function ownDomain(product: Product, domain: string) {
  const client = await connectToBench(product.dataDir)
  await client.query(`update domains set domain = id || '.' || domain where domain = $1 and project_id <> $2`, [domain, product.projectId])
  await send(product, 'POST', '/domains', { domain })
  await client.query(
    `update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity' where project_id = $1`,
    [product.projectId],
  )
  await client.end()
}

export async function push(sink: Sink, count: number, signs: boolean, bytes = BYTES) {
  const args = [sink.port, count, signs ? 1 : 0, CONNECTIONS, bytes].map(String)
  const child = fork(script('../push.ts'), args, { execArgv: ['--import', 'tsx'] })
  const [{ perSecond }] = (await once(child, 'message')) as [{ perSecond: number }]
  await end(child)
  return perSecond
}

/** Measures from the first message that arrives to the last. `share`: of the emails, when the others are not expected soon. */
export async function drain(product: Product, worker: Node, sink: Sink, count: number, campaign?: BenchContent, share = 1) {
  const client = await connectToBench(product.dataDir)
  const before = await sink.taken()
  await queueEmails(client, product.projectId, count, campaign ? 'CAMPAIGN' : 'TRANSACTIONAL', campaign).finally(() => client.end())
  await arrived(sink, before + 1)
  const startedAt = performance.now()
  // The database is a child of the other, idle process.
  const cpuNow = () => ({ app: cpuSplit(product.pid).app + cpuSplit(worker.pid).app, postgres: cpuSplit(product.pid).postgres })
  const cpuBefore = cpuNow()
  const first = await sink.taken()
  const expected = before + Math.floor(count * share)
  await arrived(sink, expected)
  const emails = expected - first
  const after = cpuNow()
  const app = (after.app - cpuBefore.app) / emails
  const postgres = (after.postgres - cpuBefore.postgres) / emails
  return { perSecond: emails / ((performance.now() - startedAt) / 1_000), cpu: app + postgres, app, postgres }
}

export async function arrived(sink: Sink, count: number) {
  for (const end = Date.now() + WITHIN_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, POLL_MS)))
    if ((await sink.taken()) >= count) return
  throw new Error('the emails did not arrive in time')
}

/** Inserts the rows that accepting a request inserts: a content, contacts and emails. */
export async function queueEmails(
  client: pg.Client,
  projectId: string,
  count: number,
  source: 'TRANSACTIONAL' | 'CAMPAIGN',
  { type, subject, previewText, body } = CONTENT,
) {
  const data = `jsonb_build_object(${Array.from({ length: 40 }, (_, n) => `'field${n}', 'value ${n} of ' || n`).join(', ')})`
  await client.query('begin')
  const content = await client.query(
    `insert into contents (project_id, id, type, subject, preview_text, body, from_address)
     values ($1, gen_random_uuid(), $2, $3, $4, $5, $6) returning id`,
    [projectId, type, subject, previewText ?? null, body, `news@${DOMAIN}`],
  )
  const campaignId = source === 'CAMPAIGN' ? randomUUID() : null
  const id = idAt(`${Date.now()} + n / 100`, 'md5(random()::text)')
  await client.query(
    `insert into contacts (project_id, id, email, subscribed, data)
     select $1, ${id}, 'reader' || n || '@drain.example', true, ${data} from generate_series(1, $2::int) n
     on conflict (project_id, email) do nothing`,
    [projectId, count],
  )
  await client.query(
    `insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, lane, stream_id, campaign_id)
     select $1, ${id}, $3, c.id, c.email, $4, md5(random()::text) || '@drain.example', $5, coalesce($6::uuid, $1), $6::uuid
     from generate_series(1, $2::int) n join contacts c on c.project_id = $1 and c.email = 'reader' || n || '@drain.example'
     order by n`,
    [projectId, count, content.rows[0].id, source, source === 'CAMPAIGN' ? 1 : 0, campaignId],
  )
  await client.query('commit')
}

const script = (file: string) => fileURLToPath(new URL(file, import.meta.url))

async function end(child: ChildProcess) {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
