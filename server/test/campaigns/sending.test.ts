import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { startLocalNode } from '../support/local-node.ts'
import { times } from '../support/times.ts'
import { type CampaignProject, newCampaignProject } from './campaign-project.ts'

const sterna = useSharedApp()
const newProject = () => newCampaignProject(sterna)

/** Ada, Bob and Eve are subscribed, Dan is not, Sue is suppressed. */
async function newAudience() {
  const project = await newProject()
  await project.subscribe('ada', 'bob', 'eve', 'sue')
  await project.contacts.create('dan@example.com', { subscribed: false })
  await project.call('POST', '/suppressions', { address: 'sue@example.com' })
  return project
}

const isNamed = (name: string) => ({ logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'contains', value: name }] }] })

describe('a campaign', () => {
  let project: CampaignProject
  beforeAll(async () => {
    project = await newAudience()
  })

  test('reaches the subscribed contacts, and balances', async () => {
    const { id } = await project.create()
    const started = await project.act(id, 'send')
    expect([started.status, started.body.status, started.body.startedBy]).toEqual([200, 'SENDING', { by: 'key', userId: null }])
    const sent = await project.reached(id, 'SENT')
    expect(sent).toMatchObject({
      totalRecipients: 3,
      sentCount: 3,
      failedCount: 0,
      skippedCount: 0,
      excludedCounts: { unsubscribed: 1, suppressed: 1, invalid: 0 },
      sentAt: expect.any(String),
    })
    expect(await project.recipients(id)).toEqual(['ada', 'bob', 'eve'])
    expect(await project.audit(id)).toEqual([
      ['started', 'key'],
      ['sent', 'system'],
    ])
    const { data } = (await project.call('GET', `/emails?campaignId=${id}`)).body
    expect(data.map(({ campaignId, sourceType }: Record<string, string>) => [campaignId, sourceType])).toEqual(
      times(3, () => [id, 'CAMPAIGN']),
    )
  })

  test('of the type TRANSACTIONAL also reaches unsubscribed contacts, not suppressed ones', async () => {
    const { id, excludedCounts } = await project.sent({ type: 'TRANSACTIONAL' })
    expect([await project.recipients(id), excludedCounts]).toEqual([
      ['ada', 'bob', 'dan', 'eve'],
      { unsubscribed: 0, suppressed: 1, invalid: 0 },
    ])
  })

  test('to a condition, a static and a dynamic segment reaches their contacts', async () => {
    const filtered = await project.sent({ audienceType: 'FILTERED', audienceCondition: isNamed('ada') })
    const list = (await project.call('POST', '/segments', { name: 'List', type: 'STATIC' })).body.id
    await project.call('POST', `/segments/${list}/members`, { emails: ['bob@example.com', 'dan@example.com'] })
    const fixed = await project.sent({ audienceType: 'SEGMENT', segmentId: list })
    const inList = { logic: 'AND', groups: [{ filters: [{ field: `segment.${list}`, operator: 'notMemberOfSegment' }] }] }
    const others = (await project.call('POST', '/segments', { name: 'Others', condition: inList })).body.id
    const dynamic = await project.sent({ audienceType: 'SEGMENT', segmentId: others })
    expect(await Promise.all([filtered, fixed, dynamic].map(({ id }) => project.recipients(id)))).toEqual([
      ['ada'],
      ['bob'],
      ['ada', 'eve'],
    ])
  })

  test('without recipients is refused and stays a draft', async () => {
    const { id } = await project.create({ audienceType: 'FILTERED', audienceCondition: isNamed('nobody') })
    expect(outcome(await project.act(id, 'send'))).toEqual([400, 'BAD_REQUEST'])
    const { id: suppressed } = await project.create({ audienceType: 'FILTERED', audienceCondition: isNamed('sue') })
    expect(outcome(await project.act(suppressed, 'send'))).toEqual([400, 'BAD_REQUEST'])
    expect([(await project.get(id)).status, (await project.get(suppressed)).status]).toEqual(['DRAFT', 'DRAFT'])
  })

  test('is started once by many requests at the same moment', async () => {
    const { id } = await project.create()
    const answers = await Promise.all(times(20, () => project.act(id, 'send')))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...times(19, () => 409)])
    await project.reached(id, 'SENT')
    expect((await project.audit(id)).filter(([action]) => action === 'started')).toHaveLength(1)
    expect(await project.states(id)).toEqual({ sent: 3 })
  })

  test('cannot be changed or sent again once it is sent', async () => {
    const { id } = await project.sent({ audienceType: 'FILTERED', audienceCondition: isNamed('ada') })
    const answers = [await project.put(id), await project.act(id, 'send'), await project.act(id, 'cancel'), await project.act(id, 'pause')]
    expect(answers.map(outcome)).toEqual(times(4, () => [409, 'CONFLICT']))
    expect((await project.call('DELETE', `/campaigns/${id}`)).status).toBe(204)
  })
})

describe('the start freezes', () => {
  test('contacts, events, memberships, the conditions of segments, and the content', async () => {
    const project = await newProject()
    const add = (name: string, team: string) => project.contacts.create(`${name}@example.com`, { subscribed: true, data: { team } })
    await Promise.all([add('ada', 'a'), add('amy', 'a'), add('bob', 'b')])
    const list = (await project.call('POST', '/segments', { name: 'List', type: 'STATIC' })).body.id
    const inTeam = (team: string) => ({ filters: [{ field: 'data.team', operator: 'equals', value: team }] })
    const groups = [
      inTeam('a'),
      { filters: [{ field: 'event.signup', operator: 'triggered' }] },
      { filters: [{ field: `segment.${list}`, operator: 'memberOfSegment' }] },
    ]
    const segmentId = (await project.call('POST', '/segments', { name: 'S', condition: { logic: 'OR', groups } })).body.id
    const { id } = await project.stuck({ audienceType: 'SEGMENT', segmentId })
    await add('eve', 'a')
    await project.track({ email: 'bob@example.com', event: 'signup' })
    await project.call('POST', `/segments/${list}/members`, { emails: ['bob@example.com'] })
    await project.call('PATCH', `/segments/${segmentId}`, { condition: { logic: 'AND', groups: [inTeam('b')] } })
    await rewind(project, id)
    await project.call('PUT', `/campaigns/${id}/rate`, { ratePerMinute: null })
    expect(await project.reached(id, 'SENT')).toMatchObject({ totalRecipients: 2, sentCount: 2 })
    expect(await project.recipients(id)).toEqual(['ada', 'amy'])
  })

  /** As if no page of recipients but the one email that was sent had been written yet. */
  const rewind = (project: CampaignProject, id: string) =>
    transact(sterna.db, async (tx) => {
      await sql`delete from emails where project_id = ${project.id} and campaign_id = ${id} and state = 'queued'`.execute(tx)
      await sql`
        update campaigns set freeze_cursor = null, frozen_at = null, total_recipients = 1 where project_id = ${project.id} and id = ${id}
      `.execute(tx)
    })

  test('in pages that continue after the last contact, on any worker', async () => {
    const project = await newProject()
    await project.contacts.createMany(30)
    await sql`update contacts set subscribed = true where project_id = ${project.id}`.execute(sterna.db)
    const { id } = await project.stuck()
    // As if the worker had died after the tenth contact.
    const [tenth] = (
      await sql<{ id: string }>`select id from contacts where project_id = ${project.id} order by id offset 9 limit 1`.execute(sterna.db)
    ).rows
    await transact(sterna.db, async (tx) => {
      await sql`delete from emails where project_id = ${project.id} and campaign_id = ${id} and contact_id > ${tenth!.id} and state = 'queued'`.execute(
        tx,
      )
      await sql`
        update campaigns set freeze_cursor = ${tenth!.id}, frozen_at = null,
          total_recipients = (select count(*) from emails where project_id = ${project.id} and campaign_id = ${id})
        where project_id = ${project.id} and id = ${id}
      `.execute(tx)
    })
    await project.call('PUT', `/campaigns/${id}/rate`, { ratePerMinute: null })
    expect(await project.reached(id, 'SENT')).toMatchObject({ totalRecipients: 30, sentCount: 30 })
    expect(await project.states(id)).toEqual({ sent: 30 })
  })
})

describe('a schedule', () => {
  test('starts at its time by the clock of the database, once, with two workers', async () => {
    const project = await newProject()
    await project.subscribe('ada')
    const other = await startLocalNode({ DATABASE_URL: sterna.url, ROLE: 'worker' })
    const made = await Promise.all(times(10, () => project.create()))
    await Promise.all(made.map(({ id }) => project.act(id, 'send', { scheduledFor: '2040-01-01T00:00:00Z' })))
    await sql`update campaigns set scheduled_for = clock_timestamp() + interval '300 ms' where project_id = ${project.id}`.execute(
      sterna.db,
    )
    const ended = await Promise.all(made.map(({ id }) => project.reached(id, 'SENT')))
    for (const { scheduledFor, startedAt, sentCount } of ended) {
      expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(Date.parse(scheduledFor))
      expect(sentCount).toBe(1)
    }
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from campaign_audit where project_id = ${project.id} and action = 'started' group by campaign_id
    `.execute(sterna.db)
    expect(rows).toEqual(times(10, () => ({ count: 1 })))
    await other.stop()
  })

  test('without recipients ends as SENT with totals of 0', async () => {
    const project = await newProject()
    const { id } = await project.create()
    expect((await project.act(id, 'send', { delaySeconds: 1 })).status).toBe(400)
    expect((await project.act(id, 'send', { scheduledFor: '2040-01-01T00:00:00Z' })).body.status).toBe('SCHEDULED')
    await sql`update campaigns set scheduled_for = now() where project_id = ${project.id}`.execute(sterna.db)
    expect(await project.reached(id, 'SENT')).toMatchObject({ totalRecipients: 0, sentCount: 0 })
  })

  test('can be undone, replaced, and cancelled', async () => {
    const project = await newProject()
    await project.subscribe('ada')
    const { id } = await project.create()
    const delayed = (await project.act(id, 'send', { delaySeconds: 60 })).body
    expect([delayed.status, Date.parse(delayed.scheduledFor) > Date.now()]).toEqual(['SCHEDULED', true])
    expect((await project.put(id, { scheduledFor: null })).body.status).toBe('DRAFT')
    await project.act(id, 'send', { scheduledFor: '2040-01-01T00:00:00Z' })
    const again = await project.act(id, 'send', { scheduledFor: '2041-01-01T01:00:00+01:00' })
    expect(again.body).toMatchObject({ status: 'SCHEDULED', scheduledFor: '2041-01-01T00:00:00.000Z' })
    expect((await project.act(id, 'cancel')).body).toMatchObject({ status: 'CANCELLED', totalRecipients: 0 })
    expect(outcome(await project.act(id, 'send'))).toEqual([409, 'CONFLICT'])
  })
})

describe('counters', () => {
  test('count what becomes of the emails, live', async () => {
    const project = await newProject()
    await project.subscribe('ada', 'delivered', 'bounce', 'complaint', 'refuse')
    const { id } = await project.sent()
    await eventually(async () =>
      expect((await project.call('GET', `/campaigns/${id}/stats`)).body).toMatchObject({
        totalRecipients: 5,
        sentCount: 4,
        failedCount: 1,
        skippedCount: 0,
        deliveredCount: 2,
        bouncedCount: 2,
        complainedCount: 1,
        deliveryRate: 50,
        bounceRate: 40,
        deliveryReported: true,
      }),
    )
    const refused = (await project.call('GET', `/campaigns/${id}/recipients?outcome=failed`)).body
    expect(refused).toMatchObject({ total: 1, data: [{ status: 'BOUNCED', reason: 'bounced', sentAt: null }] })
    expect((await project.call('GET', `/projects/${project.id}/setup-state`)).status).toBe(401)
    const state = (await project.owner.call('GET', `/projects/${project.id}/setup-state`)).body
    expect(state.lastCampaignSentAt).toBe((await project.get(id)).sentAt)
  })

  test('are corrected by a recount before the campaign is SENT', async () => {
    const project = await newProject()
    await project.subscribe('ada', 'bob')
    const { id } = await project.sent()
    await sql`
      update campaigns set sent_count = 7, opened_count = 3, status = 'SENDING', settled_at = null where project_id = ${project.id}
    `.execute(sterna.db)
    expect(await project.reached(id, 'SENT')).toMatchObject({ totalRecipients: 2, sentCount: 2, openedCount: 0 })
  })

  test('a campaign that does not balance is not SENT', async () => {
    const project = await newProject()
    await project.subscribe('ada', 'bob')
    const { id } = await project.stuck()
    await sql`update campaigns set total_recipients = 3 where project_id = ${project.id}`.execute(sterna.db)
    await project.call('PUT', `/campaigns/${id}/rate`, { ratePerMinute: null })
    await eventually(async () => expect(await project.states(id)).toEqual({ sent: 2 }))
    await sql`update campaigns set recounted_at = now() - interval '1 hour' where project_id = ${project.id}`.execute(sterna.db)
    await eventually(async () => {
      const { rows } =
        await sql`select 1 from campaigns where project_id = ${project.id} and recounted_at > now() - interval '1 minute'`.execute(
          sterna.db,
        )
      expect(rows).toHaveLength(1)
    })
    expect((await project.get(id)).status).toBe('SENDING')
    await sql`update campaigns set total_recipients = 2 where project_id = ${project.id}`.execute(sterna.db)
    await project.reached(id, 'SENT')
  })
})
