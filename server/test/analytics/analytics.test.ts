import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { addDays } from '../../src/analytics/period.ts'
import { many } from '../../src/db/index.ts'
import { NIL_ID, newId } from '../../src/lib/id.ts'
import { useSharedApp } from '../support/app.ts'
import { stayWithinDay, today } from '../support/clock.ts'

const sterna = useSharedApp()
let project: Awaited<ReturnType<typeof sterna.newProject>>
const get = async (path: string) => (await project.call('GET', `/analytics/${path}`)).body
const [CAMPAIGN, TEMPLATE] = [newId(), newId()]

type Facts = { at: string; source?: string; campaignId?: string; templateId?: string; [metric: string]: string | number | undefined }

/** Adds a row to the roll-ups by hour and by day. */
async function count({ at, source = 'TRANSACTIONAL', campaignId = NIL_ID, templateId = NIL_ID, ...metrics }: Facts) {
  const columns = sql.join(Object.keys(metrics).map((column) => sql.ref(column)))
  const values = sql.join(Object.values(metrics))
  for (const [table, column, type] of [
    ['email_hours', 'hour', 'timestamptz'],
    ['email_days', 'day', 'date'],
  ] as const)
    await sql`
      insert into ${sql.table(table)} (project_id, ${sql.ref(column)}, source, campaign_id, template_id, workflow_id, ${columns})
      values (${project.id}, ${column === 'day' ? at.slice(0, 10) : at}::${sql.raw(type)}, ${source}, ${campaignId}, ${templateId}, ${NIL_ID}, ${values})
    `.execute(sterna.db)
}

beforeAll(async () => {
  await stayWithinDay()
  project = await sterna.newProject()
  await count({ at: '2026-03-01T23:00:00Z', sent: 10, delivered: 8, opened: 4, clicked: 2, machine_opened: 3, within_1s: 4, within_10s: 4 })
  await count({
    at: '2026-03-03T08:00:00Z',
    source: 'CAMPAIGN',
    campaignId: CAMPAIGN,
    templateId: TEMPLATE,
    sent: 60,
    opened: 30,
    clicked: 6,
    bounced: 1,
    complained: 1,
  })
  await count({ at: '2026-02-27T08:00:00Z', source: 'CAMPAIGN', campaignId: CAMPAIGN, sent: 5 })
})

describe('the time series', () => {
  test('has one point per UTC day, also without emails', async () => {
    const points = await get('timeseries?startDate=2026-03-01&endDate=2026-03-04')
    expect(points.map(({ date, emails, opens }: { date: string; emails: number; opens: number }) => [date, emails, opens])).toEqual([
      ['2026-03-01', 10, 4],
      ['2026-03-02', 0, 0],
      ['2026-03-03', 60, 30],
      ['2026-03-04', 0, 0],
    ])
    expect(points[0]).toEqual({
      date: '2026-03-01',
      emails: 10,
      delivered: 8,
      opens: 4,
      clicks: 2,
      machineOpens: 3,
      machineClicks: 0,
      bounces: 0,
      complaints: 0,
      unsubscribes: 0,
    })
    const recent = await get('timeseries')
    expect([recent.length, recent.at(-1).date]).toEqual([30, today()])
  })

  test('has the days of a time zone', async () => {
    const points = await get('timeseries?startDate=2026-03-01&endDate=2026-03-03&timezone=Europe/Berlin')
    expect(points.map(({ emails }: { emails: number }) => emails)).toEqual([0, 10, 60])
  })

  test('has the hours of a day, and of a day of a time zone', async () => {
    const hours = await get('timeseries?startDate=2026-03-03&endDate=2026-03-03&interval=hour&timezone=Europe/Berlin')
    expect(hours.map(({ date }: { date: string }) => date).slice(0, 2)).toEqual(['2026-03-02T23:00:00.000Z', '2026-03-03T00:00:00.000Z'])
    expect([hours.length, hours.filter(({ emails }: { emails: number }) => emails > 0)]).toEqual([
      24,
      [expect.objectContaining({ date: '2026-03-03T08:00:00.000Z', emails: 60 })],
    ])
    expect(await get('timeseries?startDate=2026-03-29&endDate=2026-03-29&interval=hour&timezone=Europe/Berlin')).toHaveLength(23)
  })

  test.each([
    [`campaignId=${CAMPAIGN}`, 60],
    [`templateId=${TEMPLATE}`, 60],
    ['source=TRANSACTIONAL', 10],
    ['source=elsewhere', 70],
    [`workflowId=${newId()}`, 0],
  ])('filters by %s', async (filter, emails) => {
    const points = await get(`timeseries?startDate=2026-03-01&endDate=2026-03-04&${filter}`)
    expect(points.reduce((sum: number, point: { emails: number }) => sum + point.emails, 0)).toBe(emails)
  })

  test.each([
    'startDate=2026-02-30',
    'startDate=yesterday',
    'startDate=2026-03-02&endDate=2026-03-01',
    'startDate=0001-01-01&endDate=9999-12-31',
    'startDate=2026-01-01&endDate=2026-03-01&interval=hour',
    'endDate=0000-01-01',
    "timezone=UTC';--",
    'timezone=%2B25:00',
  ])('refuses %s', async (query) => {
    const answer = await project.call('GET', `/analytics/timeseries?${query}`)
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'BAD_REQUEST'])
  })

  test.each(['endDate=0001-01-02', 'startDate=9999-12-30&endDate=9999-12-31'])('takes the borders of time: %s', async (query) => {
    for (const path of ['timeseries', 'summary', 'weekday-hours', 'top-events', 'growth', 'domains', 'leaders', 'delivery-times'])
      expect([path, (await project.call('GET', `/analytics/${path}?${query}`)).status]).toEqual([path, 200])
  })
})

test('the summary compares a period with the one before', async () => {
  await project.contacts.create('ada@example.com')
  const { current, previous } = await get('summary?startDate=2026-03-01&endDate=2026-03-04')
  expect(current).toMatchObject({ from: '2026-03-01', to: '2026-03-04', emails: 70, clicks: 8, newContacts: 0 })
  expect(previous).toMatchObject({ from: '2026-02-25', to: '2026-02-28', emails: 5 })
  expect((await get('summary')).current).toMatchObject({ newContacts: 1, newSubscribers: 1, to: today() })
})

test('the hours of the week are those of the time zone', async () => {
  const cells = await get('weekday-hours?startDate=2026-03-01&endDate=2026-03-04&timezone=Europe/Berlin')
  expect(cells).toHaveLength(168)
  type Cell = { weekday: number; hour: number; emails: number }
  expect(cells.filter(({ emails }: Cell) => emails > 0).map(({ weekday, hour, emails }: Cell) => [weekday, hour, emails])).toEqual([
    [1, 0, 10],
    [2, 9, 60],
  ])
})

test('the leaders of a period have their names, and rates of few emails come last', async () => {
  const [first, ...rest] = await get('leaders?startDate=2026-03-01&endDate=2026-03-04&by=campaign')
  expect([first, rest]).toEqual([expect.objectContaining({ id: CAMPAIGN, name: null, emails: 60, clickRate: 10, openRate: 50 }), []])
  const { body } = await project.call('POST', '/templates', { name: 'Welcome', subject: 'S', body: 'B', type: 'TRANSACTIONAL' })
  await count({ at: '2026-03-04T01:00:00Z', templateId: body.id, sent: 2, clicked: 2 })
  const templates = await get('leaders?startDate=2026-03-01&endDate=2026-03-04&by=template')
  expect(templates.map(({ name, clickRate }: { name: string; clickRate: number }) => [name, clickRate])).toEqual([
    [null, 10],
    ['Welcome', 100],
  ])
})

test('domains of recipients are listed by size, with the others at the end', async () => {
  const add = (domain: string, sent: number, bounced: number) =>
    sql`insert into email_domain_days (project_id, day, domain, sent, bounced) values (${project.id}, '2026-03-01', ${domain}, ${sent}, ${bounced})`.execute(
      sterna.db,
    )
  await add('small.example', 1, 0)
  await add('large.example', 8, 1)
  await add('', 20, 2)
  type Domain = { domain: string; isOther: boolean; emails: number; bounceRate: number }
  const list = async (query: string) =>
    (await get(`domains?startDate=2026-03-01&endDate=2026-03-02${query}`)).map(({ domain, isOther, emails, bounceRate }: Domain) => [
      domain,
      isOther,
      emails,
      bounceRate,
    ])
  expect(await list('')).toEqual([
    ['large.example', false, 8, 12.5],
    ['small.example', false, 1, 0],
    ['other', true, 20, 10],
  ])
  expect(await list('&limit=1')).toEqual([
    ['large.example', false, 8, 12.5],
    ['other', true, 21, 9.5],
  ])
})

test('delivery times are a histogram with percentiles', async () => {
  const times = await get('delivery-times?startDate=2026-03-01&endDate=2026-03-01')
  expect(times).toMatchObject({ count: 8, p50Seconds: 1, p95Seconds: 9.5 })
  expect(times.buckets).toHaveLength(11)
  expect((await get('delivery-times?startDate=2026-03-01&endDate=2026-03-01&source=CAMPAIGN')).p50Seconds).toBeNull()
})

test('campaigns are ranked by a metric, and counted by status', async () => {
  const add = (name: string, sent: number, opened: number, clicked: number, status = 'SENT') =>
    sql`
      insert into campaigns (project_id, id, name, subject, body, from_address, type, audience_type, status, started_at, sent_count, opened_count, clicked_count)
      values (${project.id}, ${newId()}, ${name}, 'S', 'B', 'a@b.example', 'MARKETING', 'ALL', ${status}, '2026-03-01T12:00:00Z', ${sent}, ${opened}, ${clicked})
    `.execute(sterna.db)
  await add('Many', 100, 30, 1)
  await add('Few', 2, 2, 2)
  await add('Clicked', 80, 20, 10)
  await add('Draft', 0, 0, 0, 'DRAFT')
  const names = async (query: string) => (await get(`top-campaigns?${query}`)).map(({ name }: { name: string }) => name)
  expect(await names('')).toEqual(['Many', 'Clicked', 'Few'])
  expect(await names('metric=clickRate')).toEqual(['Clicked', 'Many', 'Few'])
  expect(await names('metric=clickedCount&limit=1')).toEqual(['Clicked'])
  expect(await names('startDate=2026-03-02')).toEqual([])
  expect((await get('top-campaigns?limit=1'))[0]).toMatchObject({ sentCount: 100, openRate: 30, clickRate: 1 })
  expect(await get('campaign-stats')).toMatchObject({
    total: 4,
    active: 0,
    completed: 3,
    drafts: 1,
    averageOpenRate: 28.6,
    averageClickRate: 7.1,
  })
})

test('the most frequent events have a trend, without those that the service records', async () => {
  const add = (name: string, day: string, n: number) =>
    sql`insert into event_counts (project_id, name, day, count) values (${project.id}, ${name}, ${day}::date, ${n})`.execute(sterna.db)
  await add('bought', addDays(today(), -1), 30)
  await add('bought', addDays(today(), -31), 20)
  await add('looked', today(), 3)
  await add('email.sent', today(), 99)
  await add('segment.vip.entry', today(), 99)
  await add('emails.read', addDays(today(), -40), 99)
  expect(await get('top-events')).toEqual([
    { name: 'bought', count: 30, previousCount: 20, trend: 50 },
    { name: 'looked', count: 3, previousCount: 0, trend: null },
  ])
})

test('a project has a time zone', async () => {
  const { owner, id } = project
  const patch = (timezone: unknown) => owner.call('PATCH', `/users/@me/projects/${id}`, { body: { timezone } })
  expect((await patch('Asia/Kolkata')).body.timezone).toBe('Asia/Kolkata')
  for (const bad of ['Mars/Olympus', '', 5]) expect((await patch(bad)).status).toBe(422)
  expect(await many(sterna.db, sql`select timezone from projects where id = ${id}`)).toEqual([{ timezone: 'Asia/Kolkata' }])
})
