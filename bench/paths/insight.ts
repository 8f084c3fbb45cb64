import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { connectToBench, idAt, scaled } from '../seed.ts'
import { call, median, ms, type Product, type Timing } from './contacts.ts'
import { makePartitions } from './events.ts'

const EVENTS = 10_000_000
const ACTIVITIES = 1_000_000
const DAYS = 90
const DAY_MS = 86_400_000
const PAGE = 500_000
const CAMPAIGNS = 500
const TEMPLATES = 40
const CALLS = 50
/** Pages of 100 activities. */
const DEEP_PAGE = 1_000

export const ENDPOINTS = [
  '/activity?limit=20',
  '/activity?limit=100&types=email.bounced,workflow.failed',
  '/activity?limit=100&types=event.triggered',
  '/activity?limit=20&startDate=2026-01-01',
  '/activity/stats',
  '/activity/recent-count',
  '/activity/types',
  '/activity/upcoming',
  '/analytics/timeseries',
  '/analytics/timeseries?startDate={90 days ago}',
  '/analytics/timeseries?startDate={90 days ago}&timezone=Europe/Berlin',
  '/analytics/timeseries?startDate={20 days ago}&interval=hour',
  '/analytics/summary',
  '/analytics/weekday-hours?startDate={90 days ago}',
  '/analytics/top-campaigns',
  '/analytics/campaign-stats',
  '/analytics/leaders?by=template&startDate={90 days ago}',
  '/analytics/top-events',
  '/analytics/domains?startDate={90 days ago}',
  '/analytics/delivery-times?startDate={90 days ago}',
  '/analytics/growth?startDate={90 days ago}',
]

/** The median of 50 requests each, on a project with many events, campaigns and templates. */
export async function timeInsight(product: Product, scale: number): Promise<Timing[]> {
  const total = scaled(EVENTS, scale)
  const kept = await keptProject(product, total)
  const timings: Timing[] = []
  for (const endpoint of ENDPOINTS) timings.push({ name: endpoint, result: ms(await median(() => call(kept, datedPath(endpoint)), CALLS)) })
  const deep = await cursorOf(kept, DEEP_PAGE)
  const page = `/activity?limit=100&cursor=${deep}`
  timings.push({
    name: `/activity?limit=100, page ${DEEP_PAGE.toLocaleString('en')}`,
    result: ms(await median(() => call(kept, page), CALLS)),
  })
  return [{ name: 'activity and analytics: events', result: total.toLocaleString('en') }, ...timings]
}

export const datedPath = (endpoint: string) =>
  endpoint.replace(/\{(\d+) days ago\}/, (_, days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10))

async function cursorOf({ url, secretKey }: Product, wanted: number) {
  let cursor = ''
  for (let page = 1; page < wanted; page++) {
    const answer = await fetch(`${url}/activity?limit=100&cursor=${cursor}`, { headers: { authorization: `Bearer ${secretKey}` } })
    const body = (await answer.json()) as { cursor: string | null }
    if (!body.cursor) break
    cursor = body.cursor
  }
  return cursor
}

/** Inserting takes minutes, so the project is kept for the next run of the same size. */
async function keptProject(product: Product, total: number): Promise<Product> {
  const note = join(product.dataDir, `insight-${total}.json`)
  if (existsSync(note)) return { ...product, ...(JSON.parse(readFileSync(note, 'utf8')) as object) }
  const { projectId, secretKey } = product
  await makePartitions(product.dataDir)
  const client = await connectToBench(product.dataDir)
  try {
    await seedFeed(client, projectId, total)
    await seedRollups(client, projectId)
  } finally {
    await client.end()
  }
  writeFileSync(note, JSON.stringify({ projectId, secretKey }))
  return product
}

const NAMES = `array['email.sent','email.sent','email.delivery','email.delivery','email.open','email.open','email.click','email.bounce','signup','bought']`

async function seedFeed(client: pg.Client, projectId: string, total: number) {
  const start = Date.now() - DAYS * DAY_MS
  for (let from = 1; from <= total; from += PAGE)
    await client.query(
      `insert into events (project_id, id, name, contact_id, data, created_at)
       select $1, ${idAt('at')}, (${NAMES})[1 + n % 10], null,
         jsonb_build_object('emailId', gen_random_uuid(), 'subject', 'Hello', 'from', 'news@bench.example', 'sourceType', 'CAMPAIGN'), to_timestamp(at / 1000.0)
       from generate_series($2::int, $3::int) n, md5(n::text) hash, lateral (select $4::bigint + n * $5::bigint / $6::bigint as at) as time`,
      [projectId, from, Math.min(total, from + PAGE - 1), start, DAYS * DAY_MS, total],
    )
  const activities = Math.round((total / EVENTS) * ACTIVITIES)
  await client.query(
    `insert into activities (project_id, id, type, data)
     select $1, ${idAt('at')}, (array['workflow.started','workflow.completed','email.skipped','workflow.failed'])[1 + n % 4], jsonb_build_object('workflowId', gen_random_uuid())
     from generate_series(1, $2::int) n, md5('a' || n) hash, lateral (select $3::bigint + n * $4::bigint / $2::bigint as at) as time`,
    [projectId, activities, start, DAYS * DAY_MS],
  )
  await client.query(
    'insert into event_counts (project_id, name, day, count) select $1, name, id_day(id), count(*) from events where project_id = $1 group by 2, 3 on conflict do nothing',
    [projectId],
  )
  await client.query(
    'insert into activity_counts (project_id, type, day, count) select $1, type, id_day(id), count(*) from activities where project_id = $1 group by 2, 3 on conflict do nothing',
    [projectId],
  )
  await client.query('vacuum analyze events')
  await client.query('vacuum analyze activities')
}

/** Every hour has emails of each template, and opens of the campaigns of the last days. */
async function seedRollups(client: pg.Client, projectId: string) {
  await client.query(
    `insert into campaigns (project_id, id, name, subject, body, from_address, type, audience_type, status, started_at, sent_count, opened_count, clicked_count)
     select $1, gen_random_uuid(), 'Campaign ' || n, 'Hello', repeat('<p>Hello</p>', 500), 'news@bench.example', 'MARKETING', 'ALL', 'SENT', now() - n * interval '4 hours',
       10000 + n, 3000 + n % 700, 400 + n % 90 from generate_series(1, $2::int) n`,
    [projectId, CAMPAIGNS],
  )
  const figures = 'sent, delivered, opened, clicked, machine_opened, bounced, within_1s, within_5s, within_1m'
  await client.query(
    `insert into email_hours (project_id, hour, source, campaign_id, template_id, workflow_id, ${figures})
     select $1, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', 'TRANSACTIONAL', '00000000-0000-0000-0000-000000000000',
       overlay(overlay(md5('template ' || t) placing '4' from 13) placing '8' from 17)::uuid, '00000000-0000-0000-0000-000000000000', 50, 48, 20, 5, 9, 1, 30, 15, 3
     from generate_series(0, ${DAYS * 24}) h, generate_series(1, $2::int) t`,
    [projectId, TEMPLATES],
  )
  await client.query(
    `insert into email_hours (project_id, hour, source, campaign_id, template_id, workflow_id, ${figures})
     select $1, date_trunc('hour', c.started_at, 'UTC') + h * interval '1 hour', 'CAMPAIGN', c.id,
       '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', case when h = 0 then 10000 else 0 end, 100, 60, 8, 30, 1, 0, 0, 100
     from campaigns c, generate_series(0, 100) h where c.project_id = $1`,
    [projectId],
  )
  const sums = figures
    .split(', ')
    .map((column) => `sum(${column})`)
    .join(', ')
  await client.query(
    `insert into email_days (project_id, day, source, campaign_id, template_id, workflow_id, ${figures})
     select project_id, (hour at time zone 'utc')::date, source, campaign_id, template_id, workflow_id, ${sums} from email_hours where project_id = $1 group by 1, 2, 3, 4, 5, 6`,
    [projectId],
  )
  await client.query(
    `insert into email_domain_days (project_id, day, domain, sent, delivered, opened)
     select $1, current_date - d, case when n = 0 then '' else 'd' || n || '.example' end, 1000 - n, 900, 300 from generate_series(0, ${DAYS}) d, generate_series(0, 100) n`,
    [projectId],
  )
  await client.query(
    `insert into contact_days (project_id, day, source, created, opted_out)
     select $1, current_date - d, source, 100, 3 from generate_series(0, ${DAYS}) d, unnest(array['secret-key', 'public-key', 'import', 'one-click']) source`,
    [projectId],
  )
  await client.query('vacuum analyze email_hours')
  await client.query('vacuum analyze email_days')
}
