import { type RawBuilder, sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { selectEmailIds, selectEmails } from '../../src/delivery/emails/email-ids.ts'
import type { EmailFilter } from '../../src/delivery/emails/filter.ts'
import { countWithin, searchWithin } from '../../src/http/limits/bounded-read.ts'
import { idTime } from '../../src/lib/id.ts'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()

type Email = { id: string; to: string; subject: string; messageId: string; requestId: string; templateId: string | null; contactId: string }

let project: Awaited<ReturnType<typeof newSendingProject>>
let other: typeof project
let [welcome, receipt, bounced, refused]: Email[] = []
let template: string
beforeAll(async () => {
  project = await newSendingProject(sterna)
  other = await newSendingProject(sterna)
  template = await project.template({ subject: 'Receipt 100% _paid_', from: `hello@${project.domain}` })
  const use = { template, from: undefined, subject: undefined, body: undefined }
  welcome = await project.sent({ to: 'ada@example.com', subject: 'Welcome {{ name ?? "ADA" }}' })
  receipt = await project.sent({ to: 'bob@shop.example', ...use })
  bounced = await project.sent({ to: 'bounce@example.com', subject: 'Bounces' })
  refused = await project.sent({ to: 'refuse@sub.shop.example', subject: 'Refused' })
  await other.sent({ to: 'ada@example.com', subject: 'Welcome' })
  // The sandbox reports the bounce a moment after the email is sent.
  await eventually(async () => expect((await project.email(bounced!.id)).status).toBe('BOUNCED'))
})

/** Subjects of the emails that match, newest first. */
async function find(query: Record<string, string | string[]>): Promise<string[]> {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, each])),
  )
  const answer = await project.call('GET', `/emails?${search}`)
  expect(outcome(answer)).toEqual([200])
  expect(answer.body.total).toBe(answer.body.data.length)
  return answer.body.data.map(({ subject }: Email) => subject.split(' ')[0])
}

describe('emails are found by', () => {
  test('several statuses', async () => {
    expect(await find({ status: ['BOUNCED', 'SENT'] })).toEqual(['Refused', 'Bounces', 'Receipt', 'Welcome'])
    expect(await find({ status: 'BOUNCED,FAILED' })).toEqual(['Refused', 'Bounces'])
    expect(await find({ status: 'SENT' })).toEqual(['Receipt', 'Welcome'])
  })

  test('template, source and recipient domain', async () => {
    expect(await find({ templateId: template })).toEqual(['Receipt'])
    expect(await find({ templateId: 'x' })).toEqual([])
    expect(await find({ sourceType: 'TRANSACTIONAL' })).toHaveLength(4)
    expect(await find({ sourceType: 'INBOUND' })).toEqual([])
    expect(await find({ domain: 'SHOP.example' })).toEqual(['Receipt'])
    expect(await find({ domain: '@sub.shop.example' })).toEqual(['Refused'])
    expect(await find({ domain: 'no domain' })).toEqual([])
  })

  test('time', async () => {
    const now = Date.now()
    expect(await find({ createdFrom: new Date(now - 3_600_000).toISOString() })).toHaveLength(4)
    expect(await find({ createdFrom: new Date(now + 3_600_000).toISOString() })).toEqual([])
    expect(await find({ createdTo: new Date(now - 3_600_000).toISOString() })).toEqual([])
    expect(await find({ createdTo: '2099-01-01', status: 'BOUNCED' })).toHaveLength(2)
  })

  test.each<[string, () => string, string[]]>([
    ['the address of a contact', () => 'Ada@Example.com', ['Welcome']],
    ['part of an address', () => 'SHOP.ex', ['Refused', 'Receipt']],
    ['part of the rendered subject', () => 'me ada', ['Welcome']],
    ['text with wildcards, literally', () => '100% _', ['Receipt']],
    ['a wildcard alone, literally', () => '_', ['Receipt']],
    ['the id', () => welcome!.id.toUpperCase(), ['Welcome']],
    ['the Message-ID', () => receipt!.messageId, ['Receipt']],
    ['the Message-ID in brackets', () => `<${receipt!.messageId}>`, ['Receipt']],
    ['the request id', () => bounced!.requestId, ['Bounces']],
    ['an unknown id', () => '0199a000-0000-7000-8000-000000000000', []],
    ['an unknown id of another version', () => '0199a000-0000-4000-8000-000000000000', []],
    ['an unknown address', () => 'nobody@example.com', []],
    ['spaces, which match everything', () => '  ', ['Refused', 'Bounces', 'Receipt', 'Welcome']],
  ])('%s', async (_, search, found) => {
    expect(await find({ search: search() })).toEqual(found)
  })

  test('the older name of the search, which counts less', async () => {
    expect([await find({ q: 'me ada' }), await find({ q: 'me ada', search: 'refuse' })]).toEqual([['Welcome'], ['Refused']])
  })

  test('the request id that a caller gave', async () => {
    const headers = { 'x-request-id': 'order:4711' }
    await project.call('POST', '/v1/send', project.sendBody({ to: ['one@example.com', 'two@example.com'], subject: 'Order' }), headers)
    expect(await find({ q: 'order:4711' })).toEqual(['Order', 'Order'])
  })

  test('the address they were sent to, after the contact has another one', async () => {
    const { contactId } = await project.sent({ to: 'old@example.com', subject: 'Moved' })
    await project.contacts.update(contactId, { email: 'new@example.com' })
    expect([await find({ q: 'old@example.com' }), await find({ q: 'new@example.com' })]).toEqual([['Moved'], ['Moved']])
  })

  test('what happened to them, and when', async () => {
    const ids = [welcome!.id, receipt!.id]
    await sql`update emails set opened_at = '2031-05-04T10:00:00Z' where id = any(${ids}::uuid[])`.execute(sterna.db)
    await sql`update emails set unsubscribed_at = '2031-05-05T23:59:59.999Z', test = true where id = ${receipt!.id}`.execute(sterna.db)
    // A test email is in no figure.
    expect(await find({ fact: 'opened' })).toEqual(['Welcome'])
    expect(await find({ fact: 'unsubscribed' })).toEqual([])
    await sql`update emails set test = false where id = ${receipt!.id}`.execute(sterna.db)
    expect(await find({ fact: 'opened', factFrom: '2031-05-04', factTo: '2031-05-04' })).toEqual(['Receipt', 'Welcome'])
    expect(await find({ fact: 'opened', factFrom: '2031-05-04T10:00:00.001Z' })).toEqual([])
    expect(await find({ fact: 'opened', factTo: '2031-05-04T09:59:59.999Z' })).toEqual([])
    expect(await find({ fact: 'unsubscribed', factTo: '2031-05-05', templateId: template })).toEqual(['Receipt'])
    expect(await find({ fact: 'sent', domain: 'shop.example' })).toEqual(['Receipt'])
    expect(await find({ factFrom: '2099-01-01', status: 'FAILED,BOUNCED' })).toHaveLength(2)
    await sql`update emails set opened_at = null, unsubscribed_at = null where id = any(${ids}::uuid[])`.execute(sterna.db)
  })

  test('a Message-ID that is not of ours', async () => {
    await sql`update emails set message_id = 'abc@old.example' where id = ${refused!.id}`.execute(sterna.db)
    expect(await find({ q: 'abc@old.example' })).toEqual(['Refused'])
  })
})

test.each([
  ['status=GONE', 'status.0'],
  ['status=SENT,', 'status.1'],
  ['sourceType=MAIL', 'sourceType'],
  ['createdFrom=yesterday', 'createdFrom'],
  ['fact=read', 'fact'],
  ['fact=sent&factTo=2026-02-30', 'factTo'],
  [`q=${'x'.repeat(256)}`, 'q'],
  [`search=${'x'.repeat(256)}`, 'search'],
])('the filter %s is a 422', async (query, field) => {
  const answer = await project.call('GET', `/emails?${query}`)
  expect([answer.status, issues(answer).map(([name]) => name)]).toEqual([422, [field]])
})

describe('a project with many emails', () => {
  /** Three emails in each state among thousands that are sent, of which every tenth is a campaign's. No worker claims an email that crashed so often. */
  let many: typeof project
  const campaignId = '0199a000-0000-7000-8000-00000000c000'
  const STATES = ['queued', 'deferred', 'sending', 'unknown', 'failed', 'skipped', 'cancelled']
  const TIMES = ['bounced_at', 'complained_at', 'clicked_at', 'opened_at']
  beforeAll(async () => {
    many = await newSendingProject(sterna)
    const insert = (rows: RawBuilder<unknown>) =>
      sql`
        insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, lane, stream_id, state, worker, due_at,
          unknown_since, crashes, campaign_id, test, request_id, ${sql.join(TIMES.map((time) => sql.ref(time)))})
        select ${many.id}, ('0199a000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, ${many.id}, contact_id, address, 'TRANSACTIONAL', number || 'm',
          0, ${many.id}, state, -1, 'infinity', case when state = 'unknown' then 'infinity'::timestamptz end, 30, campaign_id, test, request_id,
          ${sql.join(TIMES.map((time) => sql`case when time = ${time} then now() end`))}
        from (${rows}) as rows (number, contact_id, address, state, campaign_id, test, request_id, time)
      `.execute(sterna.db)
    await sql`
      insert into contents (project_id, id, type, subject, body, from_address)
      values (${many.id}, ${many.id}, 'TRANSACTIONAL', 'Many', 'x', 'a@example.com')
    `.execute(sterna.db)
    await sql`
      insert into campaigns (project_id, id, name, subject, body, from_address, type, audience_type, status, started_at, frozen_at, settled_at)
      values (${many.id}, ${campaignId}, 'C', 'S', 'B', 'a@example.com', 'MARKETING', 'ALL', 'SENT', ${idTime(campaignId)}, ${idTime(campaignId)}, now())
    `.execute(sterna.db)
    await insert(sql`
      select n, gen_random_uuid(), n || '@common.example', 'sent', case when n % 10 = 0 then ${campaignId}::uuid end, false, null, ''
      from generate_series(1, 4000) as n`)
    await insert(sql`
      select 5000 + row_number() over (), gen_random_uuid(), 'x@rare.example', state, null::uuid, false, 'given-' || state, ''
      from unnest(${STATES}::text[]) as state, generate_series(1, 3)`)
    await insert(sql`
      select 6000 + row_number() over (), null::uuid, 'x@rare.example', 'sent', ${campaignId}::uuid, true, null, time
      from unnest(${TIMES}::text[]) as time, generate_series(1, 3)`)
    await sql`analyze emails`.execute(sterna.db)
  })

  test.each<[EmailFilter, string[], number]>([
    [{ status: ['PENDING'] }, ['emails_queue', 'emails_waiting'], 6],
    [{ status: ['SENDING'] }, ['emails_held', 'emails_waiting'], 6],
    [{ status: ['FAILED'] }, ['emails_failed'], 3],
    [{ status: ['SKIPPED'] }, ['emails_skipped'], 6],
    [{ status: ['BOUNCED', 'FAILED'] }, ['emails_bounced', 'emails_failed'], 6],
    [{ status: ['COMPLAINED'] }, ['emails_complained'], 3],
    [{ status: ['CLICKED', 'OPENED'] }, ['emails_clicked', 'emails_opened'], 6],
    // Test emails have no facts that count.
    [{ fact: 'opened', factFrom: '2026-01-01' }, ['emails_opened'], 0],
    [{ fact: 'bounced' }, ['emails_bounced'], 0],
    [{ fact: 'unsubscribed' }, ['emails_unsubscribed'], 0],
    [{ domain: 'rare.example' }, ['emails_by_domain'], 20],
    [{ search: 'given-failed' }, ['emails_by_given_request'], 3],
    [{}, ['emails_pkey'], 20],
    [{ campaignId, status: ['OPENED'] }, ['emails_of_campaign'], 3],
  ])('finds those of %j by indexes', async (filter, indexes, count) => {
    const ids = selectEmailIds(await selectEmails(sterna.db, many.id, filter), { limit: 20 })
    const plan = JSON.stringify((await sql`explain (format json) ${ids}`.execute(sterna.db)).rows)
    expect([
      plan.match(/"Node Type":"Seq Scan","[^}]*?"Relation Name":"emails"/),
      indexes.filter((index) => !plan.includes(`"${index}"`)),
    ]).toEqual([null, []])
    const { rows } = await ids.execute(sterna.db)
    expect([rows.length, rows.map(({ id }) => id)]).toEqual([
      count,
      rows
        .map(({ id }) => id)
        .sort()
        .reverse(),
    ])
  })

  test('has the emails of a campaign and its tests on pages of one list', async () => {
    const listed: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await many.call(
        'GET',
        `/emails?campaignId=${campaignId}&status=OPENED,SENT&limit=100${cursor && `&cursor=${cursor}`}`,
      )
      expect(body.error).toBeUndefined()
      listed.push(...body.data.map(({ id }: Email) => id))
      if (!body.hasMore) break
      cursor = body.cursor
    }
    expect([listed.length, new Set(listed).size, listed]).toEqual([403, 403, listed.toSorted().reverse()])
  })
})

test('a cursor is that of its filter', async () => {
  const { cursor } = (await project.call('GET', '/emails?limit=1&status=BOUNCED,SENT')).body
  const next = await project.call('GET', `/emails?limit=1&status=BOUNCED,SENT&cursor=${cursor}`)
  expect([next.status, next.body.data.length]).toEqual([200, 1])
  expect((await project.call('GET', `/emails?limit=1&status=SENT&cursor=${cursor}`)).status).toBe(400)
})

test('a search that takes too long is a 503, and a count an estimate', async () => {
  const slow = searchWithin(sterna.db, { ms: 50, advice: 'Narrow it.' }, (tx) => sql`select pg_sleep(10)`.execute(tx))
  await expect(slow).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: 'The search took longer than 0.05 s. Narrow it.' })
  const count = await countWithin(sterna.db, sql`select 1 from generate_series(1, 3), pg_sleep(10)`, { upTo: 100, ms: 50 })
  expect(count).toBeGreaterThan(0)
  expect(await countWithin(sterna.db, sql`select 1 from generate_series(1, 3)`, { upTo: 100, ms: 5_000 })).toBe(3)
})
