import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { listenTo, reactToContacts, reactToProject, type Topic } from '../../src/events/listen.ts'
import { recordEvents } from '../../src/events/record.ts'
import { newId } from '../../src/lib/id.ts'
import { times } from '../support/times.ts'
import { ADA, type Project, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents()

/** No version of Sterna has a handler for this kind, so the rows stay. */
const LISTENER = 'test:1'
const ALL: Topic[] = [
  'contact',
  'contact:created',
  'contact:deleted',
  'contact:email',
  'contact:subscribed',
  'contact:data.plan',
  'contact:data.visits',
  'contact:data.old',
  'event:*',
  'event:bought',
  'event:contact.unsubscribed',
  'field:plan',
  'events-deleted:bought',
]

const listen = (project: Project, topics: Topic[], listener = LISTENER) =>
  transact(sterna.db, (tx) => listenTo(tx, { projectId: project.id, listener }, topics))

type Row = { contactId: string | null; eventName: string | null; topics: string[] }

/** Rows in a stable order, with sorted topics. */
async function reactionsOf(project: Project): Promise<Row[]> {
  const rows = await many(
    sterna.db,
    sql<Row>`
      select contact_id as "contactId", event_name as "eventName", array(select unnest(topics) order by 1) as topics
      from reactions where project_id = ${project.id}
    `,
  )
  return rows.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}
const orderOf = ({ contactId, topics }: Row) => JSON.stringify([topics, contactId])
const topicsOf = async (project: Project) => (await reactionsOf(project)).map(({ topics }) => topics)

const UNSUBSCRIBED = ['event:*', 'event:contact.unsubscribed']
const CREATED = ['contact', 'contact:created', 'contact:email', 'contact:subscribed']

/** Each starts with a project that has Ada, with data, and one event of hers. */
type Cause = (project: Project, contactId: string) => Promise<unknown>
const CAUSES: Record<string, [Cause, string[][]]> = {
  'a new contact': [
    (project) => project.contacts.create('bob@example.com', { data: { plan: 'a', other: 1 } }),
    [['contact', 'contact:created', 'contact:data.plan', 'contact:email', 'contact:subscribed']],
  ],
  'new data of a known address': [
    (project) => project.contacts.create(ADA, { data: { visits: 2, other: 1, old: null } }),
    [['contact', 'contact:data.old', 'contact:data.visits']],
  ],
  'the same data of a known address': [(project) => project.contacts.create(ADA, { data: { plan: 'pro' } }), []],
  'an unsubscription of a known address': [
    (project) => project.contacts.create(ADA, { subscribed: false }),
    [['contact', 'contact:subscribed'], UNSUBSCRIBED],
  ],
  'an event of a new contact': [
    (project) => project.trackEvent('bought', { email: 'bob@example.com', data: { visits: 1 } }),
    [
      ['contact', 'contact:created', 'contact:data.visits', 'contact:email', 'contact:subscribed'],
      ['event:*', 'event:bought'],
    ],
  ],
  'an event of a known contact without new data': [(project) => project.trackEvent('bought'), [['event:*', 'event:bought']]],
  'an event of another name with new data': [
    (project) => project.trackEvent('viewed', { data: { plan: 'free' } }),
    [['contact', 'contact:data.plan'], ['event:*']],
  ],
  'an event that unsubscribes': [
    (project) => project.trackEvent('viewed', { subscribed: false }),
    [['contact', 'contact:subscribed'], UNSUBSCRIBED, ['event:*']],
  ],
  'an event without a contact': [(project) => project.call('POST', '/events/track', { name: 'bought' }), [['event:*', 'event:bought']]],
  'a new address of a contact': [
    (project, id) => project.contacts.update(id, { email: 'ada2@example.com' }),
    [['contact', 'contact:email']],
  ],
  'an update with the same address': [(project, id) => project.contacts.update(id, { email: ADA, subscribed: true }), [['contact']]],
  'an update that unsubscribes': [
    (project, id) => project.contacts.update(id, { subscribed: false }),
    [['contact', 'contact:subscribed'], UNSUBSCRIBED],
  ],
  'an update that sets and deletes data': [
    (project, id) => project.contacts.update(id, { data: { visits: 3, old: null, other: 1 } }),
    [['contact', 'contact:data.old', 'contact:data.visits']],
  ],
  'an update that clears all data': [
    (project, id) => project.contacts.update(id, { data: null }),
    [['contact', 'contact:data.old', 'contact:data.plan']],
  ],
  'a deleted contact': [(project, id) => project.call('DELETE', `/contacts/${id}`), [['contact:deleted']]],
  'a bulk unsubscription': [
    (project, id) => project.call('POST', '/contacts/bulk-unsubscribe', { contactIds: [id] }).then(() => project.jobsDone()),
    [['contact', 'contact:subscribed'], UNSUBSCRIBED],
  ],
  'a bulk subscription of a subscribed contact': [
    (project, id) => project.call('POST', '/contacts/bulk-subscribe', { contactIds: [id] }).then(() => project.jobsDone()),
    [],
  ],
  'a bulk deletion': [
    (project, id) => project.call('POST', '/contacts/bulk-delete', { contactIds: [id] }).then(() => project.jobsDone()),
    [['contact:deleted']],
  ],
  'an import': [
    (project) => project.contacts.import(`email,visits\n${ADA},1\nbob@example.com,2\n`),
    [
      ['contact', 'contact:created', 'contact:data.visits', 'contact:email', 'contact:subscribed'],
      ['contact', 'contact:data.visits'],
    ],
  ],
  'a deleted field': [
    (project) => project.call('DELETE', '/contacts/fields/plan').then(() => project.jobsDone()),
    [['contact', 'field:plan'], ['field:plan']],
  ],
  'the deletion of a field that no contact ever had': [
    (project) => project.call('DELETE', '/contacts/fields/visits').then(() => project.jobsDone()),
    [],
  ],
  'deleted events': [(project) => project.events.delete('bought').then(() => project.jobsDone()), [['events-deleted:bought']]],
  'the deletion of events that do not exist': [(project) => project.events.delete('viewed').then(() => project.jobsDone()), []],
}

async function newFilledProject() {
  const project = await newProject()
  const { contact } = await project.trackEvent('bought', { data: { plan: 'pro', old: 1 } })
  return { project, contact }
}

describe('a reaction', () => {
  test.each(Object.entries(CAUSES))('to %s names what changed', async (_, [cause, expected]) => {
    const { project, contact } = await newFilledProject()
    await listen(project, ALL)
    await cause(project, contact)
    expect(await topicsOf(project)).toEqual(expected)
  })

  test('to none of these is written without listeners', async () => {
    const written = await Promise.all(
      Object.values(CAUSES).map(async ([cause]) => {
        const { project, contact } = await newFilledProject()
        await listen(project, ALL)
        await listen(project, [])
        await cause(project, contact)
        return topicsOf(project)
      }),
    )
    expect(written.flat()).toEqual([])
  })

  test('has only the topics that something listens to', async () => {
    const { project, contact } = await newFilledProject()
    await listen(project, ['contact:data.plan', 'contact:email'])
    await project.contacts.update(contact, { data: { visits: 1 } })
    expect(await topicsOf(project)).toEqual([])
    await project.contacts.update(contact, { data: { visits: 1, plan: 'b' }, subscribed: false })
    await project.contacts.create(ADA, { data: { visits: 2, plan: 'c' } })
    expect(await reactionsOf(project)).toEqual(times(2, () => ({ contactId: contact, eventName: null, topics: ['contact:data.plan'] })))
  })

  test('names the contact, and the event if it is one', async () => {
    const { project, contact } = await newFilledProject()
    await listen(project, ['contact', 'event:bought'])
    await project.trackEvent('bought', { data: { visits: 1 } })
    expect(await reactionsOf(project)).toEqual([
      { contactId: contact, eventName: null, topics: ['contact'] },
      { contactId: contact, eventName: 'bought', topics: ['event:bought'] },
    ])
  })

  test('to several requests of one batch names what each contact got', async () => {
    const project = await newProject()
    await listen(project, ALL)
    await Promise.all([
      project.track({ email: 'a@example.com', event: 'viewed', data: { plan: 'x' } }),
      project.track({ email: 'b@example.com', event: 'viewed', data: { visits: 1 } }),
      project.track({ email: 'c@example.com', event: 'viewed' }),
    ])
    const contacts = new Map((await project.contacts.rows()).map(({ id, email }) => [id, email]))
    const seen = (await reactionsOf(project)).filter(({ eventName }) => !eventName)
    expect(Object.fromEntries(seen.map(({ contactId, topics }) => [contacts.get(contactId!), topics]))).toEqual({
      'a@example.com': [...CREATED, 'contact:data.plan'].sort(),
      'b@example.com': [...CREATED, 'contact:data.visits'].sort(),
      'c@example.com': CREATED,
    })
  })

  test('to a key with any characters names it as it is', async () => {
    const key = `it's "a": {key}, \\ 100 % 🐦`
    const { project, contact } = await newFilledProject()
    await listen(project, [`contact:data.${key}`, `field:${key}`])
    await project.contacts.update(contact, { data: { [key]: 1 } })
    await project.contacts.create(ADA, { data: { [key]: 2 } })
    await project.call('DELETE', `/contacts/fields/${encodeURIComponent(key)}`)
    await project.jobsDone()
    expect(await topicsOf(project)).toEqual([[`contact:data.${key}`], [`contact:data.${key}`], [`field:${key}`], [`field:${key}`]])
  })

  test('is undone with its cause', async () => {
    const { project, contact } = await newFilledProject()
    await listen(project, [...ALL, 'segment:1'])
    await expect(
      transact(sterna.db, async (tx) => {
        await recordEvents(tx, [{ projectId: project.id, name: 'bought' }])
        await reactToContacts(tx, project.id, [contact], ['segment:1'])
        await reactToProject(tx, project.id, ['field:plan'])
        throw new Error('undone')
      }),
    ).rejects.toThrow('undone')
    expect(await topicsOf(project)).toEqual([])
  })

  test('of one project is not written for listeners of another', async () => {
    const { project, contact } = await newFilledProject()
    const other = await newProject()
    await listen(other, ALL)
    await project.contacts.update(contact, { data: { plan: 'b' } })
    await transact(sterna.db, (tx) => reactToProject(tx, project.id, ['field:plan']))
    await transact(sterna.db, (tx) => reactToContacts(tx, project.id, [newId()], ['contact']))
    expect(await topicsOf(project)).toEqual([])
    expect(await topicsOf(other)).toEqual([])
  })
})
