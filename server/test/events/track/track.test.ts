import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { issues, outcome } from '../../support/answers.ts'
import { useSharedApp } from '../../support/app.ts'
import { TRACK_ROUTES } from './track-routes.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

const ADA = 'ada@example.com'
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe.each(TRACK_ROUTES)('%s', (_, track) => {
  /** One project for all refused requests: none of them may leave anything behind. */
  let quiet: Project
  beforeAll(async () => {
    quiet = await newProject()
  })
  const expectQuiet = async () => {
    expect((await quiet.contacts.list()).total).toBe(0)
    expect(await quiet.events.list()).toEqual([])
  }

  test('creates a subscribed contact for an unknown address and answers the ids of contact and event', async () => {
    const project = await newProject()
    const before = Date.now()
    const answer = await track(project, { email: ' Ada@Example.com', event: 'signed up', data: { plan: 'pro', seats: 3 } })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      success: true,
      data: { contact: expect.stringMatching(UUID7), event: expect.stringMatching(UUID7), timestamp: expect.stringMatching(TIME) },
    })
    expect(Math.abs(Date.parse(answer.body.data.timestamp) - before)).toBeLessThan(5_000)
    expect(await project.contacts.find(ADA)).toMatchObject({
      id: answer.body.data.contact,
      email: ADA,
      subscribed: true,
      data: { plan: 'pro', seats: 3 },
    })
    expect(await project.events.list()).toEqual([
      {
        id: answer.body.data.event,
        name: 'signed up',
        data: { plan: 'pro', seats: 3 },
        contactId: answer.body.data.contact,
        emailId: null,
        projectId: project.id,
        createdAt: answer.body.data.timestamp,
        contact: { id: answer.body.data.contact, email: ADA },
      },
    ])
    expect(await project.contacts.consents()).toEqual([])
    expect((await project.contacts.list()).total).toBe(1)
  })

  test('records another event of the same contact', async () => {
    const project = await newProject()
    const answers = [
      await track(project, { email: ADA, event: 'opened' }),
      await track(project, { email: 'ADA@example.com', event: 'opened' }),
      await track(project, { email: ADA, event: 'opened' }),
    ]
    expect(new Set(answers.map(({ body }) => body.data.contact)).size).toBe(1)
    const ids = answers.map(({ body }) => body.data.event)
    expect((await project.events.list()).map(({ id }) => id)).toEqual([...ids].reverse())
    expect(new Set(ids).size).toBe(3)
    expect(ids).toEqual([...ids].sort())
    expect((await project.contacts.list()).total).toBe(1)
  })

  test.each<[string, boolean | undefined, boolean | undefined, boolean, string[]]>([
    ['subscribes a new contact by default', undefined, undefined, true, []],
    ['subscribes a new contact if asked to, without an event', undefined, true, true, []],
    ['creates an unsubscribed contact if asked to, without an event', undefined, false, false, []],
    ['keeps a subscribed contact subscribed by default', true, undefined, true, []],
    ['keeps an opted-out contact unsubscribed by default', false, undefined, false, []],
    ['records no change for a subscribed contact that asks to be subscribed', true, true, true, []],
    ['records no change for an opted-out contact that asks to be unsubscribed', false, false, false, []],
    ['unsubscribes a subscribed contact if asked to', true, false, false, ['contact.unsubscribed']],
    ['subscribes an opted-out contact if asked to', false, true, true, ['contact.subscribed']],
  ])('%s', async (__, before, subscribed, after, events) => {
    const project = await newProject()
    if (before !== undefined) await project.call('POST', '/contacts', { email: ADA, subscribed: before })
    const { status } = await track(project, { email: ADA, event: 'e', subscribed })
    expect(status).toBe(200)
    expect((await project.contacts.find(ADA)).subscribed).toBe(after)
    expect((await project.events.names()).filter((name) => name !== 'e')).toEqual(events)
    expect((await project.contacts.consents()).map(({ subscribed: to }) => to)).toEqual(events.map(() => after))
    expect((await project.events.names()).filter((name) => name === 'e')).toHaveLength(1)
  })

  test('records each change of a subscription once', async () => {
    const project = await newProject()
    for (const subscribed of [undefined, false, false, undefined, true, true, false])
      await track(project, { email: ADA, event: 'e', subscribed })
    expect((await project.events.names()).filter((name) => name !== 'e').reverse()).toEqual([
      'contact.unsubscribed',
      'contact.subscribed',
      'contact.unsubscribed',
    ])
    expect((await project.contacts.consents()).map(({ subscribed }) => subscribed)).toEqual([false, true, false])
    expect(await project.contacts.counts()).toEqual({ total: 1, subscribed: 0 })
  })

  test('does not write a contact whose data is unchanged, and replaces a nested object', async () => {
    const project = await newProject()
    await project.track({ email: ADA, event: 'a', data: { plan: 'pro', address: { city: 'London', zip: 'W1' } } })
    const before = await project.contacts.find(ADA)
    await project.track({ email: ADA, event: 'b', data: { plan: 'pro' } })
    await project.track({ email: ADA, event: 'c' })
    expect(await project.contacts.find(ADA)).toEqual(before)
    // A subset of the stored object: objects are replaced, not merged.
    await project.track({ email: ADA, event: 'd', data: { address: { city: 'London' } } })
    const after = await project.contacts.find(ADA)
    expect(after.data).toEqual({ plan: 'pro', address: { city: 'London' } })
    expect(after.updatedAt > before.updatedAt).toBe(true)
    expect(await project.events.names()).toEqual(['d', 'c', 'b', 'a'])
  })

  test('ignores fields that only the server sets', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const mine = {
      id: randomUUID(),
      projectId: other.id,
      project_id: other.id,
      createdAt: '2001-01-01T00:00:00Z',
      key: 'k',
      eventId: randomUUID(),
    }
    const { body } = await track(project, { email: ADA, event: 'e', ...mine })
    expect([mine.id, mine.eventId]).not.toContain(body.data.event)
    expect((await other.contacts.list()).total).toBe(0)
    expect(await project.events.list()).toMatchObject([{ projectId: project.id }])
    expect(await project.idempotencyKeys()).toEqual([])
  })

  test.each<[string, unknown, string]>([
    ['no email', undefined, 'required'],
    ['a number', 1, 'invalid_type'],
    ['no address', 'ada', 'invalid_string'],
    ['a header', `${ADA}\r\nBcc: x@y.zz`, 'invalid_string'],
  ])('refuses %s as address', async (__, email, code) => {
    const answer = await track(quiet, { email, event: 'e' })
    expect([...outcome(answer), ...issues(answer)]).toEqual([422, 'VALIDATION_ERROR', ['email', code]])
    await expectQuiet()
  })

  test.each([null, 'true', 1, []])('refuses %j as subscribed', async (subscribed) => {
    const answer = await track(quiet, { email: ADA, event: 'e', subscribed })
    expect([...outcome(answer), ...issues(answer)]).toEqual([422, 'VALIDATION_ERROR', ['subscribed', 'invalid_type']])
    await expectQuiet()
  })
})
