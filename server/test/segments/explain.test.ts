import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { transact } from '../../src/db/index.ts'
import { recordEvents } from '../../src/events/record.ts'
import { lowestId, newId } from '../../src/lib/id.ts'
import { DAY } from '../../src/lib/text/units.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { all, filter, isPro, memberOf, newSegmentProject, type Segment } from './segment-project.ts'

const sterna = useSharedApp()

async function newProject() {
  const project = await newSegmentProject(sterna)
  return {
    ...project,
    explain: async ({ id }: { id: string }, contact: { id: string }) =>
      (await project.call('GET', `/segments/${id}/explain/${contact.id}`)).body,
    segmentsOf: async (contact: { id: string }) =>
      (await project.call('GET', `/contacts/${contact.id}/segments`)).body.map(({ name }: Segment) => name),
  }
}

describe('an explanation', () => {
  test('of a condition that is not stored has the same form', async () => {
    const project = await newProject()
    const contact = await project.add('ada', { plan: 'free' })
    const condition = all(isPro, filter('subscribed', 'equals', true))
    const { explanation } = await project.explain(await project.dynamic(condition), contact)
    const explained = await project.call('POST', '/segments/explain', { condition, contactId: contact.id })
    expect(explained.body).toEqual({ matches: false, explanation })
    const others = [randomUUID(), (await (await newProject()).add('ada')).id]
    for (const contactId of others)
      expect(outcome(await project.call('POST', '/segments/explain', { condition, contactId }))).toEqual([404, 'CONTACT_NOT_FOUND'])
  })

  test('has the answer and the actual value of every filter', async () => {
    const project = await newProject()
    const contact = await project.add('ada', { plan: 'free' })
    const segment = await project.dynamic(all(isPro, filter('subscribed', 'equals', true)))
    expect(await project.explain(segment, contact)).toEqual({
      matches: false,
      segment: { id: segment.id, name: 'Dynamic', slug: 'dynamic', type: 'DYNAMIC', trackMembership: false },
      explanation: {
        logic: 'AND',
        matches: false,
        groups: [
          {
            matches: false,
            filters: [
              { ...isPro, matches: false, actual: 'free' },
              { ...filter('subscribed', 'equals', true), matches: true, actual: true },
            ],
          },
        ],
      },
      isMember: null,
      history: [],
    })
    await project.contacts.update(contact.id, { data: { plan: 'pro' } })
    expect((await project.explain(segment, contact)).matches).toBe(true)
  })

  test('of a static segment says whether the contact is a member', async () => {
    const project = await newProject()
    const [ada, bob] = [await project.add('ada'), await project.add('bob')]
    const segment = await project.fixed()
    await project.addMembers(segment.id, ['ada@example.com'])
    expect(await project.explain(segment, ada)).toMatchObject({ matches: true, isMember: true, explanation: null })
    expect(await project.explain(segment, bob)).toMatchObject({ matches: false, isMember: false, explanation: null })
  })

  test('has the entries and exits of the contact, newest first, at most 100', async () => {
    const project = await newProject()
    const [ada, bob] = [await project.add('ada'), await project.add('bob')]
    const segment = await project.fixed({ name: 'List' })
    const record = (name: string, contactId: string) =>
      transact(sterna.db, (tx) => recordEvents(tx, [{ projectId: project.id, name, contactId }]))
    await record('segment.list.entry', ada.id)
    await record('segment.list.exit', ada.id)
    await record('segment.list.entry', bob.id)
    await record('segment.list2.entry', ada.id)
    const { history } = await project.explain(segment, ada)
    expect(history).toEqual([
      { type: 'exit', at: expect.stringMatching(/Z$/), eventId: expect.any(String) },
      { type: 'entry', at: expect.stringMatching(/Z$/), eventId: expect.any(String) },
    ])
    const entries = times(105, () => ({ projectId: project.id, name: 'segment.list.entry', contactId: bob.id }))
    await transact(sterna.db, (tx) => recordEvents(tx, entries))
    expect((await project.explain(segment, bob)).history).toHaveLength(100)
  })

  test('is a 404 for an unknown contact, or one of another project', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const segment = await project.dynamic()
    const foreign = await other.add('ada')
    for (const id of [randomUUID(), 'x', foreign.id])
      expect(outcome(await project.call('GET', `/segments/${segment.id}/explain/${id}`))).toEqual([404, 'CONTACT_NOT_FOUND'])
  })
})

describe('the segments of a contact', () => {
  test('are those that the contact is in now, newest segment first', async () => {
    const project = await newProject()
    const [ada, bob] = [await project.add('ada', { plan: 'pro' }), await project.add('bob')]
    const pro = await project.dynamic(all(isPro), { name: 'Pro' })
    const list = await project.fixed({ name: 'List' })
    await project.dynamic(all(memberOf(pro), memberOf(list)), { name: 'Both' })
    await project.dynamic(all(filter('event.login', 'triggered')), { name: 'Active' })
    await project.addMembers(list.id, ['ada@example.com', 'bob@example.com'])
    expect([await project.segmentsOf(ada), await project.segmentsOf(bob)]).toEqual([['Both', 'List', 'Pro'], ['List']])
    await project.track({ email: 'bob@example.com', event: 'login' })
    expect(await project.segmentsOf(bob)).toEqual(['Active', 'List'])
    expect((await project.call('GET', `/contacts/${bob.id}/segments`)).body[1]).toEqual({
      id: list.id,
      name: 'List',
      slug: 'list',
      type: 'STATIC',
      trackMembership: false,
    })
  })

  test('are found among a thousand', async () => {
    const project = await newProject()
    const contact = await project.add('ada', { n: 7 })
    const wide = (n: number) =>
      all(filter('data.n', 'equals', n), ...times(50, (m) => filter('data.n', 'notEquals', `${m}${'x'.repeat(500)}`)))
    const rows = times(1_000, (n) => ({ id: newId(), name: `N${n}`, condition: n < 40 ? wide(n) : all(filter('data.n', 'equals', n)) }))
    await sql`
      insert into segments (project_id, id, name, type, condition, slug)
      select ${project.id}, id, name, 'DYNAMIC', condition, lower(name)
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(id uuid, name text, condition jsonb)
    `.execute(sterna.db)
    expect(await project.segmentsOf(contact)).toEqual(['N7'])
  })

  test('are a 404 for a contact of another project', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const foreign = await other.add('ada')
    expect(outcome(await project.call('GET', `/contacts/${foreign.id}/segments`))).toEqual([404, 'CONTACT_NOT_FOUND'])
  })
})

describe('the history of a segment', () => {
  test('has the entries and exits of all contacts, newest first, in pages', async () => {
    const project = await newProject()
    const [ada, bob] = [await project.add('ada'), await project.add('bob')]
    const segment = await project.fixed({ name: 'List', trackMembership: true })
    const record = (name: string, contactId: string) =>
      transact(sterna.db, (tx) => recordEvents(tx, [{ projectId: project.id, name, contactId }]))
    await record('segment.list.entry', ada.id)
    await record('segment.list.entry', bob.id)
    await record('segment.list.exit', ada.id)
    await record('segment.other.entry', ada.id)
    const read = async (query: string) => (await project.call('GET', `/segments/${segment.id}/history?limit=2${query}`)).body
    const first = await read('')
    const rest = await read(`&cursor=${first.cursor}`)
    const shown = ({ data }: { data: { type: string; contact: { email: string } }[] }) =>
      data.map(({ type, contact }) => [type, contact.email])
    expect([shown(first), first.total, first.hasMore]).toEqual([
      [
        ['exit', 'ada@example.com'],
        ['entry', 'bob@example.com'],
      ],
      3,
      true,
    ])
    expect([shown(rest), rest.hasMore]).toEqual([[['entry', 'ada@example.com']], false])
    expect(shown(await read('&type=exit'))).toEqual([['exit', 'ada@example.com']])
    expect((await project.call('GET', '/segments/usage')).body.data).toEqual([
      { id: segment.id, segmentCount: 0, campaignCount: 0, workflowCount: 0, entered: 2, left: 1 },
    ])
  })

  test('is filtered by days, and each number of the last seven days is that of its list', async () => {
    const project = await newProject()
    const { id: contactId } = await project.add('ada')
    const segment = await project.fixed({ name: 'List', trackMembership: true })
    const midnight = Math.floor(Date.now() / DAY) * DAY
    const dayOf = (daysAgo: number) => new Date(midnight - daysAgo * DAY).toISOString().slice(0, 10)
    const entries = [midnight, midnight - 6 * DAY, midnight - 6 * DAY - 1].map((time) => ({
      projectId: project.id,
      id: `${lowestId(new Date(time)).slice(0, 14)}${newId().slice(14)}`,
      name: 'segment.list.entry',
      contactId,
    }))
    await transact(sterna.db, (tx) => recordEvents(tx, entries))
    const read = async (query: string) => {
      const { data, total } = (await project.call('GET', `/segments/${segment.id}/history?${query}`)).body
      return [data.map(({ id }: { id: string }) => id), total]
    }
    const [today, first, before] = entries.map(({ id }) => id)
    expect(await read(`from=${dayOf(6)}`)).toEqual([[today, first], 2])
    expect((await project.call('GET', '/segments/usage')).body.data).toMatchObject([{ id: segment.id, entered: 2, left: 0 }])
    expect(await read(`from=${dayOf(6)}&to=${dayOf(6)}&type=entry`)).toEqual([[first], 1])
    expect(await read(`to=${dayOf(7)}`)).toEqual([[before], 1])
    expect(await read('to=0000-01-01')).toEqual([[], 0])
    expect(await read('from=9999-12-31')).toEqual([[], 0])
    expect((await read('to=9999-12-31'))[1]).toBe(3)
    expect((await project.call('GET', `/segments/${segment.id}/history?from=yesterday`)).status).toBe(422)
    expect((await project.call('GET', `/segments/${segment.id}/history?from=2026-01-02&to=2026-01-01`)).status).toBe(400)
  })
})

test('the usage of a segment names what refers to it', async () => {
  const project = await newProject()
  const inner = await project.fixed({ name: 'Inner' })
  const outer = await project.dynamic(all(memberOf(inner)), { name: 'Outer' })
  const usage = async (id: string) => (await project.call('GET', `/segments/${id}/usage`)).body
  expect(await usage(inner.id)).toEqual({ usedInSegments: [{ id: outer.id, name: 'Outer' }], usedInCampaigns: [], usedInWorkflows: [] })
  expect(await usage(outer.id)).toEqual({ usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [] })
  const counts = (await project.call('GET', '/segments/usage')).body.data
  expect(counts.map(({ id, segmentCount, entered }: Record<string, unknown>) => [id, segmentCount, entered])).toEqual([
    [outer.id, 0, null],
    [inner.id, 1, null],
  ])
  expect(outcome(await project.call('GET', `/segments/${randomUUID()}/usage`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
})
