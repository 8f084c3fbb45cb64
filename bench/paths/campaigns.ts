import type pg from 'pg'
import { freezeNextPage } from '../../server/src/campaigns/sending/freeze.ts'
import { connect } from '../../server/src/db/index.ts'
import { createLog } from '../../server/src/lib/process/log.ts'
import { load } from '../load.ts'
import type { Node } from '../node.ts'
import { cpuMicroseconds, cpuSplit, watchMemory } from '../process.ts'
import { connectToBench, idAt, scaled, seedContacts } from '../seed.ts'
import { CAMPAIGN } from './campaign.ts'
import { call, type Product, send, type Timing } from './contacts.ts'
import { arrived, ownDomain, type Sink } from './drain.ts'
import { describeWaits, timeWaits } from './latency.ts'
import { trackTarget } from './track.ts'

/** Contacts of the large campaign at full scale. With fewer than the second number it would end before all is measured beside it. */
const CONTACTS = { full: 1_000_000, least: 30_000 }
const FREEZES = 3
const RECIPIENTS = 100_000
const FEW_RECIPIENTS = 10_000
const TRACKED_PER_SECOND = 200
const ENDS_MS = 3_600_000

export type Tenant = Product & { domain: string }
type Campaign = { id: string; status: string; sentCount: number; totalRecipients: number }

const count = (n: number) => n.toLocaleString('en')
const ms = (value: number) => `${Math.round(value)} ms`

async function createCampaign(tenant: Tenant, audience: object = { audienceType: 'ALL' }): Promise<string> {
  const body = { name: 'Bench', from: `news@${tenant.domain}`, ...CAMPAIGN, ...audience }
  const { data } = (await (await send(tenant, 'POST', '/campaigns', body)).json()) as { data: Campaign }
  return data.id
}

const act = (tenant: Tenant, id: string, action: string) => send(tenant, 'POST', `/campaigns/${id}/${action}`, {})
const read = async (tenant: Tenant, id: string) => (await (await call(tenant, `/campaigns/${id}`)).json()) as Campaign

async function ended(tenant: Tenant, id: string) {
  for (const end = Date.now() + ENDS_MS; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 200))) {
    const campaign = await read(tenant, id)
    if (campaign.status === 'SENT') return campaign
  }
  throw new Error('the campaign did not end in time')
}

// Freezing -------------------------------------------------------------------------------------------------------------

/** A tenth of the contacts is unsubscribed, another tenth is suppressed. */
export async function seedAudience(tenant: Tenant, scale: number) {
  const client = await connectToBench(tenant.dataDir)
  const total = await seedContacts(client, tenant.projectId, Math.max(scale, CONTACTS.least / CONTACTS.full))
  await client.query(
    `insert into suppressions (project_id, address, reason)
     select project_id, email, 'manual' from contacts where project_id = $1 and email like 'bob.%'`,
    [tenant.projectId],
  )
  await client.query('vacuum analyze suppressions')
  await client.end()
  return total
}

/** The pages of a freeze, as a worker writes them, and then a copy of the same rows by one statement. No worker may run. */
export async function timeFreeze(tenant: Tenant, databaseUrl: string, contacts: number): Promise<Timing[]> {
  const client = await connectToBench(tenant.dataDir)
  const rounds: { freeze: Cost; plain: Cost; recipients: number; excluded: number }[] = []
  for (let round = 0; round < FREEZES; round++) {
    const id = await createCampaign(tenant)
    await act(tenant, id, 'send')
    const freeze = await freezeAll(tenant, databaseUrl, id)
    rounds.push({ freeze, ...(await copyRows(client, tenant, id)) })
    await removeCampaigns(client, tenant.projectId)
  }
  await client.end()
  const { freeze, plain, recipients, excluded } = rounds.sort((a, b) => a.freeze.cpu / a.plain.cpu - b.freeze.cpu / b.plain.cpu)[
    Math.floor(FREEZES / 2)
  ]!
  const show = ({ ms, cpu }: Cost) => `${(ms / 1_000).toFixed(1)} s, ${(cpu / 1_000_000).toFixed(1)} s CPU`
  return [
    {
      name: `freeze ${count(contacts)} contacts: ${count(recipients)} recipients, ${count(excluded)} excluded, median of ${FREEZES}`,
      result: show(freeze),
    },
    {
      name: 'the same rows by a plain insert-select into tables with the same indexes',
      result: `${show(plain)}; the freeze takes ${(freeze.cpu / plain.cpu).toFixed(2)} × the CPU and ${(freeze.ms / plain.ms).toFixed(2)} × as long`,
    },
  ]
}

/** Milliseconds, and microseconds of CPU of this process and of PostgreSQL. */
type Cost = { ms: number; cpu: number }

async function costOf({ pid }: Tenant, work: () => Promise<unknown>): Promise<Cost> {
  const cpu = () => process.cpuUsage().user + process.cpuUsage().system + cpuSplit(pid).postgres
  const before = { ms: performance.now(), cpu: cpu() }
  await work()
  return { ms: performance.now() - before.ms, cpu: cpu() - before.cpu }
}

async function freezeAll(tenant: Tenant, databaseUrl: string, id: string) {
  const db = connect({ url: databaseUrl, max: 1, log: createLog('warn') })
  const key = { projectId: tenant.projectId, id }
  const cost = await costOf(tenant, async () => {
    while ((await freezeNextPage(db, key, createLog('warn'))) === 'more');
  })
  await db.destroy()
  return cost
}

async function copyRows(client: pg.Client, tenant: Tenant, id: string) {
  for (const table of ['emails', 'campaign_excluded']) await client.query(await likeSql(client, table))
  const counts = { recipients: 0, excluded: 0 }
  const copy = async (table: string, key: string) => {
    const statement = `insert into bench_${table} select * from ${table} where project_id = $1 and campaign_id = $2 order by ${key}`
    return (await client.query(statement, [tenant.projectId, id])).rowCount!
  }
  const plain = await costOf(tenant, async () => {
    counts.recipients = await copy('emails', 'id')
    counts.excluded = await copy('campaign_excluded', 'contact_id')
  })
  await client.query('drop table bench_emails, bench_campaign_excluded')
  return { plain, ...counts }
}

/** Indexes, defaults and storage parameters are the same. */
async function likeSql(client: pg.Client, table: string) {
  const { rows } = await client.query('select reloptions from pg_class where oid = $1::regclass', [table])
  const options: string[] = (rows[0].reloptions ?? []).filter((option: string) => option.startsWith('fillfactor'))
  await client.query(`drop table if exists bench_${table}`)
  return `create table bench_${table} (like ${table} including all) ${options.length ? `with (${options.join(', ')})` : ''}`
}

/** As if they had never been: the next part starts with an empty queue. */
async function removeCampaigns(client: pg.Client, projectId: string) {
  for (const table of ['campaigns', 'streams', 'campaign_excluded', 'campaign_audit', 'emails'])
    await client.query(`delete from ${table} where project_id = $1`, [projectId])
  await client.query('vacuum emails')
}

// Draining -------------------------------------------------------------------------------------------------------------

/** Contacts with the fields that the content uses. The first ones are marked, for a small campaign. */
export async function seedReaders(tenant: Tenant, scale: number) {
  const total = scaled(RECIPIENTS, scale)
  const client = await connectToBench(tenant.dataDir)
  const data = Array.from({ length: 5 }, (_, n) => `'field${n + 1}', 'value ${n + 1} of ' || n`).join(', ')
  await client.query(
    `insert into contacts (project_id, id, email, subscribed, data)
     select $1, ${idAt('1700000000000 + n', 'md5(n::text)')}, 'reader' || n || '@drain.example', true,
       jsonb_build_object(${data}, 'few', n <= $3) from generate_series(1, $2::int) n`,
    [tenant.projectId, total, scaled(FEW_RECIPIENTS, scale)],
  )
  await client.query(`insert into contact_fields (project_id, key, type) values ($1, 'few', 'boolean') on conflict do nothing`, [
    tenant.projectId,
  ])
  await client.query('vacuum analyze contacts')
  await client.end()
  return total
}

const FEW = {
  audienceType: 'FILTERED',
  audienceCondition: { logic: 'AND', groups: [{ filters: [{ field: 'data.few', operator: 'equals', value: true }] }] },
}

type Drained = { perSecond: number; cpu: number; memory: number[]; sent: number }

/** A campaign from its start to SENT. CPU and speed are those from the first message that arrives to the last. */
async function drainCampaign(tenant: Tenant, workers: Node[], sink: Sink, audience?: object): Promise<Drained> {
  const before = await sink.taken()
  const memory = workers.map(({ pid }) => watchMemory(pid))
  const id = await createCampaign(tenant, audience)
  await act(tenant, id, 'send')
  await arrived(sink, before + 1)
  const cpu = () => [tenant.pid, ...workers.map(({ pid }) => pid)].reduce((sum, pid) => sum + cpuMicroseconds(pid), 0)
  const [startedAt, cpuBefore, first] = [performance.now(), cpu(), await sink.taken()]
  const { sentCount } = await ended(tenant, id)
  const emails = before + sentCount - first
  const perSecond = emails / ((performance.now() - startedAt) / 1_000)
  return { perSecond, cpu: (cpu() - cpuBefore) / emails, memory: memory.map((watch) => watch.stop()), sent: sentCount }
}

/** The small campaign before it warms up, and shows whether memory grows with the number of recipients. */
export async function timeRealDrain(tenant: Tenant, workers: Node[], sink: Sink, name: string): Promise<Timing[]> {
  const few = await drainCampaign(tenant, workers, sink, FEW)
  const { perSecond, cpu, memory, sent } = await drainCampaign(tenant, workers, sink)
  return [
    {
      name: `campaign of ${count(sent)} emails from its first message to SENT, ${name}`,
      result: `${Math.round(perSecond)} emails/s, ${Math.round(cpu)} µs CPU per email, counters and recount included`,
    },
    {
      name: `memory of each worker, ${name}: ${count(few.sent)}, then ${count(sent)} recipients`,
      result: `${few.memory.join(' + ')} MB, ${memory.join(' + ')} MB`,
    },
  ]
}

// Beside a campaign ----------------------------------------------------------------------------------------------------

type Beside = { large: Tenant; small: Tenant; worker: Node; sink: Sink; seconds: number; emails: number }

/** Tracking at a fixed rate and single emails of a small tenant: idle, and while a large campaign of another tenant is frozen and sent. */
export async function timeBeside({ large, small, worker, sink, seconds, emails }: Beside): Promise<Timing[]> {
  const track = async () =>
    (await load(trackTarget(small), { duration: seconds, overallRate: TRACKED_PER_SECOND })).latency as { p50: number; p99: number }
  const mail = (name: string) => timeWaits(small, sink, { name, count: emails, domain: small.domain })
  await track()
  await mail('warm')
  const idle = { track: await track(), mail: await mail('idle') }

  const memory = watchMemory(worker.pid)
  const id = await createCampaign(large)
  await act(large, id, 'send')
  const freezing = { track: await track() }
  const sending = { mail: await mail('beside'), track: await track() }
  const { status, totalRecipients } = await read(large, id)
  if (status !== 'SENDING') throw new Error('the campaign was over before the others were measured')
  const { sentCount } = await ended(large, id)
  const ratio = (p99: number) => `${(p99 / idle.track.p99).toFixed(1)} × idle`
  const p99s = ({ p50, p99 }: { p50: number; p99: number }) => `${ms(p50)}, ${ms(p99)}`
  return [
    { name: `track, ${TRACKED_PER_SECOND} req/s, idle: p50, p99`, result: p99s(idle.track) },
    {
      name: `· from the start of a campaign to ${count(totalRecipients)} recipients: p50, p99`,
      result: `${p99s(freezing.track)}; ${ratio(freezing.track.p99)}`,
    },
    { name: '· while it is sent: p50, p99', result: `${p99s(sending.track)}; ${ratio(sending.track.p99)}` },
    {
      name: `one email of another project from request to the receiver's reply, idle: p50, p99 of ${emails}`,
      result: describeWaits(idle.mail),
    },
    { name: '· while the campaign is sent', result: describeWaits(sending.mail) },
    { name: `memory of the worker during the campaign of ${count(sentCount)} emails`, result: `${memory.stop()} MB` },
  ]
}

/** A project with a sender domain of its own. */
export async function asTenant(product: Product, project: Partial<Product>, domain: string): Promise<Tenant> {
  const tenant = { ...product, ...project, domain }
  await ownDomain(tenant, domain)
  return tenant
}
