import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { lockSegments } from '../../src/segments/definition/limits.ts'
import { fields, issues, outcome, plainError, statuses } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { all, filter, isPro, newSegmentProject, type Segment } from './segment-project.ts'

const sterna = useSharedApp()
const newProject = () => newSegmentProject(sterna)

describe('creating a segment', () => {
  test('answers 201 with the whole segment, which is then found', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    const given = { name: 'Pro users', description: 'Those who pay', condition: all(isPro) }
    const { status, body } = await project.call('POST', '/segments', given)
    expect(status).toBe(201)
    expect(body).toEqual({
      ...given,
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      type: 'DYNAMIC',
      slug: 'pro-users',
      trackMembership: false,
      memberCount: 1,
      countedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      countEstimated: false,
      projectId: project.id,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: body.createdAt,
    })
    expect(await project.get(body.id)).toEqual({ ...body, countedAt: expect.any(String) })
  })

  test.each([
    ['no name', { name: undefined }],
    ['a null name', { name: null }],
    ['no condition', { condition: undefined }],
    ['a null condition', { condition: null }],
    ['a text as condition', { condition: 'everyone' }],
    ['a list as condition', { condition: [] }],
  ])('with %s is a bare 400', async (_, change) => {
    const project = await newProject()
    const { status, body } = await project.call('POST', '/segments', { name: 'A', condition: all(isPro), ...change })
    expect([status, body]).toEqual([400, plainError])
    expect((await project.call('GET', '/segments')).body).toEqual([])
  })

  test.each<[string, object, [string, string][]]>([
    ['an empty name', { name: ' ' }, [['name', 'too_small']]],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, [['name', 'too_big']]],
    ['a number as name', { name: 1 }, [['name', 'invalid_type']]],
    ['a description of 501 characters', { description: 'x'.repeat(501) }, [['description', 'too_big']]],
    ['an unknown type', { type: 'SMART' }, [['type', 'invalid_enum_value']]],
    ['a text as trackMembership', { trackMembership: 'yes' }, [['trackMembership', 'invalid_type']]],
    [
      'an empty condition',
      { condition: {} },
      [
        ['condition.logic', 'required'],
        ['condition.groups', 'required'],
      ],
    ],
    ['a condition without groups', { condition: { logic: 'AND', groups: [] } }, [['condition.groups', 'too_small']]],
    [
      'an unknown operator',
      { condition: all(filter('email', 'resembles', 'x')) },
      [['condition.groups.0.filters.0.operator', 'invalid_enum_value']],
    ],
    [
      'a segment that does not exist',
      { condition: all(filter(`segment.${randomUUID()}`, 'memberOfSegment')) },
      [['condition.groups.0.filters.0.field', 'custom']],
    ],
  ])('with %s is a 422 that names the field', async (_, change, expected) => {
    const project = await newProject()
    const answer = await project.call('POST', '/segments', { name: 'A', condition: all(isPro), ...change })
    expect([answer.status, issues(answer)]).toEqual([422, expected])
  })

  test('takes a name of 100 characters, a description of 500, and conditions nested ten levels deep', async () => {
    const project = await newProject()
    const nested = (depth: number): object =>
      depth === 1 ? all(isPro) : { logic: 'AND', groups: [{ filters: [], conditions: nested(depth - 1) }] }
    const body = { name: 'x'.repeat(100), description: 'x'.repeat(500) }
    expect((await project.call('POST', '/segments', { ...body, condition: nested(10) })).status).toBe(201)
    expect(outcome(await project.call('POST', '/segments', { ...body, condition: nested(11) }))).toEqual([422, 'VALIDATION_ERROR'])
  })

  test('of the type STATIC ignores the condition, even a bad one', async () => {
    const project = await newProject()
    const { status, body } = await project.call('POST', '/segments', { name: 'List', type: 'STATIC', condition: 'nonsense' })
    expect([status, body.type, body.condition, body.memberCount]).toEqual([201, 'STATIC', null, 0])
  })
})

describe('the slug of a segment', () => {
  test('comes from the name, and gets the start of the id if it is empty or taken', async () => {
    const project = await newProject()
    const segments = [await project.fixed({ name: 'A b' }), await project.fixed({ name: 'a-b' }), await project.fixed({ name: '顧客' })]
    expect(segments.map(({ slug }) => slug)).toEqual(['a-b', `a-b-${segments[1]!.id.slice(0, 8)}`, `-${segments[2]!.id.slice(0, 8)}`])
  })

  test('differs for many segments of the same name that are created together', async () => {
    const project = await newProject()
    const segments = await Promise.all(times(12, () => project.fixed({ name: 'VIP' })))
    expect(new Set(segments.map(({ slug }) => slug)).size).toBe(12)
    expect(segments.map(({ slug }) => slug)).toContain('vip')
  })

  test('stays when the segment is renamed, and is free in other projects', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const { id } = await project.fixed({ name: 'Old' })
    expect((await project.patch(id, { name: 'New' })).body).toMatchObject({ name: 'New', slug: 'old' })
    expect((await other.fixed({ name: 'Old' })).slug).toBe('old')
  })
})

describe('the list of segments', () => {
  test('is a bare array, newest first, of the own project only', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const [first, second] = [await project.fixed({ name: 'First' }), await project.dynamic()]
    await other.fixed()
    const { status, body } = await project.call('GET', '/segments')
    expect([status, body.map(({ id }: Segment) => id)]).toEqual([200, [second.id, first.id]])
    expect(body[1]).toEqual({ ...first, countedAt: expect.any(String) })
  })

  test('is complete when its conditions have more than a megabyte', async () => {
    const project = await newProject()
    const wide = all(...times(55, (n) => filter('data.plan', 'equals', `${n}${'x'.repeat(1_000)}`)))
    const ids = times(40, () => newId())
    await sql`
      insert into segments (project_id, id, name, type, condition, slug)
      select ${project.id}, id, 'Wide', 'DYNAMIC', ${JSON.stringify(wide)}::jsonb, 'wide' || id from unnest(${ids}::uuid[]) as id
    `.execute(sterna.db)
    const { body } = await project.call('GET', '/segments')
    expect(body.map(({ id }: Segment) => id)).toEqual(ids.toReversed())
    expect(body[39].condition).toEqual(wide)
  })
})

describe('changing a segment', () => {
  test('changes only the given fields, and counts the new condition', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    const segment = await project.dynamic(all(filter('data.plan', 'equals', 'free')), { description: 'D' })
    expect(segment.memberCount).toBe(0)
    const { status, body } = await project.patch(segment.id, { condition: all(isPro) })
    expect(status).toBe(200)
    expect(body).toEqual({
      ...segment,
      condition: all(isPro),
      memberCount: 1,
      countedAt: expect.any(String),
      updatedAt: expect.not.stringMatching(segment.updatedAt),
    })
    expect((await project.patch(segment.id, { description: null })).body).toMatchObject({ description: null, condition: all(isPro) })
  })

  test('does not change the type, slug, count or project', async () => {
    const project = await newProject()
    const segment = await project.dynamic()
    const { body } = await project.patch(segment.id, {
      type: 'STATIC',
      slug: 'x',
      memberCount: 9,
      projectId: randomUUID(),
      id: randomUUID(),
    })
    expect(body).toEqual({ ...segment, countedAt: expect.any(String), updatedAt: expect.any(String) })
  })

  test('ignores a condition for a static segment', async () => {
    const project = await newProject()
    const { id } = await project.fixed()
    expect((await project.patch(id, { condition: all(isPro), name: 'N' })).body).toMatchObject({ condition: null, name: 'N' })
  })

  test.each([
    ['null as condition', { condition: null }, 400],
    ['a bad condition', { condition: { logic: 'XOR', groups: [] } }, 422],
    ['a long name', { name: 'x'.repeat(101) }, 422],
    ['an empty name', { name: '' }, 422],
  ])('refuses %s', async (_, change, status) => {
    const project = await newProject()
    const segment = await project.dynamic()
    expect((await project.patch(segment.id, change)).status).toBe(status)
    expect((await project.get(segment.id)).updatedAt).toBe(segment.updatedAt)
  })

  test('with If-Match is refused if the segment was changed since', async () => {
    const project = await newProject()
    const segment = await project.dynamic()
    const { headers } = await project.call('GET', `/segments/${segment.id}`)
    expect(headers.etag).toBe(`"${segment.updatedAt}"`)
    const edit = (name: string) => project.patch(segment.id, { name }, { 'if-match': `"${segment.updatedAt}"` })
    const [first, second] = [await edit('First'), await edit('Second')]
    expect([outcome(first), outcome(second)]).toEqual([[200], [409, 'CONFLICT']])
    expect(second.body.error.details).toEqual({ updatedAt: first.body.updatedAt })
    expect((await project.get(segment.id)).name).toBe('First')
  })
})

describe('deleting a segment', () => {
  test('answers 204, removes its members, and is then a 404', async () => {
    const project = await newProject()
    const { id } = await project.fixed()
    await project.addMembers(id, ['a@example.com', 'b@example.com'], { createMissing: true })
    const { status, body } = await project.remove(id)
    expect([status, body]).toEqual([204, ''])
    expect(outcome(await project.remove(id))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    await eventually(async () =>
      expect(await many(sterna.db, sql`select 1 from segment_members where project_id = ${project.id}`)).toEqual([]),
    )
  })
})

describe('a copy of a segment', () => {
  test('has a new name, slug and id, and is not tracked', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    const original = await project.dynamic(all(isPro), { name: 'Pro', description: 'D', trackMembership: true })
    const { status, body } = await project.call('POST', `/segments/${original.id}/duplicate`)
    expect([status, body]).toMatchObject([
      201,
      { name: 'Pro (Copy)', description: 'D', condition: all(isPro), slug: 'pro-copy', trackMembership: false, memberCount: 1 },
    ])
    expect(body.id).not.toBe(original.id)
  })

  test('of a static segment has its members, and its name fits', async () => {
    const project = await newProject()
    const original = await project.fixed({ name: 'x'.repeat(100) })
    await project.addMembers(original.id, ['a@example.com', 'b@example.com'], { createMissing: true })
    const { body } = await project.call('POST', `/segments/${original.id}/duplicate`)
    expect(body).toMatchObject({ name: `${'x'.repeat(93)} (Copy)`, memberCount: 2 })
    expect((await project.members(body.id)).sort()).toEqual(['a', 'b'])
  })

  test('of a static segment with very many members is completed by a job', async () => {
    const project = await newProject()
    const original = await project.fixed()
    await sql`
      with made as (
        insert into contacts (project_id, id, email, subscribed)
        select ${project.id}, gen_random_uuid(), 'c' || n || '@example.com', true from generate_series(1, 5500) as n returning id
      )
      insert into segment_members (project_id, segment_id, contact_id) select ${project.id}, ${original.id}, id from made
    `.execute(sterna.db)
    const { body } = await project.call('POST', `/segments/${original.id}/duplicate`)
    await eventually(async () => expect((await project.call('POST', `/segments/${body.id}/refresh`)).body).toEqual({ memberCount: 5_500 }))
  })
})

describe('limits', () => {
  /** Inserts segments without the cost of requests. */
  const fillUp = (projectId: string, count: number, { tracked = false, condition }: { tracked?: boolean; condition?: object } = {}) =>
    sql`
      insert into segments (project_id, id, name, type, condition, slug, track_membership)
      select ${projectId}, gen_random_uuid(), 'S', ${condition ? 'DYNAMIC' : 'STATIC'}, ${condition ? JSON.stringify(condition) : null}::jsonb,
        's' || n, ${tracked}
      from generate_series(1, ${count}::int) as n
    `.execute(sterna.db)

  test('a project has at most 1,000 segments, also when they are created together', async () => {
    const project = await newProject()
    await fillUp(project.id, 998)
    const answers = await Promise.all(times(5, () => project.call('POST', '/segments', { name: 'One more', type: 'STATIC' })))
    expect(statuses(answers)).toEqual([201, 201, 409, 409, 409])
    const { body } = await project.call('GET', '/segments')
    expect(body).toHaveLength(1_000)
    expect((await project.call('POST', `/segments/${body[0].id}/duplicate`)).status).toBe(409)
  })

  test('a project tracks at most 200 segments', async () => {
    const project = await newProject()
    await fillUp(project.id, 199, { tracked: true })
    const { id } = await project.fixed({ trackMembership: true })
    expect(outcome(await project.call('POST', '/segments', { name: 'T', type: 'STATIC', trackMembership: true }))).toEqual([
      409,
      'CONFLICT',
    ])
    const untracked = await project.fixed()
    expect(outcome(await project.patch(untracked.id, { trackMembership: true }))).toEqual([409, 'CONFLICT'])
    expect((await project.get(untracked.id)).trackMembership).toBe(false)
    expect((await project.patch(id, { trackMembership: false })).status).toBe(200)
    expect((await project.patch(untracked.id, { trackMembership: true })).status).toBe(200)
  })

  test('a project tracks at most 50 segments with time windows on data or updatedAt', async () => {
    const project = await newProject()
    const window = all(filter('data.renewal', 'within', 7, 'days'))
    await fillUp(project.id, 50, { tracked: true, condition: window })
    const create = (condition: object) => project.call('POST', '/segments', { name: 'T', condition, trackMembership: true })
    expect(outcome(await create(window))).toEqual([409, 'CONFLICT'])
    expect(outcome(await create(all(filter('updatedAt', 'olderThan', 1, 'hours'))))).toEqual([409, 'CONFLICT'])
    const plain = await create(all(isPro))
    expect(plain.status).toBe(201)
    expect(outcome(await project.patch(plain.body.id, { condition: window }))).toEqual([409, 'CONFLICT'])
    expect((await create(all(filter('event.login', 'triggeredWithin', 7, 'days')))).status).toBe(201)
  })
})

test('a segment of another project is a 404 for every request', async () => {
  const [project, other] = [await newProject(), await newProject()]
  const { id } = await other.fixed()
  const contact = await project.add('ada')
  const requests: [string, string, object?][] = [
    ['GET', `/segments/${id}`],
    ['PATCH', `/segments/${id}`, { name: 'Mine' }],
    ['DELETE', `/segments/${id}`],
    ['POST', `/segments/${id}/duplicate`],
    ['POST', `/segments/${id}/refresh`],
    ['GET', `/segments/${id}/contacts`],
    ['POST', `/segments/${id}/members`, { emails: ['ada@example.com'] }],
    ['DELETE', `/segments/${id}/members`, { emails: ['ada@example.com'] }],
    ['GET', `/segments/${id}/explain/${contact.id}`],
    ['GET', `/contacts?segmentId=${id}`],
    ['POST', '/contacts/bulk-unsubscribe', { mode: 'query', filter: { segmentId: id } }],
    ['POST', '/contacts/bulk-add-to-segment', { segmentId: id, contactIds: [contact.id] }],
  ]
  for (const [method, url, body] of requests)
    expect([method, url, ...outcome(await project.call(method, url, body))]).toEqual([method, url, 404, 'RESOURCE_NOT_FOUND'])
  const condition = all(filter(`segment.${id}`, 'memberOfSegment'))
  expect(fields(await project.call('POST', '/segments', { name: 'A', condition }))).toEqual(['condition.groups.0.filters.0.field'])
  expect((await other.get(id)).name).toBe('Static')
})

test('changes of segments wait for a transaction that refers to one', async () => {
  const project = await newProject()
  const { id } = await project.fixed()
  let removing: Promise<unknown> | undefined
  await transact(sterna.db, async (tx) => {
    await lockSegments(tx, project.id)
    removing = project.remove(id)
    await eventually(async () => {
      const waiting = await many(sterna.db, sql`select 1 from pg_locks where locktype = 'advisory' and not granted`)
      expect(waiting).toHaveLength(1)
    })
    expect(await many(tx, sql`select 1 from segments where project_id = ${project.id} and id = ${id}`)).toHaveLength(1)
  })
  expect(await removing).toMatchObject({ status: 204 })
})
