import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()
type Project = Awaited<ReturnType<typeof newSendingProject>>

let project: Project
beforeAll(async () => {
  project = await newSendingProject(sterna)
  await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'ENABLED' } })
})

const newTemplate = (more: object = {}) =>
  project.template({
    from: `hello@${project.domain}`,
    subject: 'Hi {{ name ?? "you" }}',
    body: '<a href="https://shop.example">{{ email }}</a>',
    ...more,
  })

const requestTest = (template: string, body: object, from: Project = project) => from.call('POST', `/templates/${template}/test`, body)

/** Sends a test and waits until the email has ended. */
async function tested(template: string, body: object) {
  const answer = await requestTest(template, body)
  expect(outcome(answer)).toEqual([200])
  return eventually(async () => {
    const email = await project.email(answer.body.emailId)
    expect(['PENDING', 'SENDING']).not.toContain(email.status)
    return { ...email, answer: answer.body }
  })
}

describe('a test email', () => {
  test('is sent to an address that is no contact, with a marked subject, untracked', async () => {
    const { id, answer, ...email } = await tested(await newTemplate(), { email: 'Tester@Example.com' })
    expect(answer).toEqual({ success: true, message: 'The test email to tester@example.com is queued.', emailId: id })
    expect(email).toMatchObject({ status: 'SENT', test: true, subject: '[TEST] Hi you', to: 'tester@example.com', contactId: null })
    const source = await project.source(id)
    expect([/^Subject: \[TEST\] Hi you\r$/m.test(source), source.includes('/t/c/'), source.includes('/t/o/')]).toEqual([true, false, false])
    expect(await project.contacts.find('tester@example.com')).toBeUndefined()
  })

  test('is rendered for the contact with its address, also an unsubscribed one', async () => {
    await project.contacts.create('ada@example.com', { subscribed: false, data: { name: 'Ada' } })
    const { id, status, subject } = await tested(await newTemplate({ type: 'MARKETING' }), { email: 'ada@example.com' })
    expect([status, subject]).toEqual(['SENT', '[TEST] Hi Ada'])
    expect(await project.source(id)).toMatch(/^List-Unsubscribe: /m)
    expect((await project.call('GET', `/emails/${id}/preview`)).body.subject).toBe('[TEST] Hi Ada')
  })

  test('has the data of a chosen contact, but not its address and links', async () => {
    const bob = await project.contacts.create('bob@example.com', { data: { name: 'Bob' } })
    const { id, subject } = await tested(await newTemplate(), { email: 'me@example.com', contactId: bob.id })
    expect([subject, (await project.source(id)).includes('bob@example.com')]).toEqual(['[TEST] Hi Bob', false])
  })

  test('to a suppressed address is not sent', async () => {
    await project.call('POST', '/suppressions', { domain: 'blocked.example' })
    const { answer, status, error, test: isTest } = await tested(await newTemplate(), { email: 'x@blocked.example' })
    expect(answer).toMatchObject({ success: false, message: 'Not sent: x@blocked.example is suppressed.' })
    expect([status, error, isTest]).toEqual(['SKIPPED', 'suppressed', true])
  })

  test('has no events and is in no counts, and its timeline says what happened', async () => {
    const fresh = await newSendingProject(sterna)
    const template = await fresh.template({ from: `hello@${fresh.domain}` })
    const ids: string[] = []
    for (const email of ['plain@example.com', 'delivered@example.com', 'bounce@example.com', 'refuse@example.com', 'complaint@example.com'])
      ids.push((await requestTest(template, { email }, fresh)).body.emailId)
    const ended = await eventually(async () => {
      const emails = await Promise.all(ids.map((id) => fresh.email(id)))
      expect(emails.map(({ status }) => status)).toEqual(['SENT', 'DELIVERED', 'BOUNCED', 'BOUNCED', 'COMPLAINED'])
      return emails
    })
    expect(ended[1].timeline.map(({ what }: { what: string }) => what)).toEqual(['queued', 'email.sent', 'email.delivery'])
    expect(await many(sterna.db, sql`select name from events where project_id = ${fresh.id}`)).toEqual([])
    expect((await fresh.call('GET', `/templates/${template}/usage`)).body.emailsSent).toBe(0)
    await eventually(async () => {
      const { data } = (await fresh.call('GET', '/suppressions')).body
      expect(data.map(({ address }: { address: string }) => address).sort()).toEqual([
        'bounce@example.com',
        'complaint@example.com',
        'refuse@example.com',
      ])
    })
  })

  test('cannot be resent', async () => {
    const { id } = await tested(await newTemplate({ body: '{% for i in (1..100000000) %}x{% endfor %}' }), { email: 'slow@example.com' })
    expect(outcome(await project.call('POST', `/emails/${id}/resend`))).toEqual([409, 'CONFLICT'])
  })
})

describe('a request for a test email', () => {
  test('of an unknown or foreign template is a 404', async () => {
    const other = await newSendingProject(sterna)
    const foreign = await other.template()
    for (const id of ['x', foreign]) expect((await requestTest(id, { email: 'a@example.com' })).status).toBe(404)
  })

  test('of a template without a from address is a 422, and one without a verified domain a 403', async () => {
    expect(outcome(await requestTest(await project.template(), { email: 'a@example.com' }))).toEqual([422, 'VALIDATION_ERROR'])
    const template = await newTemplate()
    await sql`update templates set from_address = 'a@elsewhere.example' where id = ${template}`.execute(sterna.db)
    expect(outcome(await requestTest(template, { email: 'a@example.com' }))).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
  })

  test('is refused after 60 within an hour', async () => {
    const busy = await newSendingProject(sterna)
    const template = await busy.template({ from: `hello@${busy.domain}` })
    const request = async () => (await requestTest(template, { email: 'a@example.com' }, busy)).status
    await sql`delete from attempts where scope = 'test-email'`.execute(sterna.db)
    const first = await request()
    await sql`update attempts set count = 59 where scope = 'test-email' and count = 1`.execute(sterna.db)
    expect([first, await request(), await request()]).toEqual([200, 200, 429])
  })
})
