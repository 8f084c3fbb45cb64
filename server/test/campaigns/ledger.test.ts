import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { type Campaign, type CampaignProject, newCampaignProject } from './campaign-project.ts'

const sterna = useSharedApp()

let project: CampaignProject
let campaign: Campaign
/** Three are sent, one is refused by its receiver; two contacts are excluded. */
beforeAll(async () => {
  project = await newCampaignProject(sterna)
  await project.subscribe('ada', 'bob', 'eve', 'refuse', 'sue')
  await project.contacts.create('dan@example.com', { subscribed: false })
  await project.call('POST', '/suppressions', { address: 'sue@example.com' })
  campaign = await project.sent()
  // The sandbox reports the bounce a moment after the campaign is sent.
  await eventually(async () => expect(await project.recipients(campaign.id, '&status=BOUNCED')).toEqual(['refuse']))
})

const list = async (query: string) => (await project.call('GET', `/campaigns/${campaign.id}/${query}`)).body

describe('the recipients', () => {
  test('add up to the counters', async () => {
    const totals = await Promise.all(
      ['sent', 'failed', 'skipped', 'open'].map(async (each) => (await list(`recipients?outcome=${each}`)).total),
    )
    expect([totals, campaign.totalRecipients]).toEqual([[3, 1, 0, 0], 4])
  })

  test('are listed in pages', async () => {
    const first = await list('recipients?limit=3')
    const rest = await list(`recipients?limit=3&cursor=${first.cursor}`)
    expect([first.data.length, first.hasMore, first.total, rest.data.length, rest.hasMore, rest.total]).toEqual([3, true, 4, 1, false, 0])
    const emails = [...first.data, ...rest.data].map(({ email }) => email).sort()
    expect(emails).toEqual(['ada@example.com', 'bob@example.com', 'eve@example.com', 'refuse@example.com'])
    expect([...first.data, ...rest.data].find(({ email }) => email === 'ada@example.com')).toEqual({
      id: expect.any(String),
      contactId: expect.any(String),
      email: expect.any(String),
      name: null,
      status: 'SENT',
      outcome: 'sent',
      reason: null,
      attempts: 1,
      queuedAt: expect.any(String),
      sentAt: expect.any(String),
      deliveredAt: null,
    })
  })

  test('have the names that their contacts have now', async () => {
    await project.call('POST', '/contacts', { email: 'ada@example.com', data: { firstName: ' Ada ', lastName: 'Lovelace', name: 7 } })
    await project.call('POST', '/contacts', { email: 'bob@example.com', data: { name: 'Bob', lastName: 'Unused' } })
    const { data } = await list('recipients?limit=10')
    const names = Object.fromEntries(data.map(({ email, name }: { email: string; name: string | null }) => [email.split('@')[0], name]))
    expect(names).toEqual({ ada: 'Ada Lovelace', bob: 'Bob', eve: null, refuse: null })
  })

  test.each([
    ['status=SENT', ['ada', 'bob', 'eve']],
    ['status=BOUNCED', ['refuse']],
    ['reason=bounced', ['refuse']],
    ['reason=unsubscribed', []],
    ['search=ada@example.com', ['ada']],
    ['search=B@EXAMPLE', ['bob']],
    ['search=%25', []],
    ['outcome=sent&search=refuse', []],
  ])('are filtered by %s', async (query, expected) => {
    expect(await project.recipients(campaign.id, `&${query}`)).toEqual(expected)
  })

  test('refuse an unknown filter value and the cursor of another list', async () => {
    expect(outcome(await project.call('GET', `/campaigns/${campaign.id}/recipients?outcome=lost`))).toEqual([422, 'VALIDATION_ERROR'])
    const { cursor } = await list('recipients?limit=1')
    expect(outcome(await project.call('GET', `/campaigns/${campaign.id}/recipients?outcome=sent&cursor=${cursor}`))).toEqual([
      400,
      'BAD_REQUEST',
    ])
  })
})

test('excluded contacts have a reason', async () => {
  const all = await list('excluded')
  expect([all.total, all.data.map(({ email, reason }: Record<string, string>) => [email, reason]).sort()]).toEqual([
    2,
    [
      ['dan@example.com', 'unsubscribed'],
      ['sue@example.com', 'suppressed'],
    ],
  ])
  expect(await list('excluded?reason=suppressed')).toMatchObject({ total: 1, data: [{ email: 'sue@example.com' }] })
})

describe('what recipients did', () => {
  /** Facts of one email, and of nobody else. */
  const mark = (name: string, column: string) =>
    sql`
      update emails set ${sql.ref(column)} = now() where project_id = ${project.id} and campaign_id = ${campaign.id}
        and to_address = ${`${name}@example.com`}
    `.execute(sterna.db)

  beforeAll(async () => {
    await mark('ada', 'opened_at')
    await mark('ada', 'clicked_at')
    await mark('bob', 'opened_at')
    await mark('eve', 'unsubscribed_at')
  })

  test.each([
    ['opened', ['ada', 'bob']],
    ['clicked', ['ada']],
    ['notOpened', ['eve']],
    ['notClicked', ['bob', 'eve']],
    ['unsubscribed', ['eve']],
    ['bounced', ['refuse']],
    ['delivered', []],
    ['machineOpened', []],
  ])('filters the recipients: %s', async (activity, expected) => {
    expect(await project.recipients(campaign.id, `&activity=${activity}`)).toEqual(expected)
    expect((await list(`recipients?activity=${activity}`)).total).toBe(expected.length)
  })

  test('is counted by hour, for the first 48 hours', async () => {
    const { data } = await list('hours')
    expect([data.length, data[0], data[47]]).toEqual([
      48,
      { from: campaign.startedAt, sent: 3, opened: 2, clicked: 1 },
      { from: new Date(Date.parse(campaign.startedAt) + 47 * 3_600_000).toISOString(), sent: 0, opened: 0, clicked: 0 },
    ])
    const draft = await project.create()
    expect((await project.call('GET', `/campaigns/${draft.id}/hours`)).body).toEqual({ data: [] })
  })

  test('becomes a static segment of those that did it', async () => {
    const answer = await project.act(campaign.id, 'copy-to-segment', { name: 'Readers', filter: { activity: 'opened' } })
    expect(answer.status).toBe(202)
    const { jobId, segmentId } = answer.body
    await eventually(async () =>
      expect((await project.call('GET', `/jobs/${jobId}`)).body).toMatchObject({ state: 'completed', result: { addedCount: 2 } }),
    )
    const { contacts, total } = (await project.call('GET', `/segments/${segmentId}/contacts`)).body
    expect([contacts.map(({ email }: { email: string }) => email).sort(), total]).toEqual([['ada@example.com', 'bob@example.com'], 2])
    expect((await project.call('GET', `/segments/${segmentId}`)).body).toMatchObject({ name: 'Readers', type: 'STATIC', memberCount: 2 })
    expect(outcome(await project.act(campaign.id, 'copy-to-segment', { name: 'X', filter: { activities: 'opened' } }))).toEqual([
      422,
      'VALIDATION_ERROR',
    ])
  })
})

test('the reasons add up to the failed and the skipped', async () => {
  expect(await list('reasons')).toEqual({ data: [{ outcome: 'failed', reason: 'bounced', recipients: 1 }] })
})

describe('an export', () => {
  async function exported(body: object): Promise<string[]> {
    const { jobId } = (await project.call('POST', `/campaigns/${campaign.id}/export`, body)).body
    await eventually(async () => expect((await project.call('GET', `/campaigns/export/${jobId}`)).body.state).toBe('completed'))
    const file = (await project.call('GET', `/campaigns/export/${jobId}/file`)).body as string
    return file.replace('\ufeff', '').replaceAll('"', '').trim().split('\r\n')
  }

  test('has the recipients with their outcomes', async () => {
    const [header, ...rows] = await exported({ list: 'recipients', filter: { outcome: 'failed' } })
    expect(header).toBe('email,contactId,status,outcome,reason,attempts,queuedAt,sentAt,deliveredAt')
    expect(rows.map((row) => row.split(',').toSpliced(1, 1).slice(0, 5))).toEqual([
      ['refuse@example.com', 'BOUNCED', 'failed', 'bounced', '1'],
    ])
  })

  test('has the excluded contacts', async () => {
    const [header, ...rows] = await exported({ list: 'excluded' })
    expect([header, rows.length]).toEqual(['email,contactId,reason', 2])
  })

  test('refuses a misspelt filter', async () => {
    const answer = await project.call('POST', `/campaigns/${campaign.id}/export`, { list: 'recipients', filter: { outcomes: 'failed' } })
    expect(outcome(answer)).toEqual([422, 'VALIDATION_ERROR'])
  })
})

describe('a resend', () => {
  /** Changes the outcome of an email as if sending it had failed. */
  const failed = (name: string, code: string) =>
    sql`
      update emails set state = 'failed', error = ${code}, error_code = ${code}, sent_at = null
      where project_id = ${project.id} and campaign_id = ${campaign.id} and to_address = ${`${name}@example.com`}
    `.execute(sterna.db)

  test('is refused when nothing can be resent', async () => {
    expect(outcome(await project.act(campaign.id, 'resend'))).toEqual([400, 'BAD_REQUEST'])
    expect((await project.get(campaign.id)).status).toBe('SENT')
  })

  test('reaches exactly those for whom it may help', async () => {
    await failed('ada', 'transient')
    await failed('bob', 'outcome_unknown')
    const [before] = (await list('recipients?search=ada@example.com')).data
    const answer = await project.act(campaign.id, 'resend')
    expect([answer.status, answer.body.status]).toEqual([200, 'SENDING'])
    const sent = await project.reached(campaign.id, 'SENT')
    expect(sent).toMatchObject({ totalRecipients: 4, sentCount: 2, failedCount: 2 })
    const [after] = (await list('recipients?search=ada@example.com')).data
    expect([after.id, after.outcome]).toEqual([before.id, 'sent'])
    expect(await project.recipients(campaign.id, '&outcome=failed')).toEqual(['bob', 'refuse'])
  })

  test('takes unknown outcomes only on request', async () => {
    expect(outcome(await project.act(campaign.id, 'resend', {}))).toEqual([400, 'BAD_REQUEST'])
    expect((await project.act(campaign.id, 'resend', { includeUnknown: true })).status).toBe(200)
    expect(await project.reached(campaign.id, 'SENT')).toMatchObject({ sentCount: 3, failedCount: 1 })
    expect((await project.audit(campaign.id)).filter(([action]) => action === 'resent')).toHaveLength(2)
  })
})
