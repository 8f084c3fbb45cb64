import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { type CampaignProject, newCampaignProject } from './campaign-project.ts'

const sterna = useSharedApp()
let project: CampaignProject
beforeAll(async () => {
  project = await newCampaignProject(sterna)
})

const isPro = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] }
const newSegment = async (more: object = { type: 'STATIC' }) =>
  (await project.call('POST', '/segments', { name: 'List', ...more })).body.id as string

describe('POST /campaigns', () => {
  test('creates a draft, wrapped in success and data', async () => {
    const answer = await project.call(
      'POST',
      '/campaigns',
      project.body({ description: 'D', previewText: 'P', fromName: 'N', replyTo: 'r@example.com' }),
    )
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        success: true,
        data: expect.objectContaining({
          name: 'News',
          description: 'D',
          previewText: 'P',
          fromName: 'N',
          replyTo: 'r@example.com',
          type: 'MARKETING',
          status: 'DRAFT',
          audienceType: 'ALL',
          segmentId: null,
          segment: null,
          audienceCondition: null,
          scheduledFor: null,
          startedAt: null,
          startedBy: null,
          sentAt: null,
          pausedReason: null,
          totalRecipients: 0,
          excludedCounts: { unsubscribed: 0, suppressed: 0, invalid: 0 },
          projectId: project.id,
        }),
      },
    ])
  })

  test('ignores the keys of another audience', async () => {
    const campaign = await project.create({ segmentId: randomUUID(), audienceCondition: isPro })
    expect([campaign.segmentId, campaign.audienceCondition]).toEqual([null, null])
  })

  test('shows the segment of the audience', async () => {
    const segmentId = await newSegment()
    const campaign = await project.create({ audienceType: 'SEGMENT', segmentId })
    expect([campaign.segmentId, campaign.segment]).toEqual([segmentId, { id: segmentId, name: 'List' }])
  })

  test.each<[string, object, [number, string?], [string, string][] | undefined]>([
    ['no segment for a segment', { audienceType: 'SEGMENT' }, [422, 'VALIDATION_ERROR'], [['segmentId', 'required']]],
    ['no condition for a filter', { audienceType: 'FILTERED' }, [422, 'VALIDATION_ERROR'], [['audienceCondition', 'required']]],
    ['an unknown segment', { audienceType: 'SEGMENT', segmentId: randomUUID() }, [404, 'RESOURCE_NOT_FOUND'], undefined],
    [
      'a condition on an unknown segment',
      {
        audienceType: 'FILTERED',
        audienceCondition: { logic: 'AND', groups: [{ filters: [{ field: `segment.${randomUUID()}`, operator: 'memberOfSegment' }] }] },
      },
      [422, 'VALIDATION_ERROR'],
      [['audienceCondition.groups.0.filters.0.field', 'custom']],
    ],
    [
      'a condition without groups',
      { audienceType: 'FILTERED', audienceCondition: { logic: 'AND', groups: [] } },
      [422, 'VALIDATION_ERROR'],
      [['audienceCondition.groups', 'too_small']],
    ],
    ['bad syntax', { body: '{{ x' }, [422, 'VALIDATION_ERROR'], [['body', 'custom']]],
    ['another address as the name', { fromName: 'bank@example.org' }, [422, 'VALIDATION_ERROR'], [['fromName', 'custom']]],
    ['an unknown template', { templateId: randomUUID() }, [404, 'TEMPLATE_NOT_FOUND'], undefined],
    ['a rate of 0', { ratePerMinute: 0 }, [422, 'VALIDATION_ERROR'], [['ratePerMinute', 'too_small']]],
    ['no name', { name: '' }, [422, 'VALIDATION_ERROR'], [['name', 'too_small']]],
  ])('refuses %s', async (_, more, expected, found) => {
    const answer = await project.call('POST', '/campaigns', project.body(more))
    expect([outcome(answer), issues(answer)]).toEqual([expected, found])
  })

  test('refuses an unverified sender with 403, under the code of the specification', async () => {
    const answer = await project.call('POST', '/campaigns', project.body({ from: 'a@unverified.example' }))
    expect(outcome(answer)).toEqual([403, 'INTERNAL_SERVER_ERROR'])
    expect(answer.body.error.details).toEqual({ domain: 'unverified.example' })
  })

  test('does not take the status, the counters or the project of the body', async () => {
    const campaign = await project.create({ status: 'SENT', sentCount: 5, projectId: randomUUID(), id: randomUUID() })
    expect([campaign.status, campaign.sentCount, campaign.projectId]).toEqual(['DRAFT', 0, project.id])
    const replaced = (await project.put(campaign.id, { status: 'SENT', sentCount: 5 })).body
    expect([replaced.id, replaced.status, replaced.sentCount]).toEqual([campaign.id, 'DRAFT', 0])
  })
})

describe('GET /campaigns', () => {
  test('filters by status, searches, sorts and pages', async () => {
    const own = await newCampaignProject(sterna)
    const made = [await own.create({ name: 'b', subject: 'First' }), await own.create({ name: 'A' }), await own.create({ name: 'c' })]
    const list = async (query: string) => (await own.call('GET', `/campaigns?${query}`)).body
    const names = async (query: string) => (await list(query)).data.map(({ name }: { name: string }) => name)
    expect(await names('')).toEqual(['c', 'A', 'b'])
    expect(await names('sort=name&dir=asc')).toEqual(['A', 'b', 'c'])
    expect(await names('sort=unknown&dir=unknown')).toEqual(['c', 'A', 'b'])
    expect(await names('search=FIRST')).toEqual(['b'])
    expect(await names(`search=NEWS@${own.domain}`)).toEqual(['c', 'A', 'b'])
    expect(await names('search=%25')).toEqual([])
    expect(await names('status=SENT')).toEqual([])
    expect(await list('status=DRAFT&page=2&pageSize=2')).toMatchObject({
      data: [{ id: made[0]!.id }],
      page: 2,
      pageSize: 2,
      total: 3,
      totalPages: 2,
    })
    expect(outcome(await own.call('GET', '/campaigns?status=foo'))).toEqual([400, 'BAD_REQUEST'])
  })

  test('filters and sorts by the date that matters', async () => {
    const own = await newCampaignProject(sterna)
    const put = async (name: string, columns: ReturnType<typeof sql>) => {
      const { id } = await own.create({ name })
      await sql`update campaigns set updated_at = '2026-01-01T00:00:00Z', ${columns} where id = ${id}`.execute(sterna.db)
    }
    await put('draft', sql`scheduled_for = null`)
    await put('sent', sql`status = 'SENT', started_at = '2026-03-01T00:00:00Z', sent_at = '2026-03-02T23:59:59.999Z', settled_at = now()`)
    await put('cancelled', sql`status = 'CANCELLED', started_at = '2026-06-01T00:00:00Z', settled_at = now()`)
    await put('scheduled', sql`status = 'SCHEDULED', scheduled_for = '2040-01-01T00:00:00Z'`)
    const names = async (query: string) =>
      (await own.call('GET', `/campaigns?sort=date&dir=asc&${query}`)).body.data.map(({ name }: { name: string }) => name)
    expect(await names('')).toEqual(['draft', 'cancelled', 'sent', 'scheduled'])
    expect(await names('dateFrom=2026-03-02&dateTo=2026-03-02')).toEqual(['sent'])
    expect(await names('dateFrom=2026-03-03')).toEqual(['scheduled'])
    expect(await names('dateTo=2026-01-01')).toEqual(['draft', 'cancelled'])
    expect((await own.call('GET', '/campaigns?dateFrom=soon')).status).toBe(422)
  })
})

describe('PUT /campaigns/:id', () => {
  test('replaces everything that is not given', async () => {
    const { id } = await project.create({
      description: 'D',
      fromName: 'N',
      ratePerMinute: 5,
      audienceType: 'FILTERED',
      audienceCondition: isPro,
    })
    const answer = await project.put(id, { name: 'Other', type: 'HEADLESS' })
    expect(answer.body).toMatchObject({
      name: 'Other',
      type: 'HEADLESS',
      description: null,
      fromName: null,
      ratePerMinute: null,
      audienceType: 'ALL',
      audienceCondition: null,
    })
  })

  test('refuses a stale revision', async () => {
    const first = await project.create()
    const second = (await project.put(first.id, { name: '2' }, { 'if-match': `"${first.updatedAt}"` })).body
    const stale = await project.put(first.id, { name: '3' }, { 'if-match': `"${first.updatedAt}"` })
    expect([outcome(stale), stale.body.error.details]).toEqual([[409, 'CONFLICT'], { updatedAt: second.updatedAt }])
    expect((await project.get(first.id)).name).toBe('2')
  })

  test('keeps, changes or removes the schedule', async () => {
    const { id } = await project.create()
    const [at, later] = ['2040-01-01T10:00:00.000Z', '2041-01-01T10:00:00.000Z']
    await project.act(id, 'send', { scheduledFor: at })
    expect((await project.put(id)).body).toMatchObject({ status: 'SCHEDULED', scheduledFor: at })
    expect((await project.put(id, { scheduledFor: later })).body).toMatchObject({ status: 'SCHEDULED', scheduledFor: later })
    expect(issues(await project.put(id, { scheduledFor: '2020-01-01T00:00:00Z' }))).toEqual([['scheduledFor', 'custom']])
    expect((await project.put(id, { scheduledFor: null })).body).toMatchObject({ status: 'DRAFT', scheduledFor: null })
    expect(await project.audit(id)).toEqual([
      ['scheduled', 'key'],
      ['scheduled', 'key'],
      ['unscheduled', 'key'],
    ])
  })

  test('refuses an unverified sender of a scheduled campaign', async () => {
    const { id } = await project.create()
    await project.act(id, 'send', { scheduledFor: '2040-01-01T10:00:00.000Z' })
    expect(outcome(await project.put(id, { from: 'a@unverified.example' }))).toEqual([403, 'INTERNAL_SERVER_ERROR'])
    await project.put(id, { scheduledFor: null })
  })
})

describe('a duplicate', () => {
  test('is a draft with the same content and audience', async () => {
    const original = await project.create({ audienceType: 'FILTERED', audienceCondition: isPro, ratePerMinute: 7, previewText: 'P' })
    await project.act(original.id, 'send', { scheduledFor: '2040-01-01T10:00:00.000Z' })
    const answer = await project.act(original.id, 'duplicate')
    expect([answer.status, answer.body]).toEqual([
      201,
      expect.objectContaining({
        name: 'News (Copy)',
        status: 'DRAFT',
        scheduledFor: null,
        startedBy: null,
        audienceCondition: isPro,
        ratePerMinute: 7,
        previewText: 'P',
      }),
    ])
    await project.act(original.id, 'cancel')
  })
})

describe('DELETE /campaigns/:id', () => {
  test('removes a draft and its rows', async () => {
    const { id } = await project.create()
    await project.act(id, 'send', { scheduledFor: '2040-01-01T10:00:00.000Z' })
    expect(outcome(await project.call('DELETE', `/campaigns/${id}`))).toEqual([409, 'CONFLICT'])
    await project.act(id, 'cancel')
    expect((await project.call('DELETE', `/campaigns/${id}`)).status).toBe(204)
    expect(outcome(await project.call('GET', `/campaigns/${id}`))).toEqual([404, 'CAMPAIGN_NOT_FOUND'])
    expect(outcome(await project.call('DELETE', `/campaigns/${id}`))).toEqual([404, 'CAMPAIGN_NOT_FOUND'])
    await expect.poll(async () => (await sql`select 1 from campaigns where id = ${id}`.execute(sterna.db)).rows).toEqual([])
    expect((await sql`select 1 from campaign_audit where campaign_id = ${id}`.execute(sterna.db)).rows).toEqual([])
  })
})

describe('the wrong state', () => {
  test.each(['cancel', 'pause', 'resume', 'resend'])('a draft cannot be: %s', async (action) => {
    const { id } = await project.create()
    expect(outcome(await project.act(id, action))).toEqual([409, 'CONFLICT'])
    expect((await project.get(id)).status).toBe('DRAFT')
  })
})

describe('a time to send', () => {
  test.each([
    ['in the past', '2020-01-01T00:00:00Z'],
    ['of a day that does not exist', '2040-02-30T00:00:00Z'],
    ['without a zone', '2040-01-01T00:00:00'],
    ['beyond all calendars', '+275760-09-13T00:00:00Z'],
    ['as a number', 4_102_444_800_000],
    ['as no time', 'tomorrow'],
  ])('%s is refused', async (_, scheduledFor) => {
    const { id } = await project.create()
    const answer = await project.act(id, 'send', { scheduledFor })
    expect([answer.status, issues(answer).map(([field]) => field)]).toEqual([422, ['scheduledFor']])
    expect((await project.get(id)).status).toBe('DRAFT')
  })
})
