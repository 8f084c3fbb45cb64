import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { SOURCES } from '../../src/contacts/record/subscription.ts'
import { many } from '../../src/db/index.ts'
import { statuses } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

const count = <T>(items: T[], wanted: T) => items.filter((item) => item === wanted).length

describe('a change of subscription', () => {
  test('records one event, and none if nothing changed', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com', { subscribed: false })
    const steps: [() => Promise<unknown>, string[]][] = [
      [() => project.contacts.update(id, { subscribed: false }), []],
      [() => project.contacts.update(id, { subscribed: true }), ['contact.subscribed']],
      [() => project.contacts.update(id, { subscribed: true, data: { a: 1 } }), ['contact.subscribed']],
      [() => project.contacts.create('ada@example.com'), ['contact.subscribed']],
      [() => project.contacts.create('ada@example.com', { subscribed: false }), ['contact.subscribed', 'contact.unsubscribed']],
      [() => project.contacts.update(id, { subscribed: true, email: 'taken' }), ['contact.subscribed', 'contact.unsubscribed']],
    ]
    for (const [step, expected] of steps) {
      await step()
      expect(await project.events.namesOf(id)).toEqual(expected)
    }
  })

  test('is counted in the usage of its event, in its own project only', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const [ada, grace] = [await project.contacts.create('ada@example.com'), await project.contacts.create('grace@example.com')]
    for (const subscribed of [false, true, false]) await project.contacts.update(ada.id, { subscribed })
    await project.contacts.update(grace.id, { subscribed: false })
    const usage = async (of: Project, name: string) => (await of.call('GET', `/events/${name}/usage`)).body
    const nowhere = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [], canDelete: expect.any(Boolean) }
    expect(await usage(project, 'contact.unsubscribed')).toEqual({ ...nowhere, totalCount: 3, uniqueContacts: 2 })
    expect(await usage(project, 'contact.subscribed')).toEqual({ ...nowhere, totalCount: 1, uniqueContacts: 1 })
    expect(await usage(project, 'contact.%25')).toEqual({ ...nowhere, totalCount: 0, uniqueContacts: 0 })
    expect(await usage(other, 'contact.unsubscribed')).toEqual({ ...nowhere, totalCount: 0, uniqueContacts: 0 })
  })

  test('by an import or a bulk job records one event per contact', async () => {
    const project = await newProject()
    const [on, off] = [
      await project.contacts.create('on@example.com'),
      await project.contacts.create('off@example.com', { subscribed: false }),
    ]
    await project.contacts.import('email,subscribed\non@example.com,no\noff@example.com,yes\nnew@example.com,no\non@example.com,no')
    expect([await project.events.namesOf(on.id), await project.events.namesOf(off.id)]).toEqual([
      ['contact.unsubscribed'],
      ['contact.subscribed'],
    ])
    await project.contacts.bulk('subscribe', { contactIds: [on.id, off.id] })
    expect([await project.events.namesOf(on.id), await project.events.namesOf(off.id)]).toEqual([
      ['contact.unsubscribed', 'contact.subscribed'],
      ['contact.subscribed'],
    ])
  })

  test('records exactly one event per change under 50 concurrent requests', async () => {
    const project = await newProject()
    const { id, email } = await project.contacts.create('ada@example.com')
    const wanted = (n: number) => n % 2 === 0
    const answers = await Promise.all(
      times(50, (n) =>
        n % 3
          ? project.contacts.update(id, { subscribed: wanted(n) })
          : project.call('POST', '/contacts', { email, subscribed: wanted(n), data: { n } }),
      ),
    )
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    const { subscribed } = await project.contacts.get(id)
    const events = await project.events.namesOf(id)
    const consents = await many(
      sterna.db,
      sql<{ subscribed: boolean }>`select subscribed from consents where project_id = ${project.id} and contact_id = ${id}`,
    )
    // Changes alternate, starting from subscribed: there are as many unsubscribes as subscribes, or one more.
    expect(events.length).toBeGreaterThan(0)
    expect(count(events, 'contact.unsubscribed') - count(events, 'contact.subscribed')).toBe(subscribed ? 0 : 1)
    expect(consents.filter((consent) => consent.subscribed).length).toBe(count(events, 'contact.subscribed'))
    expect(consents.length).toBe(events.length)
    expect((await project.contacts.list('?subscribed=true')).total).toBe(subscribed ? 1 : 0)
  })
})

describe('the consent record', () => {
  test.each(SOURCES)('has the source %s, which docs/contacts.md explains', (source) => {
    const docs = readFileSync(new URL('../../../docs/contacts.md', import.meta.url), 'utf8')
    expect(docs.split('\n').some((line) => line.startsWith('| `') && line.split(' | ')[0]!.includes(`\`${source}\``))).toBe(true)
  })

  const consents = async (project: Project, id: string, query = '') => (await project.call('GET', `/contacts/${id}/consent${query}`)).body

  test('has the source of each change, newest first', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com')
    const dashboard = (body: object) => project.owner.call('PATCH', `/contacts/${id}`, { body, headers: { 'x-project-id': project.id } })
    await sterna.call('PATCH', `/contacts/${id}`, { key: project.sk, body: { subscribed: false }, headers: { 'x-request-id': 'order-42' } })
    await dashboard({ subscribed: true })
    await project.contacts.bulk('unsubscribe', { contactIds: [id] })
    await project.contacts.import('email,subscribed\nada@example.com,true')
    await project.contacts.update(id, { subscribed: true })

    const { data, ...page } = await consents(project, id)
    expect(data.map(({ source, subscribed, details }: Record<string, unknown>) => [source, subscribed, details])).toEqual([
      ['import', true, { jobId: expect.any(String), startedBy: 'secret-key', requestId: expect.any(String) }],
      ['bulk', false, { jobId: expect.any(String), startedBy: 'secret-key', requestId: expect.any(String) }],
      ['dashboard', true, { userId: project.owner.id, requestId: expect.any(String) }],
      ['secret-key', false, { requestId: 'order-42' }],
    ])
    expect(Object.keys(data[0]).sort()).toEqual(['createdAt', 'details', 'id', 'source', 'subscribed'])
    expect(page).toEqual({ cursor: null, hasMore: false, total: 4 })
  })

  test('is paged, and the first page has the total', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com')
    for (let n = 0; n < 23; n++) await project.contacts.update(id, { subscribed: n % 2 === 1 })
    const pages = [await consents(project, id, '?limit=10')]
    while (pages.at(-1).cursor) pages.push(await consents(project, id, `?limit=10&cursor=${pages.at(-1).cursor}`))
    expect(pages.map(({ data, hasMore }) => [data.length, hasMore])).toEqual([
      [10, true],
      [10, true],
      [3, false],
    ])
    expect(pages.flatMap(({ data }) => data.map((consent: { subscribed: boolean }) => consent.subscribed))).toEqual(
      times(23, (n) => n % 2 === 1),
    )
    expect(new Set(pages.flatMap(({ data }) => data.map((consent: { id: string }) => consent.id))).size).toBe(23)
    expect(pages.map(({ total }) => total)).toEqual([23, 0, 0])
  })

  test('keeps the order of changes within one millisecond', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    for (let n = 0; n < 12; n++) await project.contacts.update(id, { subscribed: n % 2 === 1 })
    vi.useRealTimers()
    const { data } = await consents(project, id)
    expect(data.map(({ subscribed }: { subscribed: boolean }) => subscribed)).toEqual(times(12, (n) => n % 2 === 0))
    expect(await project.events.namesOf(id)).toEqual(times(12, (n) => (n % 2 ? 'contact.subscribed' : 'contact.unsubscribed')))
  })

  test('has a cursor that is valid for its contact only', async () => {
    const project = await newProject()
    const [ada, grace] = [await project.contacts.create('ada@example.com'), await project.contacts.create('grace@example.com')]
    for (const { id } of [ada, grace]) for (const subscribed of [false, true]) await project.contacts.update(id, { subscribed })
    const { cursor } = await consents(project, ada.id, '?limit=1')
    expect((await project.call('GET', `/contacts/${ada.id}/consent?cursor=${cursor}`)).status).toBe(200)
    for (const url of [
      `/contacts/${grace.id}/consent?cursor=${cursor}`,
      `/contacts?cursor=${cursor}`,
      `/contacts/${ada.id}/consent?cursor=x`,
    ])
      expect((await project.call('GET', url)).status).toBe(400)
  })
})
