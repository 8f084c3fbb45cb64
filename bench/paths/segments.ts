import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import type pg from 'pg'
import { toExpression } from '../../server/src/conditions/expression.ts'
import { topicsOf } from '../../server/src/conditions/references.ts'
import { readCondition } from '../../server/src/conditions/schema.ts'
import { newId } from '../../server/src/lib/id.ts'
import { cpuMicroseconds, cpuSplit } from '../process.ts'
import { connectToBench, idAt, scaled, seedContacts } from '../seed.ts'
import { call, median, ms, type Product, type Timing } from './contacts.ts'

const EVENTS_PER_CONTACT = 5
const NAMES = 20
const PAGE = 500_000
const TRACKED = 200
/** Tracked segments that mention what the load changes. */
const CONCERNED = 10
const RATE = 300
const LOAD_SECONDS = 30
const WARM_UP_SECONDS = 5
const CPU_SECONDS = 20
/** Time in which the worker finishes what the load left behind. */
const REST_MS = 1_500
const PROBES = 100
const VISIBLE_MS = 10_000

const filter = (field: string, operator: string, value?: unknown, unit?: string) => ({ field, operator, value, unit })
const allOf = (...filters: object[]) => ({ logic: 'AND', groups: [{ filters }] })
const COUNTED = allOf(
  filter('data.plan', 'equals', 'pro'),
  filter('data.seats', 'greaterThan', 10),
  filter('subscribed', 'equals', true),
  filter('event.event 7', 'triggeredWithin', 30, 'days'),
)
const seatsOver = (seats: number, event: string) => allOf(filter('data.seats', 'greaterThan', seats), filter(`event.${event}`, 'triggered'))
const unrelated = (n: number) => allOf(filter('data.city', 'equals', `City ${n}`), filter(`event.event ${8 + (n % 10)}`, 'triggered'))

/** Counting, and one contact against a segment, in a large project. */
export async function timeSegments(product: Product, scale: number): Promise<Timing[]> {
  const large = await keptProject(product, scaled(1_000_000, scale))
  const client = await connectToBench(product.dataDir)
  try {
    const segment = await create(large, 'Counted', COUNTED)
    await untilCounted(client, segment)
    const cpu = await cpuOf(product.pid, () => post(large, `/segments/${segment}/refresh`))
    const again = await cpuOf(product.pid, () => post(large, `/segments/${segment}/refresh`))
    const { rows } = await client.query('select id from contacts where project_id = $1 limit 1 offset 500', [large.projectId])
    return [
      {
        name: `segment: count, 3 filters and an event, ${large.total.toLocaleString('en')} contacts, CPU`,
        result: `${ms(cpu)}, then ${ms(again)}`,
      },
      { name: 'segment: cached count', result: ms(await median(() => call(large, `/segments/${segment}`))) },
      { name: 'segment: members, page 1', result: ms(await median(() => call(large, `/segments/${segment}/contacts`), 5)) },
      { name: 'segment: explain one contact', result: ms(await median(() => call(large, `/segments/${segment}/explain/${rows[0].id}`))) },
      ...(await timeTracked(product, large, client)),
    ]
  } finally {
    await client.end()
  }
}

/** A new segment of this size is counted by a job, whose CPU must not be counted here. */
async function untilCounted(client: pg.Client, id: string) {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline; await sleep(100)) {
    const { rows } = await client.query('select 1 from segments where id = $1 and (count_estimated or counted_at is null)', [id])
    if (!rows.length) return
  }
  throw new Error('the segment was not counted in time')
}

type Large = Product & { total: number }

const headersOf = ({ secretKey }: Product) => ({ 'content-type': 'application/json', authorization: `Bearer ${secretKey}` })

async function post(product: Product, path: string, body: object = {}) {
  const answer = await fetch(product.url + path, { method: 'POST', headers: headersOf(product), body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json() as Promise<{ id: string }>
}

const create = async (product: Product, name: string, condition: object) => (await post(product, '/segments', { name, condition })).id

async function cpuOf(pid: number, work: () => Promise<unknown>) {
  const before = cpuMicroseconds(pid)
  await work()
  return (cpuMicroseconds(pid) - before) / 1_000
}

/** Time from the response to a write until the membership is visible, under load. */
async function timeTracked(product: Product, large: Large, client: pg.Client): Promise<Timing[]> {
  const probed = await seedTracked(client, large.projectId)
  const hotShare = await watchHotUpdates(client)
  const track = (body: () => string) => ({
    url: `${large.url}/v1/track`,
    method: 'POST' as const,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${large.publicKey}` },
    requests: [{ setupRequest: (request: autocannon.Request) => ({ ...request, body: body() }) }],
  })
  const body = () =>
    JSON.stringify({
      email: `load${Math.floor(Math.random() * 10_000)}@bench.example`,
      event: 'event 7',
      data: { seats: Math.floor(Math.random() * 100) },
    })
  const run = (duration: number) => autocannon({ ...track(body), connections: 16, overallRate: RATE, duration })
  await run(WARM_UP_SECONDS)
  await sleep(REST_MS)
  // Without the probes, which ask the database every few milliseconds.
  const before = cpuSplit(product.pid)
  const measured = await run(CPU_SECONDS)
  await sleep(REST_MS)
  const after = cpuSplit(product.pid)
  const cpuOfEvent = (part: 'app' | 'postgres') => Math.round((after[part] - before[part]) / measured.requests.total)
  const load = run(LOAD_SECONDS)
  const waits: number[] = []
  for (let probe = 0; probe < PROBES; probe++) {
    waits.push(await timeProbe(large, client, { probed, email: `probe${probe}-${Date.now()}@bench.example` }))
    await sleep((LOAD_SECONDS * 1_000 * 0.8) / PROBES - Math.min(200, waits.at(-1)!))
  }
  await load
  const sorted = waits.sort((a, b) => a - b)
  const at = (share: number) => ms(sorted[Math.floor(sorted.length * share)]!)
  return [
    {
      name: `tracked: visible after a write, ${TRACKED} segments, ${CONCERNED} concerned, ${RATE} events/s: p50, p95`,
      result: `${at(0.5)}, ${at(0.95)}`,
    },
    { name: 'tracked: heap-only share of the updates of contacts', result: await hotShare() },
    {
      name: `tracked: CPU per event, API and worker together, after ${WARM_UP_SECONDS} s`,
      result: `${cpuOfEvent('app') + cpuOfEvent('postgres')} µs: app ${cpuOfEvent('app')}, PostgreSQL ${cpuOfEvent('postgres')} (${measured.non2xx} refused)`,
    },
  ]
}

/** An update that is not heap-only costs an entry in every index. */
async function watchHotUpdates(client: pg.Client) {
  const read = async () => {
    await client.query('select pg_stat_clear_snapshot()')
    const { rows } = await client.query(
      `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'contacts'`,
    )
    return rows[0] as { all: number; hot: number }
  }
  const before = await read()
  return async () => {
    const after = await read()
    return `${Math.round(((after.hot - before.hot) / Math.max(1, after.all - before.all)) * 100)} % of ${after.all - before.all}`
  }
}

async function timeProbe(large: Large, client: pg.Client, { probed, email }: { probed: string; email: string }) {
  await fetch(`${large.url}/v1/track`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${large.publicKey}` },
    body: JSON.stringify({ email, event: 'event 7', data: { seats: 99 } }),
  })
  const since = performance.now()
  for (const deadline = since + VISIBLE_MS; performance.now() < deadline; await sleep(5)) {
    const { rows } = await client.query(
      `select 1 from contacts c join segment_members m on m.project_id = c.project_id and m.contact_id = c.id
       where c.project_id = $1 and c.email = $2 and m.segment_id = $3`,
      [large.projectId, email, probed],
    )
    if (rows.length) return performance.now() - since
  }
  throw new Error('a membership did not become visible')
}

/** Tracked segments without their first computation, which would take hours. Returns the one that probes enter. */
export async function seedTracked(client: pg.Client, projectId: string, event = 'event 7') {
  await client.query(`delete from segments where project_id = $1 and name like 'Tracked %'`, [projectId])
  await client.query('delete from listeners where project_id = $1', [projectId])
  const segments = Array.from({ length: TRACKED }, (_, n) => ({
    id: newId(),
    n,
    condition: n < CONCERNED ? seatsOver(n * 5, event) : unrelated(n),
  }))
  for (const { id, n, condition } of segments) {
    await client.query(
      `insert into segments (project_id, id, name, type, condition, slug, track_membership) values ($1, $2, $3, 'DYNAMIC', $4, $5, true)`,
      [projectId, id, `Tracked ${n}`, JSON.stringify(condition), `tracked-${n}-${id}`],
    )
    await client.query(`insert into tracked_segments (project_id, segment_id, clearing, computed_revision) values ($1, $2, false, 1)`, [
      projectId,
      id,
    ])
    const topics = topicsOf(toExpression(readCondition(condition, 'condition'), () => undefined))
    await client.query('insert into listeners (project_id, topic, listener) select $1, unnest($2::text[]), $3', [
      projectId,
      topics,
      `segment:${id}`,
    ])
  }
  return segments[CONCERNED - 1]!.id
}

/** Inserting takes minutes, so the project is kept for the next run of the same size. */
async function keptProject(product: Product, total: number): Promise<Large> {
  const note = join(product.dataDir, `segments-${total}.json`)
  if (existsSync(note)) return { ...product, total, ...(JSON.parse(readFileSync(note, 'utf8')) as object) }
  const client = await connectToBench(product.dataDir)
  await seedContacts(client, product.projectId, total / 1_000_000)
  await seedEvents(client, product.projectId, total * EVENTS_PER_CONTACT).finally(() => client.end())
  const { projectId, secretKey, publicKey } = product
  writeFileSync(note, JSON.stringify({ projectId, secretKey, publicKey }))
  return { ...product, total }
}

/** Events of the contacts over the last 60 days. */
async function seedEvents(client: pg.Client, projectId: string, total: number) {
  const start = Date.now() - 60 * 86_400_000
  for (let from = 1; from <= total; from += PAGE) {
    await client.query(
      `insert into events (project_id, id, name, contact_id, created_at)
       select $1, ${idAt('at')}, 'event ' || (n / 7) % $4::int, ${idAt('1700000000000 + who', 'md5(who::text)')}, to_timestamp(at / 1000.0)
       from generate_series($2::int, $3::int) n, md5(n::text) hash,
         lateral (select $5::bigint + n * 5184000000::bigint / $6::bigint as at, 1 + n % ($6::int / ${EVENTS_PER_CONTACT}) as who) as of`,
      [projectId, from, Math.min(total, from + PAGE - 1), NAMES, start, total],
    )
  }
  await client.query('vacuum analyze events')
}
