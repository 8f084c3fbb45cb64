import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { campaignSums } from '../../src/campaigns/ledger/counters.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { tokensFor } from '../../src/delivery/message/links/tracking-token.ts'
import { removeOldEmails } from '../../src/email-retention.ts'
import { recordEvents } from '../../src/events/record.ts'
import { recountProject } from '../../src/ledger/checks.ts'
import { LEDGERS } from '../../src/ledgers.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { preferenceLinks } from '../../src/preferences/link.ts'
import { type Campaign, type CampaignProject, newCampaignProject } from '../campaigns/campaign-project.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()

/** Removes what is older than a month, as if it were three months later: everything. */
function removeOld({ monthsLater = 3 } = {}) {
  const now = new Date()
  now.setUTCDate(15)
  now.setUTCMonth(now.getUTCMonth() + monthsLater)
  return removeOldEmails(sterna.db, createLog('silent'), { months: 1, now })
}

describe('emails older than the retention', () => {
  let project: Awaited<ReturnType<typeof newSendingProject>>
  beforeAll(async () => {
    project = await newSendingProject(sterna)
  })

  const exists = async (id: string) => (await project.call('GET', `/emails/${id}`)).status === 200
  const countIn = async (table: string, column: string, id: string) =>
    (await many(sterna.db, sql`select 1 from ${sql.table(table)} where project_id = ${project.id} and ${sql.ref(column)} = ${id}`)).length

  test('are removed with their contents, attachments and messages; younger ones stay', async () => {
    const attachments = [{ filename: 'a.txt', content: 'aGVsbG8=', contentType: 'text/plain' }]
    const { id } = await project.sent({ to: 'ada@example.com', attachments })
    const { content } = await one(sterna.db, sql<{ content: string }>`select content_id as content from emails where id = ${id}`)
    await sql`insert into email_hits (project_id, email_id) values (${project.id}, ${id})`.execute(sterna.db)
    const rows = () =>
      Promise.all([
        countIn('emails', 'id', id),
        countIn('contents', 'id', content),
        countIn('attachments', 'content_id', content),
        countIn('email_hits', 'email_id', id),
        countIn('sandbox_messages', 'email_id', id),
      ])
    await removeOld({ monthsLater: 1 })
    await removeOldEmails(sterna.db, createLog('silent'), { months: 0, now: new Date('2100-01-01') })
    expect(await rows()).toEqual([1, 1, 1, 1, 1])
    await removeOld()
    expect([await rows(), await exists(id)]).toEqual([[0, 0, 0, 0, 0], false])
  })

  test('stay while they wait to be sent, are locked, or share their content with one that stays', async () => {
    const ids: string[] = (await project.send({ to: ['ada@example.com', 'bob@example.com', 'delay@example.com'] })).body.data.emails.map(
      ({ email }: { email: string }) => email,
    )
    const [sent, locked, deferred] = ids
    await expect.poll(async () => (await project.email(deferred!)).error).not.toBeNull()
    for (const id of [sent!, locked!]) await expect.poll(async () => (await project.email(id)).status).toBe('SENT')
    await transact(sterna.db, async (tx) => {
      await sql`select 1 from emails where id = ${locked} for update`.execute(tx)
      await removeOld()
    })
    expect(await Promise.all(ids.map(exists))).toEqual([false, true, true])
    const { contents } = await one(
      sterna.db,
      sql<{
        contents: number
      }>`select count(*)::int as contents from emails e join contents c on c.id = e.content_id where e.id = ${locked}`,
    )
    expect(contents).toBe(1)
    await removeOld()
    expect(await Promise.all([sent!, locked!, deferred!].map(exists))).toEqual([false, false, true])
  })

  test('still unsubscribe by their links, which redirect as before', async () => {
    const { id, contactId } = await project.sent({ to: 'bob@example.com' })
    await removeOld()
    const { unsubscribeUrl } = preferenceLinks(sterna.secrets, '', { projectId: project.id, contactId, emailId: id })
    expect((await sterna.call('POST', unsubscribeUrl)).status).toBe(200)
    expect((await project.call('GET', `/contacts/${contactId}`)).body.subscribed).toBe(false)
    await project.contacts.update(contactId, { subscribed: true })
    const tokens = tokensFor(sterna.secrets, { projectId: project.id, emailId: id })
    const clicked = await sterna.call('GET', `/t/c/${tokens.click(1, 'https://example.com/a')}`)
    expect([clicked.status, clicked.headers.location]).toEqual([302, 'https://example.com/a'])
    expect((await sterna.call('GET', `/t/o/${tokens.open()}`)).status).toBe(200)
  })
})

describe('the counters of a campaign', () => {
  let project: CampaignProject
  beforeAll(async () => {
    project = await newCampaignProject(sterna)
    await project.subscribe('ada', 'bob', 'refuse')
  })

  const read = async (id: string) => ({
    campaign: await project.get(id),
    stats: (await project.call('GET', `/campaigns/${id}/stats`)).body,
    links: (await project.call('GET', `/campaigns/${id}/links`)).body.data,
  })
  /** Without what changes by the closing itself. */
  const counters = ({ campaign: { countersClosedAt: _closed, updatedAt: _updated, ...campaign }, ...rest }: { campaign: Campaign }) => ({
    campaign,
    ...rest,
  })

  test('are closed before its emails go, and stay', async () => {
    const { id } = await project.sent({ body: '<a href="https://example.com/a">a</a>' })
    const [recipient] = (await project.call('GET', `/campaigns/${id}/recipients?outcome=sent`)).body.data
    await transact(sterna.db, async (tx) => {
      const click = { name: 'email.click', contactId: recipient.contactId, emailId: recipient.id }
      await recordEvents(tx, [{ ...click, projectId: project.id, data: { link: 'https://example.com/a', machine: false } }])
      await sql`update emails set clicked_at = now() where id = ${recipient.id}`.execute(tx)
      await sql`update campaigns set clicked_count = 1 where id = ${id}`.execute(tx)
    })
    // The sandbox reports the bounce a moment after the campaign is sent.
    await expect.poll(async () => (await read(id)).stats.bounceRate).toBe(33.3)
    const before = await read(id)
    expect([before.campaign.countersClosedAt, before.stats.bounceRate, before.links]).toEqual([
      null,
      33.3,
      [{ link: 'https://example.com/a', clicks: 1, people: 1 }],
    ])
    await sql`update campaigns set delivered_count = 9, sent_count = 0 where id = ${id}`.execute(sterna.db)
    expect(await campaignSums.repair(sterna.db, project.id)).toEqual({ campaigns: 1 })
    expect(await read(id)).toEqual(before)
    await removeOld()
    const after = await read(id)
    expect([await project.states(id), after.campaign.countersClosedAt]).toEqual([{}, expect.any(String)])
    expect(counters(after)).toEqual(counters(before))
    const figures = async () => (await project.call('GET', '/analytics/timeseries')).body
    const [counted, drift] = [await figures(), await recountProject(sterna.db, LEDGERS, project.id)]
    expect(Object.entries(drift).filter(([, rows]) => rows)).toEqual([])
    expect([counters(await read(id)), await figures()]).toEqual([counters(before), counted])
    expect((await project.call('GET', `/campaigns/${id}/recipients`)).body).toMatchObject({ data: [], total: 0 })
  })

  test('stay open while it is being sent, and no email of it goes', async () => {
    const { id, totalRecipients } = await project.stuck({ type: 'TRANSACTIONAL' })
    const before = await project.states(id)
    await removeOld()
    expect([await project.states(id), (await project.get(id)).countersClosedAt]).toEqual([before, null])
    await project.call('PUT', `/campaigns/${id}/rate`, { ratePerMinute: null })
    expect(await project.reached(id, 'SENT')).toMatchObject({ totalRecipients, sentCount: expect.any(Number) })
    await removeOld()
    expect(await project.states(id)).toEqual({})
  })

  test('that are closed do not allow a resend', async () => {
    const { id } = await project.sent({ type: 'TRANSACTIONAL' })
    await sql`update emails set error_code = 'transient', state = 'failed', bounced_at = null where campaign_id = ${id} and to_address like 'ada@%'`.execute(
      sterna.db,
    )
    await transact(sterna.db, async (tx) => {
      // One email stays: it could be resent.
      await sql`select 1 from emails where campaign_id = ${id} and to_address like 'ada@%' for update`.execute(tx)
      await removeOld()
    })
    expect(await project.states(id)).toEqual({ failed: 1 })
    expect(outcome(await project.act(id, 'resend'))).toEqual([409, 'CONFLICT'])
  })
})
