import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { continueBulk } from '../../src/contacts/bulk.ts'
import { transact } from '../../src/db/index.ts'
import { queueJob } from '../../src/jobs/job.ts'
import { segmentAccess } from '../../src/segments/members/selection.ts'
import { issues, outcome, plainError } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { all, filter, isPro, memberOf, newSegmentProject } from './segment-project.ts'

const sterna = useSharedApp()

async function newProject() {
  const project = await newSegmentProject(sterna)
  return {
    ...project,
    list: async (query: string) => (await project.call('GET', `/contacts?${query}`)).body,
    subscribers: async () => (await project.contacts.rows()).filter(({ subscribed }) => subscribed).map(({ email }) => email.split('@')[0]),
  }
}

/** Contacts ada, bob (both pro) and eve, a dynamic segment of pros, and a static one of bob and eve. */
async function newFilledProject() {
  const project = await newProject()
  const contacts = [await project.add('ada', { plan: 'pro' }), await project.add('bob', { plan: 'pro' }), await project.add('eve')]
  const [pro, list] = [await project.dynamic(), await project.fixed()]
  await project.addMembers(list.id, ['bob@example.com', 'eve@example.com'])
  return { ...project, pro, fixedList: list, added: contacts }
}

describe('the list of contacts by segment', () => {
  test('has the members of a dynamic and of a static segment, with their number', async () => {
    const project = await newFilledProject()
    const [pros, listed] = [await project.list(`segmentId=${project.pro.id}`), await project.list(`segmentId=${project.fixedList.id}`)]
    expect([project.names(pros), pros.total]).toEqual([['bob', 'ada'], 2])
    expect([project.names(listed), listed.total]).toEqual([['eve', 'bob'], 2])
  })

  test('combines with the other filters and orders, and is paged by cursor', async () => {
    const project = await newFilledProject()
    const query = `segmentId=${project.pro.id}&sort=email&dir=asc`
    expect(project.names(await project.list(`${query}&search=AD`))).toEqual(['ada'])
    const first = await project.list(`${query}&limit=1`)
    const second = await project.list(`${query}&limit=1&cursor=${first.cursor}`)
    expect([project.names(first), project.names(second), second.hasMore]).toEqual([['ada'], ['bob'], false])
    const other = await project.call('GET', `/contacts?sort=email&dir=asc&limit=1&cursor=${first.cursor}`)
    expect(outcome(other)).toEqual([400, 'BAD_REQUEST'])
  })

  test.each(['nonsense', randomUUID()])('is a 404 for %s', async (id) => {
    const project = await newProject()
    expect(outcome(await project.call('GET', `/contacts?segmentId=${id}`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
  })
})

describe('contacts by a condition that is not stored', () => {
  const asQuery = (condition: unknown) => `condition=${encodeURIComponent(JSON.stringify(condition))}`

  test('are listed, counted, paged and combined with the other filters', async () => {
    const project = await newFilledProject()
    const isProOrListed = { logic: 'OR', groups: [{ filters: [isPro] }, { filters: [memberOf(project.fixedList)] }] }
    const everyone = await project.list(asQuery(isProOrListed))
    expect([project.names(everyone), everyone.total]).toEqual([['eve', 'bob', 'ada'], 3])
    expect(project.names(await project.list(`${asQuery(all(isPro))}&segmentId=${project.fixedList.id}`))).toEqual(['bob'])
    expect(project.names(await project.list(`${asQuery(all(isPro))}&q=ad`))).toEqual(['ada'])
    const first = await project.list(`${asQuery(all(isPro))}&limit=1`)
    expect(project.names(await project.list(`${asQuery(all(isPro))}&limit=1&cursor=${first.cursor}`))).toEqual(['ada'])
    const other = await project.call('GET', `/contacts?${asQuery(isProOrListed)}&limit=1&cursor=${first.cursor}`)
    expect(outcome(other)).toEqual([400, 'BAD_REQUEST'])
  })

  test('are changed by it', async () => {
    const project = await newFilledProject()
    const selection = { mode: 'query', filter: { condition: all(isPro) } }
    expect((await project.contacts.bulk('unsubscribe', selection)).result).toMatchObject({ totalRequested: 2, successCount: 2 })
    expect(await project.subscribers()).toEqual(['eve'])
  })

  test('are refused with the place of what is wrong', async () => {
    const project = await newProject()
    const list = async (query: string) => issues(await project.call('GET', `/contacts?${query}`))
    expect(await list('condition=nonsense')).toEqual([['condition', 'invalid_string']])
    expect(await list(asQuery(all({ ...isPro, value: 'a\0' })))).toEqual([['condition', 'invalid_string']])
    expect(await list(asQuery(all({ ...isPro, operator: 'is' })))).toEqual([['condition.groups.0.filters.0.operator', expect.any(String)]])
    const unknown = all(memberOf({ id: randomUUID() }))
    expect(await list(asQuery(unknown))).toEqual([['condition.groups.0.filters.0.field', expect.any(String)]])
    const bulk = await project.call('POST', '/contacts/bulk-delete', { mode: 'query', filter: { condition: unknown } })
    expect(issues(bulk)).toEqual([['filter.condition.groups.0.filters.0.field', expect.any(String)]])
  })
})

describe('a bulk job by segment', () => {
  test('acts on the members only', async () => {
    const project = await newFilledProject()
    const job = await project.contacts.bulk('unsubscribe', { mode: 'query', filter: { segmentId: project.pro.id } })
    expect(job.result).toMatchObject({ totalRequested: 2, successCount: 2, failureCount: 0 })
    expect(await project.subscribers()).toEqual(['eve'])
  })

  test('combines with other filters and excluded ids', async () => {
    const project = await newFilledProject()
    const bob = project.added[1]!
    const filter = { segmentId: project.fixedList.id, search: 'example' }
    await project.contacts.bulk('unsubscribe', { mode: 'query', filter, excludeIds: [bob.id] })
    expect(await project.subscribers()).toEqual(['ada', 'bob'])
  })

  test('reads a large project page by page', async () => {
    const project = await newProject()
    await project.contacts.createMany(4_500)
    const { id } = await project.dynamic(all(filter('email', 'contains', '00@')))
    const job = await project.contacts.bulk('delete', { mode: 'query', filter: { segmentId: id } })
    expect(job.result).toMatchObject({ totalRequested: 44, successCount: 44 })
    expect(await project.members(id)).toEqual([])
  })

  test.each([
    ['the segment', () => ({ segmentId: randomUUID() })],
    // Read without it, "not a member" would be true of everyone.
    ['a segment that its condition refers to', () => ({ condition: all(filter(`segment.${randomUUID()}`, 'notMemberOfSegment')) })],
  ])('fails if %s is deleted before its end, and acts on nobody else', async (_, where) => {
    const project = await newFilledProject()
    const input = { operation: 'unsubscribe', selection: { where: where(), excludeIds: [] } }
    const jobId = await transact(sterna.db, async (tx) => {
      const id = await queueJob(tx, 'contacts.bulk', { projectId: project.id, type: 'bulk-unsubscribe', input })
      await sql`delete from graphile_worker._private_jobs where payload ->> 'jobId' = ${id}`.execute(tx)
      return id
    })
    await continueBulk(sterna.db, segmentAccess, { projectId: project.id, jobId })
    expect((await project.call('GET', `/contacts/bulk/${jobId}`)).body).toMatchObject({
      state: 'failed',
      failedReason: 'The segment was deleted.',
    })
    expect(await project.subscribers()).toEqual(['ada', 'bob', 'eve'])
  })
})

describe('adding many contacts to a segment', () => {
  test('by ids adds those that exist, and counts members as unchanged', async () => {
    const project = await newFilledProject()
    const [ada, bob] = project.added
    const contactIds = [ada!.id, bob!.id, randomUUID()]
    const { jobId, result } = await project.contacts.bulk('add-to-segment', { segmentId: project.fixedList.id, contactIds })
    expect(result).toMatchObject({ operation: 'add-to-segment', totalRequested: 3, successCount: 2, unchangedCount: 1, failureCount: 1 })
    expect(result.errors).toEqual([{ contactId: contactIds[2], error: 'Contact not found' }])
    expect((await project.members(project.fixedList.id)).sort()).toEqual(['ada', 'bob', 'eve'])
    expect((await project.get(project.fixedList.id)).memberCount).toBe(3)
    expect((await project.call('GET', `/contacts/bulk/${jobId}`)).body.type).toBe('bulk-add-to-segment')
    expect(await project.subscribers()).toEqual(['ada', 'bob', 'eve'])
  })

  test('by filter adds all matches, also those of another segment', async () => {
    const project = await newFilledProject()
    const selection = { mode: 'query', filter: { segmentId: project.pro.id } }
    await project.contacts.bulk('add-to-segment', { segmentId: project.fixedList.id, ...selection })
    expect((await project.members(project.fixedList.id)).sort()).toEqual(['ada', 'bob', 'eve'])
  })

  test('refuses a dynamic segment, and a selection of nobody', async () => {
    const project = await newFilledProject()
    const add = (body: object) => project.call('POST', '/contacts/bulk-add-to-segment', body)
    const contactIds = [project.added[0]!.id]
    const dynamic = await add({ segmentId: project.pro.id, contactIds })
    expect([dynamic.status, dynamic.body]).toEqual([400, plainError])
    expect((await add({ segmentId: project.fixedList.id, contactIds: [] })).status).toBe(400)
    expect(issues(await add({ segmentId: project.fixedList.id, mode: 'query', filter: {} }))).toEqual([['filter', 'required']])
    expect(issues(await add({ contactIds }))).toEqual([['segmentId', 'required']])
  })

  test('never adds contacts of another project', async () => {
    const [project, other] = [await newFilledProject(), await newProject()]
    const foreign = await other.add('ada')
    const { result } = await project.contacts.bulk('add-to-segment', { segmentId: project.fixedList.id, contactIds: [foreign.id] })
    expect(result).toMatchObject({ successCount: 0, failureCount: 1 })
    expect((await project.members(project.fixedList.id)).sort()).toEqual(['bob', 'eve'])
  })
})

describe('usage', () => {
  test('of a field lists the segments that mention it, or a path into it', async () => {
    const project = await newProject()
    const direct = await project.dynamic(all(isPro), { name: 'Direct' })
    const path = await project.dynamic(
      { logic: 'OR', groups: [{ filters: [], conditions: all(filter('data.plan.name', 'exists')) }] },
      { name: 'Path' },
    )
    await project.dynamic(all(filter('data.planned', 'exists'), filter('email', 'contains', 'plan')), { name: 'Other' })
    const usage = async (field: string) => (await project.call('GET', `/contacts/fields/${field}/usage`)).body
    const both = [path, direct].map(({ id, name }) => ({ id, name }))
    expect(await usage('plan')).toMatchObject({ usedInSegments: both, usedInCampaigns: [], usedInWorkflows: [], canDelete: true })
    expect((await usage('data.plan')).usedInSegments).toEqual(both)
    expect(await usage('email')).toMatchObject({ usedInSegments: [{ name: 'Other' }], canDelete: false })
    expect((await usage('subscribed')).usedInSegments).toEqual([])
  })

  test('of an event lists the segments that ask for it, also as an activity', async () => {
    const project = await newProject()
    await project.dynamic(all(filter('event.login', 'triggered')), { name: 'Event' })
    await project.dynamic(all(filter('login', 'notTriggered')), { name: 'Bare name' })
    await project.dynamic(all(filter('email.opened', 'triggeredWithin', 7, 'days')), { name: 'Opened' })
    const usage = async (name: string) =>
      (await project.call('GET', `/events/${name}/usage`)).body.usedInSegments.map((segment: { name: string }) => segment.name)
    expect([await usage('login'), await usage('email.open'), await usage('signup')]).toEqual([['Bare name', 'Event'], ['Opened'], []])
  })

  test('follows a change of the condition', async () => {
    const project = await newProject()
    const { id } = await project.dynamic()
    await project.patch(id, { condition: all(filter('data.age', 'exists')) })
    const usage = async (field: string) => (await project.call('GET', `/contacts/fields/${field}/usage`)).body.usedInSegments
    expect([await usage('plan'), await usage('age')]).toEqual([[], [{ id, name: 'Dynamic' }]])
  })
})
