import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { enqueueEmails, insertContents } from '../../src/delivery/outbox/enqueue.ts'
import { newId } from '../../src/lib/id.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()

let project: Awaited<ReturnType<typeof newSendingProject>>
let other: typeof project
beforeAll(async () => {
  project = await newSendingProject(sterna)
  other = await newSendingProject(sterna)
  await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'ENABLED' } })
})

const LINK = 'https://shop.example/?a=1&b=2'
const hits = async () => (await sql`select 1 from email_hits where project_id = ${project.id}`.execute(sterna.db)).rows.length

async function preview(path: string) {
  const answer = await project.call('GET', path)
  expect(outcome(answer)).toEqual([200])
  return answer.body
}

async function messageOf(emailId: string) {
  const { data } = (await project.call('GET', '/sandbox/messages?limit=100')).body
  return data.find((each: { emailId: string }) => each.emailId === emailId).id as string
}

test('sandbox messages are found by a part of the recipient or the subject', async () => {
  const [first] = [await project.sent({ to: 'search.100%@example.com', subject: 'Alpha' }), await project.sent({ to: 'beta@example.com' })]
  const find = async (q: string) => {
    const { data, total } = await preview(`/sandbox/messages?q=${encodeURIComponent(q)}`)
    return [data.map(({ emailId }: { emailId: string }) => emailId), total]
  }
  expect(await find('ALPHA')).toEqual([[first.id], 1])
  expect(await find(' 100%@ ')).toEqual([[first.id], 1])
  expect(await find('_lpha')).toEqual([[], 0])
})

describe('the preview of an email', () => {
  test('is rendered from its content and the current data of the contact', async () => {
    const { id, contactId } = await project.sent({
      to: 'eve@example.com',
      subject: 'Hi {{ name }}',
      body: '<p>{{ name }}</p>',
      data: { name: 'Eve' },
    })
    await project.contacts.update(contactId, { data: { name: 'Eva' } })
    const shown = await preview(`/emails/${id}/preview`)
    expect([shown.subject, shown.html, shown.text]).toEqual(['Hi Eva', '<p>Eva</p>', 'Eva\n'])
  })

  test('says which values of the request are cleared', async () => {
    const body = '<p>{{ code }} {{ order.id }} {{ plan ?? "free" }} {{ email }}</p>'
    const data = { code: { value: '123456', persistent: false }, order: { value: { id: 7 }, persistent: false } }
    const { id } = await project.sent({ to: 'code@example.com', subject: '{{ code }}', body, data })
    const shown = await preview(`/emails/${id}/preview`)
    expect(shown).toMatchObject({
      subject: '▢',
      html: '<p>▢ ▢ free code@example.com</p>',
      requestDataCleared: true,
      clearedVariables: ['code', 'order.id'],
    })
  })

  test('has the values of the request while they are kept', async () => {
    const { id } = await project.sent({ to: 'refuse@example.com', body: '{{ code }}', data: { code: { value: 'abc', persistent: false } } })
    await sql`update emails set vars = '{"code":"abc"}' where id = ${id}`.execute(sterna.db)
    expect(await preview(`/emails/${id}/preview`)).toMatchObject({ html: 'abc', requestDataCleared: false, clearedVariables: [] })
  })

  test('is shown in a frame that has no pixel and counts nothing', async () => {
    const { id } = await project.sent({ to: 'look@example.com', body: `<a href="${LINK.replace('&', '&amp;')}">Shop</a>` })
    const { frameUrl } = await preview(`/emails/${id}/preview`)
    const frame = await sterna.call('GET', frameUrl)
    expect([frame.status, frame.body]).toEqual([200, `<a href="${LINK.replace('&', '&amp;')}">Shop</a>`])
    expect(frame.headers['content-security-policy']).toMatch(/^sandbox; default-src 'none';/)
  })

  test('has the headers that can be rebuilt, as they were sent', async () => {
    const template = await project.template({
      type: 'MARKETING',
      fromName: 'Shop',
      from: `news@${project.domain}`,
      replyTo: 'help@example.com',
    })
    const sent = { to: { name: 'Ann Ä', email: 'ann@example.com' }, template, subscribed: true, headers: { 'X-Order': '7' } }
    const { id, messageId } = await project.sent({ ...sent, subject: undefined, body: undefined, from: undefined })
    const { headers } = await preview(`/emails/${id}/preview`)
    expect(headers.map(({ name }: { name: string }) => name)).toEqual([
      ...['From', 'To', 'Reply-To', 'Subject', 'Date', 'Message-ID', 'X-Sterna-Id', 'X-Order'],
      ...['Precedence', 'X-Auto-Response-Suppress', 'List-Id', 'Auto-Submitted', 'List-Unsubscribe', 'List-Unsubscribe-Post'],
    ])
    const inMessage: object[] = (await preview(`/sandbox/messages/${await messageOf(id)}/preview`)).headers
    const shown = headers.filter(({ name }: { name: string }) => name !== 'From' && name !== 'To')
    expect(inMessage).toEqual(expect.arrayContaining(shown))
    expect(headers.slice(0, 2)).toEqual([
      { name: 'From', value: `Shop <news@${project.domain}>` },
      { name: 'To', value: 'Ann Ä <ann@example.com>' },
    ])
    expect(headers[5]).toEqual({ name: 'Message-ID', value: `<${messageId}>` })
  })

  test('of a deleted contact shows the address', async () => {
    const { id, contactId } = await project.sent({ to: 'gone@example.com', body: '{{ email }}' })
    await project.call('DELETE', `/contacts/${contactId}`)
    expect((await preview(`/emails/${id}/preview`)).html).toBe('gone@example.com')
  })

  test('of an email of another project is not found', async () => {
    const { id } = await other.sent()
    expect((await project.call('GET', `/emails/${id}/preview`)).status).toBe(404)
    expect((await project.call('GET', '/emails/x/preview')).status).toBe(404)
  })
})

describe('the preview of a sandbox message', () => {
  test('is the message itself, without its pixel and with the original links', async () => {
    const before = await hits()
    const { id } = await project.sent({
      to: 'box@example.com',
      subject: 'Größe',
      body: `<p>{{ code }} €</p><a href="${LINK.replace('&', '&amp;')}">Shop</a>`,
      data: { code: { value: '123456', persistent: false } },
      attachments: [{ filename: 'a.txt', content: Buffer.from('hello').toString('base64'), contentType: 'text/plain' }],
    })
    expect(await project.source(id)).toMatch(/\/t\/o\//)
    const message = await messageOf(id)
    const shown = await preview(`/sandbox/messages/${message}/preview`)
    expect(shown.html).toBe(`<p>123456 €</p><a href="${LINK.replace('&', '&amp;')}">Shop</a>`)
    expect(shown.text).toContain('123456 €')
    expect(shown.headers).toContainEqual({ name: 'Subject', value: 'Größe' })
    expect(shown.attachments).toEqual([{ filename: 'a.txt', contentType: 'text/plain', bytes: 5, inline: false }])
    const frame = await sterna.call('GET', shown.frameUrl)
    expect([frame.status, frame.body]).toEqual([200, shown.html])
    expect(await hits()).toBe(before)
  })

  test('of another project is not found', async () => {
    const { id } = await project.sent({ to: 'mine@example.com' })
    const message = await messageOf(id)
    expect((await other.call('GET', `/sandbox/messages/${message}/preview`)).status).toBe(404)
  })
})

describe('the Feedback-ID', () => {
  test('of a campaign email names campaign, project, type and installation; that of any other email is its own', async () => {
    const campaignId = newId()
    const headers = { 'Feedback-ID': 'a:b:c:custom' }
    const ids = { projectId: project.id, contentId: newId() }
    const campaignEmail = await transact(sterna.db, async (tx) => {
      const fromAddress = `hello@${project.domain}`
      const content = {
        type: 'MARKETING' as const,
        subject: 'News',
        body: '<p>News</p>',
        fromAddress,
        fromName: null,
        replyTo: null,
        headers,
      }
      await insertContents(tx, [{ ...content, projectId: project.id, id: ids.contentId, templateId: null }])
      const { id: contactId } = (await project.call('POST', '/contacts', { email: 'campaign@example.com', subscribed: true })).body
      const id = newId()
      const email = {
        ...ids,
        id,
        contactId,
        campaignId,
        toAddress: 'campaign@example.com',
        toName: null,
        vars: {},
        fromDomain: project.domain,
      }
      await enqueueEmails(tx, [{ ...email, sourceType: 'CAMPAIGN' }])
      return id
    })
    const source = await eventually(() => project.source(campaignEmail))
    expect(source.match(/^Feedback-ID: .*(\r\n .*)*/gim)!.map((line) => line.replace(/\r\n/g, ''))).toEqual([
      `Feedback-ID: ${campaignId}:${project.id}:marketing:mailexample`,
    ])
    expect(source.replace(/\r\n\s+/g, '')).toMatch(/^DKIM-Signature: .*:feedback-id:feedback-id;/)
    const { id } = await project.sent({ headers })
    expect(await project.source(id)).toContain('\r\nFeedback-ID: a:b:c:custom\r\n')
  })
})
