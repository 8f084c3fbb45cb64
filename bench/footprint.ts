import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { load } from './load.ts'
import { startScript } from './node.ts'
import { CAMPAIGN } from './paths/campaign.ts'
import { type Product, type Timing, timeImport } from './paths/contacts.ts'
import { DOMAIN, drain, ownDomain, type Sink } from './paths/drain.ts'
import { trackTarget } from './paths/track.ts'
import { cpuSplit } from './process.ts'
import { connectToBench, scaled } from './seed.ts'

const COUNT = 20_000
const POLL_MS = 100
/** Longer than any ledger waits until it is added up. */
const REST_MS = 5_000
/** Tables that take less than this share of the disk are not named. */
const MIN_SHARE = 0.1
const BODY = '<p>The quick brown fox jumps over the lazy dog, and back again.</p>'.repeat(118)

type Project = Pick<Product, 'projectId' | 'secretKey' | 'publicKey'>
type State = { app: number; postgres: number; wal: number; tables: Map<string, { heap: number; index: number }> }

/** What one contact, event and email take of CPU, WAL and disk: in a new installation, where no row takes the place of a removed one. */
export async function timeFootprint(sink: Sink, newProject: (url: string) => Promise<Project>, scale: number): Promise<Timing[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sterna-footprint-'))
  const env = { DATA_DIR: dataDir, DATABASE_URL: '', SECRET_KEY: 'a secret key for the benchmark and nothing else' }
  const node = await startScript('server.mjs', { ...env, ROLE: 'all', RATE_LIMIT_PER_MINUTE: '1000000000', SMTP_URL: sink.url })
  try {
    const product: Product = { url: node.url, pid: node.pid, dataDir, ...(await newProject(node.url)) }
    await ownDomain(product, DOMAIN)
    const count = scaled(COUNT, scale)
    const measured = (name: string, work: () => Promise<number>) => footprintOf(name, product, work)
    return [
      await measured('contact, imported', () => importContacts(product, scale / 3)),
      await measured('event, tracked for a new contact or a known one', () => track(product, count)),
      await measured('campaign email to a new contact, 8 KB, 30 tracked links, signed', () => sendCampaign(product, sink, count)),
      await measured('campaign email to a known contact', () => sendCampaign(product, sink, count)),
      await measured('transactional email alone, 8 KB, a body of its own', () => sendAlone(product, count)),
    ]
  } finally {
    await node.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function importContacts(product: Product, scale: number) {
  await timeImport(product, scale)
  return scaled(60_000, scale)
}

async function track(product: Product, count: number) {
  await load(trackTarget(product), { amount: count })
  return count
}

async function sendCampaign(product: Product, sink: Sink, count: number) {
  // One process is both.
  await drain(product, { ...product, stop: async () => {} }, sink, count, CAMPAIGN)
  return count
}

async function sendAlone({ url, secretKey }: Product, count: number) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${secretKey}` }
  const body = () =>
    JSON.stringify({
      to: `reader${Math.floor(Math.random() * 1_000)}@drain.example`,
      from: `news@${DOMAIN}`,
      subject: 'Hello',
      body: own(),
    })
  const own = () => `${randomBytes(8).toString('hex')} ${BODY}`
  await load({ url: `${url}/v1/send`, method: 'POST', headers, body }, { amount: count })
  return count
}

/** The difference between before and after, once no email is under way. `work` returns the number of its rows. */
async function footprintOf(name: string, product: Product, work: () => Promise<number>): Promise<Timing> {
  const client = await connectToBench(product.dataDir)
  try {
    const before = await readState(client, product.pid)
    const count = await work()
    await untilSent(client)
    await sleep(REST_MS)
    return { name, result: describe(before, await readState(client, product.pid), count) }
  } finally {
    await client.end()
  }
}

async function untilSent(client: pg.Client) {
  for (;;) {
    const { rows } = await client.query(`select from emails where state in ('queued', 'sending', 'deferred') limit 1`)
    if (!rows.length) return
    await sleep(POLL_MS)
  }
}

async function readState(client: pg.Client, pid: number): Promise<State> {
  const { rows: wal } = await client.query(`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`)
  const { rows: tables } = await client.query<{ name: string; heap: number; index: number }>(`
    select coalesce(p.inhparent::regclass::text, c.relname) as name,
      sum(pg_table_size(c.oid))::float8 as heap, sum(pg_indexes_size(c.oid))::float8 as index
    from pg_class c left join pg_inherits p on p.inhrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' group by 1`)
  return { ...cpuSplit(pid), wal: wal[0].bytes, tables: new Map(tables.map(({ name, ...sizes }) => [name, sizes])) }
}

function describe(before: State, after: State, count: number) {
  const each = (bytes: number) => Math.round(bytes / count).toLocaleString('en')
  const grown = [...after.tables].map(([name, { heap, index }]) => {
    const former = before.tables.get(name) ?? { heap: 0, index: 0 }
    return { name, heap: heap - former.heap, index: index - former.index }
  })
  const disk = grown.reduce((sum, { heap, index }) => sum + heap + index, 0)
  const largest = grown
    .filter(({ heap, index }) => heap + index > disk * MIN_SHARE)
    .sort((a, b) => b.heap + b.index - a.heap - a.index)
    .map(({ name, heap, index }) => `${name} ${each(heap)} + indexes ${each(index)}`)
  const micros = `PostgreSQL ${each(after.postgres - before.postgres)} µs, node ${each(after.app - before.app)} µs`
  return `${micros}, WAL ${each(after.wal - before.wal)} B, disk ${each(disk)} B (${largest.join('; ')})`
}
