import { beforeAll, describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { ADA, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject } = useSending()
let project: Awaited<ReturnType<typeof newProject>>
const keys: Record<string, string> = {}
/** For one email: not stored in the contact. */
const ONCE = (value: unknown) => ({ value, persistent: false })
const SECRET = /OTP-4711|SIGN-IN-TOKEN/

beforeAll(async () => {
  project = await newProject()
  for (const scope of ['read', 'events', 'send'])
    keys[scope] = (
      await project.owner.call('POST', `/projects/${project.id}/keys`, { body: { name: scope, kind: 'secret', scopes: [scope] } })
    ).body.key
})
const get = async (scope: string, url: string) => {
  const { status, body } = await sterna.call('GET', url, { key: keys[scope]! })
  expect([url, status]).toEqual([url, 200])
  return body
}
const asMember = async (url: string) => (await project.owner.call('GET', url, { headers: { 'x-project-id': project.id } })).body

const message = {
  subject: 'Your code {{otp}}',
  body: '<p>{{otp}} {{plan}} {{order.total}} {{links[0]}}</p>',
  data: { otp: ONCE('OTP-4711'), plan: 'pro', order: ONCE({ total: 42 }), links: ONCE(['https://example.com/SIGN-IN-TOKEN']) },
}

describe('values for one email', () => {
  test('are masked in previews for a key that does not send; what the contact has is shown', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const answer = await project.send({ ...message, to: 'waiting@example.com', sendAt })
    const path = `/emails/${answer.body.data.emails[0].email}`
    const masked = await get('read', `${path}/preview`)
    expect(masked.subject).toBe('Your code •••')
    expect(masked.html).toContain('••• pro ••• •••')
    const frame = await sterna.call('GET', masked.frameUrl)
    expect([frame.status, frame.body.includes('••• pro')]).toEqual([200, true])
    for (const shown of [masked, frame.body, await get('read', path), await get('read', '/emails')])
      expect(JSON.stringify(shown)).not.toMatch(SECRET)

    for (const shown of [await get('send', `${path}/preview`), await asMember(`${path}/preview`)]) {
      expect(shown.subject).toBe('Your code OTP-4711')
      expect((await sterna.call('GET', shown.frameUrl)).body).toContain('OTP-4711 pro 42 https://example.com/SIGN-IN-TOKEN')
      // The token of one page is not one of the other.
      expect((await sterna.call('GET', shown.frameUrl.replace('/email/', '/masked-email/'))).status).toBe(404)
    }
    expect((await sterna.call('GET', masked.frameUrl.replace('/masked-email/', '/email/'))).status).toBe(404)
  })

  test('are masked in what was rendered: subjects of emails, timelines, events and the sandbox', async () => {
    const sent = await project.sent({ ...message, to: ADA })
    expect(sent.subject).toBe('Your code OTP-4711')
    const read = await get('read', `/emails/${sent.id}`)
    expect(read.subject).toBe('Your code {{otp}}')
    expect(read.timeline.find(({ what }: { what: string }) => what === 'email.sent').details.subject).toBe('•••')
    const { data } = await get('read', '/emails?limit=5')
    expect(data.find(({ id }: { id: string }) => id === sent.id).subject).toBe('Your code {{otp}}')

    for (const [scope, path] of [
      ['read', '/emails'],
      ['read', '/events?eventName=email.sent'],
      ['events', `/events/contact/${sent.contactId}`],
      ['read', '/activity'],
      ['read', '/activity/upcoming'],
      ['read', '/sandbox/messages'],
    ] as const)
      expect(JSON.stringify(await get(scope, path)), path).not.toMatch(SECRET)
    const [event] = (await get('events', '/events?eventName=email.sent')).data
    expect(event.data).toMatchObject({ subject: '•••', emailId: sent.id })
    const [message_] = (await get('read', '/sandbox/messages')).data
    expect(message_.subject).toBe('•••')
    const preview = await sterna.call('GET', `/sandbox/messages/${message_.id}/preview`, { key: keys.read! })
    expect(outcome(preview)).toEqual([403, 'INSUFFICIENT_SCOPE'])

    for (const shown of [await get('send', `/emails/${sent.id}`), await asMember(`/emails/${sent.id}`), await asMember('/events')])
      expect(JSON.stringify(shown)).toContain('Your code OTP-4711')
  })

  test('are not found by a search of a key that does not send', async () => {
    const sent = await project.sent({ ...message, to: 'searched@example.com' })
    const found = async (scope: string, path: string) => (await get(scope, path)).data.map(({ id }: { id: string }) => id).includes(sent.id)
    expect(await found('send', '/emails?search=OTP-47')).toBe(true)
    expect(await found('read', '/emails?search=OTP-47')).toBe(false)
    expect(await found('read', '/emails?search=Your+code')).toBe(true)
    expect((await get('read', '/sandbox/messages?q=OTP-47')).total).toBe(0)
    expect((await get('read', '/sandbox/messages?q=searched@')).total).toBe(1)
  })
})
