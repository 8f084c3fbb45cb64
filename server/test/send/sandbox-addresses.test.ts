import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createSandboxTransport } from '../../src/delivery/transport/sandbox.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { ADA, TIME, useSending } from '../support/delivery/sending.ts'
import { eventually } from '../support/eventually.ts'

const { sterna, newProject, busy } = useSending()

describe('in the sandbox, an email to', () => {
  const keys = ['campaignId', 'emailId', 'from', 'messageId', 'sourceType', 'subject', 'templateId', 'workflowExecutionId']
  async function tell(to: string, status: string) {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: to, subscribed: true })
    const answer = await project.send({ to })
    const id = answer.body.data.emails[0].email as string
    const email = await eventually(async () => {
      const found = await project.email(id)
      expect(found.status).toBe(status)
      return found
    })
    const events = (await project.events()).reverse()
    for (const { name, data, emailId, contactId } of events.filter((each) => each.name.startsWith('email.'))) {
      expect([
        name,
        Object.keys(data)
          .filter((key) => keys.includes(key))
          .sort(),
      ]).toEqual([name, keys])
      expect([data.emailId, emailId, contactId, data.messageId, data.sourceType, data.templateId]).toEqual([
        id,
        id,
        email.contactId,
        email.messageId,
        'TRANSACTIONAL',
        null,
      ])
    }
    return { project, email, events, what: (email.timeline as { what: string }[]).map(({ what }) => what) }
  }

  test('any other address is sent', async () => {
    const { events, email, what } = await tell(ADA, 'SENT')
    expect(events.map(({ name }) => name)).toEqual(['email.sent'])
    expect(events[0]!.data.sentAt).toBe(email.sentAt)
    expect(what).toEqual(['queued', 'email.sent'])
  })

  test('any other address is also delivered, unless SANDBOX_DELIVERIES is off as in these tests', async () => {
    const { id: projectId } = await newProject()
    const message = Buffer.from('Subject: S\r\n\r\nB')
    const outgoing = { projectId, id: randomUUID(), from: 'a@example.com', recipient: ADA, subject: 'S', message }
    const reports = async (delivers: boolean) => {
      const outcome = await createSandboxTransport(sterna.db, { delivers }).send(outgoing, async () => () => true)
      return outcome.is === 'accepted' ? outcome.feedback : outcome
    }
    expect([await reports(true), await reports(false)]).toEqual([[{ is: 'delivery' }], undefined])
    expect([loadConfig({}).sandboxDelivers, loadConfig({ SANDBOX_DELIVERIES: 'false' }).sandboxDelivers]).toEqual([true, false])
  })

  test.each(['constructor', '__proto__'])('%s@ is sent like to any other address', async (local) => {
    const { events } = await tell(`${local}@example.com`, 'SENT')
    expect(events.map(({ name }) => name)).toEqual(['email.sent'])
  })

  test('delivered@ is delivered', async () => {
    const { project, events, email, what } = await tell('delivered+1@example.com', 'DELIVERED')
    expect(events.map(({ name }) => name)).toEqual(['email.sent', 'email.delivery'])
    expect(events[1]!.data.deliveredAt).toBe(email.deliveredAt)
    expect(what).toEqual(['queued', 'email.sent', 'email.delivery'])
    expect((await project.contact('delivered+1@example.com')).subscribed).toBe(true)
  })

  test('bounce@ bounces, and the address is suppressed', async () => {
    const { project, events, email } = await tell('bounce@example.com', 'BOUNCED')
    expect(events.map(({ name }) => name)).toEqual(['email.sent', 'email.bounce', 'contact.unsubscribed'])
    expect(events[1]!.data).toMatchObject({ bounceType: 'Permanent', reason: expect.stringContaining('550') })
    expect(events[2]!.data).toEqual({ reason: 'bounce' })
    expect(email.bouncedAt).toMatch(TIME)
    expect((await project.contact('bounce@example.com')).subscribed).toBe(false)
    expect(await project.consents()).toEqual([{ subscribed: false, source: 'bounce' }])
    const [again] = await project.ended(await project.send({ to: 'bounce@example.com' }))
    expect(again).toMatchObject({ status: 'SKIPPED', error: 'suppressed', attempts: 1 })
    expect((await project.call('GET', '/contacts?subscribed=true')).body.total).toBe(0)
  })

  test('complaint@ gets a complaint, and the address is suppressed', async () => {
    const { project, events } = await tell('complaint@example.com', 'COMPLAINED')
    expect(events.map(({ name }) => name)).toEqual(['email.sent', 'email.delivery', 'email.complaint', 'contact.unsubscribed'])
    expect(events[3]!.data).toEqual({ reason: 'complaint' })
    const [again] = await project.ended(await project.send({ to: 'complaint@example.com' }))
    expect(again).toMatchObject({ status: 'SKIPPED', error: 'suppressed' })
    // Suppressions of one project do not affect another.
    expect((await busy.ended(await busy.send({ to: 'bounce-no@example.com' })))[0]!.status).toBe('SENT')
  })

  test('delay@ is retried later', async () => {
    const project = await newProject()
    const id = (await project.send({ to: 'delay@example.com' })).body.data.emails[0].email
    const email = await eventually(async () => {
      const found = await project.email(id)
      expect(found.error).toContain('451')
      return found
    })
    expect(email).toMatchObject({ status: 'PENDING', attempts: 1, sentAt: null })
    expect((email.timeline as { what: string }[]).map(({ what }) => what)).toEqual(['queued', 'deferred'])
    expect(await project.names()).toEqual([])
    expect((await project.call('GET', '/sandbox/messages')).body.total).toBe(0)
  })

  test('refuse@ bounces at once with the reason, and the address is suppressed', async () => {
    const { project, email } = await tell('refuse@example.com', 'BOUNCED')
    const events = await eventually(async () => {
      const told = (await project.events()).reverse()
      expect(told.map(({ name }) => name)).toEqual(['email.bounce', 'contact.unsubscribed'])
      return told
    })
    expect(events[0]).toMatchObject({ emailId: email.id, data: { bounceType: 'Permanent', reason: expect.stringContaining('550') } })
    expect(events[1]!.data).toEqual({ reason: 'bounce' })
    expect(await project.email(email.id)).toMatchObject({
      status: 'BOUNCED',
      errorCode: 'bounced',
      error: events[0]!.data.reason,
      bouncedAt: expect.stringMatching(TIME),
    })
    expect(await project.consents()).toEqual([{ subscribed: false, source: 'bounce' }])
    expect((await project.ended(await project.send({ to: 'refuse@example.com' })))[0]).toMatchObject({
      status: 'SKIPPED',
      error: 'suppressed',
    })
  })
})
