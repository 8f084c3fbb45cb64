import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { listenTo, type Topic } from '../../src/events/listen.ts'
import { recordEvents } from '../../src/events/record.ts'
import { times } from '../support/times.ts'
import { ADA, type Project, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents()

describe('listeners', () => {
  const listen = (project: Project, topics: Topic[], listener = 'test') =>
    transact(sterna.db, (tx) => listenTo(tx, { projectId: project.id, listener }, topics))
  const reactions = (project: Project) =>
    many(
      sterna.db,
      sql<{ contactId: string | null; eventId: string | null; name: string | null }>`
        select contact_id as "contactId", event_id as "eventId", event_name as name from reactions where project_id = ${project.id}
        order by event_id nulls last
      `,
    )
  const reactionNames = async (project: Project) => (await reactions(project)).map(({ name }) => name ?? 'contact').sort()

  /** Causes every kind of reaction once. */
  async function causeEverything(project: Project) {
    const { contact } = await project.trackEvent('bought')
    await project.trackEvent('viewed', { subscribed: false })
    await project.call('POST', '/events/track', { name: 'alone' })
    await project.call('PATCH', `/contacts/${contact}`, { subscribed: true })
    await project.call('POST', '/contacts', { email: 'bob@example.com' })
    return contact
  }

  test('of another project get no reactions', async () => {
    const [project, other] = [await newProject(), await newProject()]
    await listen(other, ['event:*', 'contact'])
    await causeEverything(project)
    expect(await reactions(project)).toEqual([])
    expect(await reactions(other)).toEqual([])
  })

  test.each<[Topic[], string[]]>([
    [['event:bought'], ['bought']],
    [['event:contact.subscribed'], ['contact.subscribed']],
    [['event:Bought', 'event:bou', 'event:'], []],
    [
      ['event:viewed', 'event:alone'],
      ['alone', 'viewed'],
    ],
    [['event:*'], ['alone', 'bought', 'contact.subscribed', 'contact.unsubscribed', 'viewed']],
    [
      ['event:*', 'event:bought'],
      ['alone', 'bought', 'contact.subscribed', 'contact.unsubscribed', 'viewed'],
    ],
    [['contact'], ['contact', 'contact', 'contact', 'contact']],
    [
      ['contact', 'event:bought'],
      ['bought', 'contact', 'contact', 'contact', 'contact'],
    ],
    [[], []],
  ])('to %j get reactions to %j', async (topics, expected) => {
    const project = await newProject()
    await listen(project, topics)
    await causeEverything(project)
    expect(await reactionNames(project)).toEqual(expected)
  })

  test('get the event and the contact of a reaction', async () => {
    const project = await newProject()
    await listen(project, ['event:bought', 'contact'])
    const { contact, event } = await project.trackEvent('bought')
    expect(await reactions(project)).toEqual([
      { contactId: contact, eventId: event, name: 'bought' },
      { contactId: contact, eventId: null, name: null },
    ])
  })

  test('get one reaction per event, also if several match', async () => {
    const project = await newProject()
    await listen(project, ['event:e'], 'one')
    await listen(project, ['event:e', 'event:*'], 'two')
    await project.trackEvent('e')
    expect(await reactionNames(project)).toEqual(['e'])
  })

  test('can change and remove their topics without an effect on others', async () => {
    const project = await newProject()
    const seen = new Set<string | null>()
    /** Of events since the last call: a worker may at any time remove the reactions that no listener waits for any more. */
    async function newReactions() {
      const found = (await reactions(project)).filter(({ eventId }) => !seen.has(eventId))
      for (const { eventId } of found) seen.add(eventId)
      return found.map(({ name }) => name).sort()
    }
    await listen(project, ['event:a', 'event:b'], 'one')
    await listen(project, ['event:b'], 'two')
    await listen(project, ['event:c'], 'one')
    for (const name of ['a', 'b', 'c']) await project.trackEvent(name)
    expect(await newReactions()).toEqual(['b', 'c'])
    await listen(project, [], 'two')
    for (const name of ['a', 'b', 'c']) await project.trackEvent(name)
    expect(await newReactions()).toEqual(['c'])
    await listen(project, ['event:c'], 'one')
    await listen(project, [], 'one')
    await project.trackEvent('c')
    expect(await newReactions()).toEqual([])
  })

  test('get reactions to imports and bulk jobs', async () => {
    const project = await newProject()
    await listen(project, ['contact', 'event:contact.unsubscribed'])
    await project.contacts.upload('email\na@example.com\nb@example.com\n')
    await project.jobsDone()
    expect(await reactionNames(project)).toEqual(['contact', 'contact'])
    const { data } = (await project.call('GET', '/contacts')).body
    await project.call('POST', '/contacts/bulk-unsubscribe', { contactIds: data.map(({ id }: { id: string }) => id) })
    await project.jobsDone()
    expect(await reactionNames(project)).toEqual([
      'contact',
      'contact',
      'contact',
      'contact',
      'contact.unsubscribed',
      'contact.unsubscribed',
    ])
  })

  test('get no reaction to refused and rolled-back events', async () => {
    const project = await newProject()
    const most = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(62_000)]))
    await project.call('POST', '/contacts', { email: ADA, data: most })
    await listen(project, ['event:*', 'contact'])
    const tooLarge = { more: 'x'.repeat(25_000) }
    const answers = await Promise.all([
      ...times(2, () => project.call('POST', '/events/track', { email: ADA, event: 'large', data: tooLarge })),
      ...times(3, (n) => project.call('POST', '/events/track', { email: `c${n}@example.com`, event: 'small' })),
    ])
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 200, 200, 200])
    expect(await reactionNames(project)).toEqual(['contact', 'contact', 'contact', 'small', 'small', 'small'])
    await expect(
      transact(sterna.db, async (tx) => {
        await recordEvents(tx, [{ projectId: project.id, name: 'undone' }])
        throw new Error('undone')
      }),
    ).rejects.toThrow('undone')
    expect(await reactionNames(project)).not.toContain('undone')
  })
})
