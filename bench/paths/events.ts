import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { connect } from '../../server/src/db/index.ts'
import { createPartitions } from '../../server/src/events/partitions.ts'
import { createLog } from '../../server/src/lib/process/log.ts'
import { connectToBench, idAt, scaled } from '../seed.ts'
import { call, median, ms, type Product, type Timing } from './contacts.ts'

const EVENTS = 10_000_000
const NAMES = 50
const DAYS = 90
const DAY_MS = 86_400_000
const PAGE = 500_000

/** Single requests on a project with many events, one after the other: the median of 21. */
export async function timeEvents(product: Product, scale: number): Promise<Timing[]> {
  const total = scaled(EVENTS, scale)
  const ledger = await keptLedger(product, total)
  const get = (path: string) => call(ledger, path)
  const since = new Date(Date.now() - 30 * DAY_MS).toISOString()
  const first = await median(() => get('/events?limit=20'))
  return [
    { name: `events, page 1, ${total.toLocaleString('en')} events`, result: ms(first) },
    { name: 'events of one name, page 1', result: ms(await median(() => get('/events?limit=20&eventName=event%207'))) },
    { name: 'events of a name without events', result: ms(await median(() => get('/events?eventName=none'))) },
    { name: 'names of events', result: ms(await median(() => get('/events/names'))) },
    { name: 'stats of events, all', result: ms(await median(() => get('/events/stats'))) },
    { name: 'stats of events, 30 days', result: ms(await median(() => get(`/events/stats?startDate=${since}`))) },
  ]
}

/** Inserting takes minutes, so the project is kept for the next run of the same size. */
async function keptLedger(product: Product, total: number): Promise<Product> {
  const note = join(product.dataDir, `ledger-${total}.json`)
  if (existsSync(note)) return { ...product, ...(JSON.parse(readFileSync(note, 'utf8')) as object) }
  const ledger = { projectId: product.projectId, secretKey: product.secretKey }
  const client = await connectToBench(product.dataDir)
  await makePartitions(product.dataDir)
  await seedEvents(client, product.projectId, total).finally(() => client.end())
  writeFileSync(note, JSON.stringify(ledger))
  return product
}

/** The partitions of the past months, which an installation of that age would have. */
export async function makePartitions(dataDir: string) {
  const client = await connectToBench(dataDir)
  const log = createLog('warn')
  const { host, user, password, database } = client
  await client.end()
  const db = connect({ url: `postgres://${user}:${encodeURIComponent(String(password))}@/${database}?host=${host}`, max: 1, log })
  await createPartitions(db, log, new Date(Date.now() - DAYS * DAY_MS))
  await db.destroy()
}

export async function seedEvents(client: pg.Client, projectId: string, total: number) {
  const start = Date.now() - DAYS * DAY_MS
  for (let from = 1; from <= total; from += PAGE) {
    await client.query(
      `insert into events (project_id, id, name, contact_id, data, created_at)
       select $1, ${idAt('at')},
         'event ' || n % $4::int, overlay(overlay(md5((n % 1000000)::text) placing '7' from 13) placing '8' from 17)::uuid, jsonb_build_object('plan', 'pro', 'seats', n % 50), to_timestamp(at / 1000.0)
       from generate_series($2::int, $3::int) n, md5(n::text) hash, lateral (select $5::bigint + n * $6::bigint / $7::bigint as at) as time`,
      [projectId, from, Math.min(total, from + PAGE - 1), NAMES, start, DAYS * DAY_MS, total],
    )
  }
  await client.query(
    'insert into event_counts (project_id, name, day, count) select $1, name, id_day(id), count(*) from events where project_id = $1 and name like $2 group by 2, 3',
    // Only these: other parts of the benchmark have tracked events of the project.
    [projectId, 'event %'],
  )
  await client.query('vacuum analyze events')
}
