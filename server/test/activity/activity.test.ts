import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { activityLedger, dropOldActivities, recordActivities } from '../../src/events/activities.ts'
import { lowestId, newId } from '../../src/lib/id.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newWorkflowProject } from '../workflows/workflow-project.ts'

const sterna = useSharedApp()
const inTx = <T>(work: Parameters<typeof transact<T>>[1]) => transact(sterna.db, work)
type Item = {
  id: string
  type: string
  timestamp: string
  contactId: string | null
  contactEmail: string | null
  metadata: Record<string, unknown>
}

let project: Awaited<ReturnType<typeof newWorkflowProject>>
let workflowId: string
let campaignId: string
const list = async (query = ''): Promise<{ data: Item[]; cursor: string | null; hasMore: boolean; total: number }> =>
  (await project.call('GET', `/activity?limit=100${query}`)).body
const typesOf = async (query = '') => (await list(query)).data.map(({ type }) => type)
const contactOf = async (email: string) => (await project.contacts.find(email)).id as string

beforeAll(async () => {
  project = await newWorkflowProject(sterna)
  const { call, contacts, track, send } = project
  workflowId = (await project.line([{ type: 'EXIT', name: 'End', config: { reason: 'done' } }])).id
  const paused = await project.line([{ type: 'DELAY', name: 'Wait', config: { amount: 2, unit: 'days' } }], {
    name: 'Slow',
    eventName: 'paused',
  })
  await contacts.create('ada@example.com')
  await track({ email: 'ada@example.com', event: 'signup', data: { plan: 'pro' } })
  await track({ email: 'ada@example.com', event: 'paused' })
  await project.ended(workflowId)
  await send({ to: 'bounce@example.com' })
  await send({ to: 'delivered@example.com' })
  await call('POST', '/suppressions', { address: 'bad@example.com' })
  await call('POST', '/suppressions/bulk', { entries: ['bad@example.com', 'worse@example.com'] })
  const campaign = { name: 'News', subject: 'Hello', body: '<p>Hi</p>', from: `news@${project.domain}`, audienceType: 'ALL' }
  campaignId = (await call('POST', '/campaigns', campaign)).body.data.id
  await call('POST', `/campaigns/${campaignId}/send`)
  const later = (await call('POST', '/campaigns', { ...campaign, name: 'Later' })).body.data.id
  await call('POST', `/campaigns/${later}/send`, { scheduledFor: new Date(Date.now() + 86_400_000).toISOString() })
  await eventually(async () => {
    expect((await project.executions(paused.id))[0]?.status).toBe('WAITING')
    const types = await typesOf()
    for (const type of ['email.sent', 'email.delivered', 'email.bounced', 'campaign.sent', 'workflow.completed'])
      expect(types).toContain(type)
  })
})

describe('the activity feed', () => {
  test('has events and other activities in one list, newest first', async () => {
    const { data, total, hasMore } = await list()
    expect(data.map(({ id }) => id)).toEqual(
      data
        .map(({ id }) => id)
        .toSorted()
        .reverse(),
    )
    expect([total, hasMore]).toEqual([data.length, false])
    const of = (type: string) => data.filter((item) => item.type === type)
    expect(of('event.triggered').map(({ metadata, contactEmail }) => [metadata, contactEmail])).toEqual([
      [{ eventName: 'paused', data: {} }, 'ada@example.com'],
      [{ eventName: 'signup', data: { plan: 'pro' } }, 'ada@example.com'],
    ])
    expect(of('workflow.started')).toHaveLength(2)
    expect(of('workflow.completed')[0]).toMatchObject({
      contactEmail: 'ada@example.com',
      metadata: { workflowId, workflowName: 'Welcome', executionId: expect.any(String), exitReason: 'done' },
    })
    expect(of('campaign.sent')[0]!.metadata).toMatchObject({ campaignId, campaignName: 'News', totalRecipients: 1, sentCount: 1 })
    expect(of('contact.suppressed').map(({ metadata }) => [metadata.address, metadata.reason])).toEqual(
      expect.arrayContaining([
        ['bad@example.com', 'manual'],
        ['worse@example.com', 'manual'],
        ['bounce@example.com', 'bounce'],
      ]),
    )
    expect(of('contact.suppressed')).toHaveLength(3)
    expect(of('email.sent').find(({ metadata }) => metadata.campaignId === campaignId)?.metadata).toMatchObject({
      campaignName: 'News',
      subject: 'Hello',
      sourceType: 'CAMPAIGN',
    })
    for (const { timestamp } of data) expect(Math.abs(Date.now() - Date.parse(timestamp))).toBeLessThan(600_000)
  })

  test('is paged without gaps or repetitions while new activities arrive', async () => {
    const all = (await list()).data.map(({ id }) => id)
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await project.call('GET', `/activity?limit=3&cursor=${cursor}`)
      paged.push(...body.data.map(({ id }: Item) => id))
      if (cursor) expect(body.total).toBe(0)
      else await project.track({ email: 'ada@example.com', event: 'meanwhile' })
      if (!body.hasMore) break
      cursor = body.cursor
    }
    expect(paged).toEqual(all)
    const foreign = await sterna.newProject(await sterna.sharedOwner())
    const { cursor } = await list('&limit=1')
    for (const query of [`?cursor=${cursor}&types=email.sent`, '?cursor=nonsense'])
      expect((await project.call('GET', `/activity${query}`)).status).toBe(400)
    expect((await foreign.call('GET', `/activity?cursor=${cursor}`)).status).toBe(400)
    expect((await foreign.call('GET', '/activity')).body).toEqual({ data: [], cursor: null, hasMore: false, total: 0 })
  })

  test.each([
    ['types=email.bounced', ['email.bounced']],
    ['types=event.triggered,workflow.started', ['event.triggered', 'workflow.started']],
    ['types=event.triggered&types=campaign.sent', ['campaign.sent', 'event.triggered']],
    ['types=contact.suppressed', ['contact.suppressed']],
    ['types=unheard.of', []],
  ])('filters by %s', async (query, types) => {
    const { data, total } = await list(`&${query}`)
    expect([...new Set(data.map(({ type }) => type))].sort()).toEqual(types)
    expect(total).toBe(data.length)
  })

  test('filters by contact and type', async () => {
    const ada = await contactOf('ada@example.com')
    const ofAda = await list(`&contactId=${ada}`)
    expect(ofAda.data.every(({ contactId }) => contactId === ada)).toBe(true)
    expect(ofAda.total).toBe(ofAda.data.length)
    expect(new Set(await typesOf(`&contactId=${ada}&types=event.triggered,workflow.completed`))).toEqual(
      new Set(['event.triggered', 'workflow.completed']),
    )
    for (const none of [newId(), 'nobody']) expect(await list(`&contactId=${none}`)).toMatchObject({ data: [], total: 0 })
  })

  test('filters by dates and times', async () => {
    const { data } = await list()
    const day = data[0]!.timestamp.slice(0, 10)
    expect((await list(`&startDate=${day}&endDate=${day}`)).total).toBe(data.filter(({ timestamp }) => timestamp.startsWith(day)).length)
    const middle = data[Math.floor(data.length / 2)]!
    expect((await list(`&startDate=${middle.timestamp}`)).data.map(({ id }) => id)).toContain(middle.id)
    expect((await list(`&endDate=${middle.timestamp}`)).data.map(({ id }) => id)).toContain(middle.id)
    expect((await list('&endDate=1970-01-02')).data).toEqual([])
    expect((await list('&startDate=0001-01-01&endDate=9999-12-31')).total).toBe(data.length)
    for (const bad of ['2026-02-30', 'now', '2026-01-01T25:00'])
      expect((await project.call('GET', `/activity?startDate=${bad}`)).status).toBe(400)
  })

  test.each([
    ['', '2026-01-02', '2026-01-01', 400],
    ['', '2026-01-02T00:00:00.001Z', '2026-01-02T00:00:00Z', 400],
    ['', '2026-01-02T00:00:00Z', '2026-01-01', 400],
    ['', '2026-01-01T23:59:59Z', '2026-01-01', 200],
    ['', '2026-01-01T12:00:00Z', '2026-01-01T12:00:00Z', 200],
    ['', '0001-01-01', '0002-01-01', 200],
    ['', '0002-01-01', '0001-01-01', 400],
    ['/stats', '2026-01-02', '2026-01-01', 400],
    ['/stats', '2026-01-01', '2026-01-01', 200],
  ])('%s from %s to %s is %i', async (path, startDate, endDate, status) => {
    expect((await project.call('GET', `/activity${path}?startDate=${startDate}&endDate=${endDate}`)).status).toBe(status)
  })

  test('has skipped emails with the reason', async () => {
    await sql`insert into suppressions (project_id, address, reason) values (${project.id}, 'late@example.com', 'manual')`.execute(
      sterna.db,
    )
    await project.send({ to: 'late@example.com' })
    const [item] = await eventually(async () => {
      const { data } = await list('&types=email.skipped')
      expect(data).toHaveLength(1)
      return data
    })
    expect(item).toMatchObject({ contactEmail: 'late@example.com', metadata: { reason: 'suppressed', emailId: expect.any(String) } })
  })

  test('does not show the body of a received email', async () => {
    const data = { subject: 'Re: Hi', text: 'private', html: '<p>private</p>', headers: { a: 'b' } }
    await sql`insert into events (project_id, id, name, data) values (${project.id}, ${newId()}, 'email.received', ${JSON.stringify(data)}::jsonb)`.execute(
      sterna.db,
    )
    const [item] = (await list('&types=email.received')).data
    expect(item!.metadata).toEqual({ subject: 'Re: Hi' })
  })

  test('forgets a deleted contact', async () => {
    await project.track({ email: 'gone@example.com', event: 'signup' })
    const id = await contactOf('gone@example.com')
    const rows = () => many(sterna.db, sql`select 1 from activities where project_id = ${project.id} and contact_id = ${id}`)
    await eventually(async () => expect(await rows()).toHaveLength(2))
    await project.call('DELETE', `/contacts/${id}`)
    await eventually(async () => expect(await rows()).toEqual([]))
    await activityLedger.fold(sterna.db)
    const counts = () =>
      many(
        sterna.db,
        sql`select type, day::text, sum(count)::int as n from activity_counts where project_id = ${project.id} group by 1, 2 order by 1, 2`,
      )
    const before = await counts()
    await activityLedger.repair(sterna.db, project.id)
    expect(await counts()).toEqual(before)
  })
})

test('the stats count what was sent, tracked and started', async () => {
  await eventually(async () => {
    const { body } = await project.call('GET', '/activity/stats')
    expect(body).toMatchObject({ totalEmailsSent: 3, totalEmailsOpened: 0, openRate: 0, clickRate: 0 })
    expect([body.totalEvents, body.totalWorkflowsStarted]).toEqual([
      (await list('&types=event.triggered')).total,
      (await list('&types=workflow.started')).total,
    ])
  })
  const { body } = await project.call('GET', '/activity/stats?endDate=2020-01-01')
  expect(Object.values(body)).toEqual([0, 0, 0, 0, 0, 0, 0])
})

test('recent activities are counted by the minute', async () => {
  const { body } = await project.call('GET', '/activity/recent-count')
  expect(body).toEqual({ count: (await list()).data.length, minutes: 5 })
  expect((await project.call('GET', '/activity/recent-count?minutes=9999')).body.minutes).toBe(1_440)
})

test('the types are listed, and those that have happened', async () => {
  const { types, seen } = (await project.call('GET', '/activity/types')).body
  expect(types).toHaveLength(17)
  expect(seen).toEqual(expect.arrayContaining(['event.triggered', 'email.sent', 'campaign.sent', 'workflow.started']))
  expect(seen).not.toContain('email.complaint')
})

test('scheduled campaigns and executions that wait are upcoming', async () => {
  const { activities } = (await project.call('GET', '/activity/upcoming')).body as { activities: Item[] }
  expect(
    activities.map(({ type, contactEmail, metadata }) => [type, contactEmail, metadata.campaignName ?? metadata.workflowName]),
  ).toEqual([
    ['campaign.scheduled', null, 'Later'],
    ['workflow.email.scheduled', 'ada@example.com', 'Slow'],
  ])
  expect((await project.call('GET', '/activity/upcoming?daysAhead=1&limit=1')).body.activities).toHaveLength(1)
})

test('old activities are dropped with the retention of events', async () => {
  const { id } = await sterna.newProject(await sterna.sharedOwner())
  await inTx((tx) => recordActivities(tx, [{ projectId: id, type: 'campaign.sent' }]))
  const old = lowestId(new Date('2026-01-31T23:59:59Z'))
  await sql`insert into activities (project_id, id, type) values (${id}, ${old}, 'campaign.sent')`.execute(sterna.db)
  const now = new Date('2026-04-15T00:00:00Z')
  const drop = (months: number) => inTx((tx) => dropOldActivities(tx, { months, limit: 10, now }))
  expect([await drop(0), await drop(3), await drop(2), await drop(2)]).toEqual([0, 0, 1, 0])
  expect(await many(sterna.db, sql`select 1 from activities where project_id = ${id}`)).toHaveLength(1)
})

test('the stats and the list have the same emails after their contacts were deleted', async () => {
  const sent = sql<{ id: string }>`select distinct contact_id as id from events where project_id = ${project.id} and name = 'email.sent'`
  const ids = (await many(sterna.db, sent)).map(({ id }) => id)
  for (const id of ids) await project.call('DELETE', `/contacts/${id}`)
  const left = sql`select 1 from events where project_id = ${project.id} and contact_id = any(${ids}::uuid[])`
  await eventually(async () => expect(await many(sterna.db, left)).toEqual([]))
  const { data, total } = await list('&types=email.sent')
  expect(new Set(data.map(({ contactId }) => contactId))).toEqual(new Set([null]))
  expect([total, data.length]).toEqual(Array(2).fill((await project.call('GET', '/activity/stats')).body.totalEmailsSent))
})
