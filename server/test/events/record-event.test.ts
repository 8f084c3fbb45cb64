import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

const ADA = 'ada@example.com'
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('POST /events/track without an address', () => {
  test('records the event, answers 201 and changes no contact', async () => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: ADA, data: { a: 1 } })
    const before = await project.contacts.find(ADA)
    const data = { a: 2, b: null, c: '', d: { value: 1, persistent: false }, id: 'x' }
    const answer = await project.call('POST', '/events/track', { name: 'call', contactId: before.id, data, subscribed: false })
    expect(answer).toMatchObject({
      status: 201,
      body: {
        id: expect.stringMatching(UUID7),
        name: 'call',
        contactId: before.id,
        emailId: null,
        projectId: project.id,
        data: { a: 2, d: 1 },
      },
    })
    expect(Object.keys(answer.body).sort()).toEqual(['contactId', 'createdAt', 'data', 'emailId', 'id', 'name', 'projectId'])
    expect(Object.keys(answer.body.data).sort()).toEqual(['a', 'd'])
    expect(await project.contacts.find(ADA)).toEqual(before)
    const alone = await project.call('POST', '/events/track', { name: 'alone' })
    expect(alone).toMatchObject({ status: 201, body: { contactId: null, data: {} } })
    expect((await project.events.list()).map(({ id }) => id)).toEqual([alone.body.id, answer.body.id])
    expect((await project.contacts.list()).total).toBe(1)
  })

  test('is a 404 for a contact or email that the project does not have', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const { id: theirs } = (await other.call('POST', '/contacts', { email: ADA })).body
    for (const contactId of [theirs, randomUUID()]) {
      const answer = await project.call('POST', '/events/track', { name: 'e', contactId })
      expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'CONTACT_NOT_FOUND', { resource: 'contact', id: contactId }])
    }
    const emailId = randomUUID()
    const answer = await project.call('POST', '/events/track', { name: 'e', emailId })
    expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'RESOURCE_NOT_FOUND', { resource: 'email', id: emailId }])
    expect(await project.events.list()).toEqual([])
    expect(await other.events.list()).toEqual([])
  })

  test.each<[string, object, string[][]]>([
    [
      'nothing',
      {},
      [
        ['email', 'required'],
        ['event', 'required'],
      ],
    ],
    ['an address only', { email: ADA }, [['event', 'required']]],
    ['an event only', { event: 'e' }, [['email', 'required']]],
    ['an event and a name, but no address', { event: 'e', name: 'n' }, [['email', 'required']]],
    ['a reserved name', { name: 'email.sent' }, [['name', 'reserved_event']]],
    ['a reserved name in disguise', { name: 'Ｃontact.unsub\u200bscribed' }, [['name', 'reserved_event']]],
    ['a name of 256', { name: 'x'.repeat(256) }, [['name', 'too_big']]],
    ['a bad id', { name: 'e', contactId: 'x' }, [['contactId', 'invalid_string']]],
    ['another bad id', { name: 'e', emailId: 7 }, [['emailId', 'invalid_type']]],
    ['a list as data', { name: 'e', data: [] }, [['data', 'invalid_type']]],
  ])('is a 422 with %s', async (_, body, expected) => {
    const project = await newProject()
    const answer = await project.call('POST', '/events/track', body)
    expect([...outcome(answer), issues(answer)]).toEqual([422, 'VALIDATION_ERROR', expected])
    expect(await project.events.list()).toEqual([])
  })

  test('is not what a body with an address and a name means: it tracks the event', async () => {
    const project = await newProject()
    const { status, body } = await project.call('POST', '/events/track', { email: ADA, event: 'e', name: 'n' })
    expect([status, body.success]).toEqual([200, true])
    expect(await project.events.names()).toEqual(['e'])
  })
})
