import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fields } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { all, filter, isPro, memberOf, newSegmentProject } from './segment-project.ts'

const sterna = useApp({ withWorker: false, env: { RATE_LIMIT_PER_MINUTE: '0' } })

async function newProject() {
  const project = await newSegmentProject(sterna)
  return {
    ...project,
    preview: async (condition: unknown) => (await project.call('POST', '/segments/preview', { condition })).body,
    suppress: (body: object) => project.call('POST', '/suppressions', body),
  }
}

const remaining = ({ perFilter }: { perFilter: { path: string; remaining: number }[] }) =>
  perFilter.map((each) => [each.path, each.remaining])

describe('a preview', () => {
  test('counts the matching contacts, and after each filter of a group those that remain', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro', age: 40 })
    await project.add('bob', { plan: 'pro', age: 20 })
    await project.add('eve', { plan: 'free', age: 50 })
    await project.add('joe')
    await project.track({ email: 'ada@example.com', event: 'login' })
    const isOld = filter('data.age', 'greaterThan', 30)
    const preview = await project.preview({
      logic: 'OR',
      groups: [
        { filters: [isPro, isOld, filter('event.login', 'triggered')] },
        { filters: [filter('data.age', 'notExists')], conditions: all(filter('email', 'contains', 'joe'), isPro) },
      ],
    })
    expect(preview).toMatchObject({ count: 1, estimated: false, mailable: 1 })
    expect(remaining(preview)).toEqual([
      ['groups.0.filters.0', 2],
      ['groups.0.filters.1', 1],
      ['groups.0.filters.2', 1],
      ['groups.1.filters.0', 1],
      ['groups.1.conditions.groups.0.filters.0', 1],
      ['groups.1.conditions.groups.0.filters.1', 0],
    ])
    expect(preview.perFilter[1]).toEqual({ path: 'groups.0.filters.1', field: 'data.age', operator: 'greaterThan', remaining: 1 })
    expect(preview.sample).toEqual([await project.contacts.find('ada@example.com')])
  })

  test('counts as mailable who is subscribed and not suppressed, by address or domain', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    await project.add('bounced', { plan: 'pro' })
    await project.contacts.create('out@example.com', { subscribed: false, data: { plan: 'pro' } })
    await project.contacts.create('x@blocked.example', { data: { plan: 'pro' } })
    await project.contacts.create('free@example.com')
    await project.suppress({ address: 'bounced@example.com' })
    await project.suppress({ domain: 'blocked.example' })
    expect(await project.preview(all(isPro))).toMatchObject({ count: 4, mailable: 1 })
  })

  test('shows the five newest contacts', async () => {
    const project = await newProject()
    for (const n of times(7, String)) await project.add(`c${n}`, { plan: 'pro' })
    const preview = await project.preview(all(isPro))
    expect([preview.count, project.names({ data: preview.sample })]).toEqual([7, ['c6', 'c5', 'c4', 'c3', 'c2']])
  })

  test('in-lines segments, each as one filter', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    await project.add('bob', { plan: 'pro' })
    const [pro, list] = [await project.dynamic(), await project.fixed()]
    await project.addMembers(list.id, ['ada@example.com'])
    const preview = await project.preview(all(memberOf(pro), memberOf(list)))
    expect([preview.count, remaining(preview)]).toEqual([
      1,
      [
        ['groups.0.filters.0', 2],
        ['groups.0.filters.1', 1],
      ],
    ])
  })

  test('of an empty project is all zeros', async () => {
    const project = await newProject()
    expect(await project.preview(all(isPro))).toEqual({
      count: 0,
      estimated: false,
      mailable: 0,
      perFilter: [{ path: 'groups.0.filters.0', field: 'data.plan', operator: 'equals', remaining: 0 }],
      sample: [],
    })
  })

  test('of more than 20 filters is exact in a small project', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    const preview = await project.preview(all(...times(30, () => isPro)))
    expect(preview).toMatchObject({ count: 1, estimated: false })
    expect(preview.perFilter).toHaveLength(30)
  })

  test('sees the contacts of its own project only', async () => {
    const [project, other] = [await newProject(), await newProject()]
    await other.add('ada', { plan: 'pro' })
    expect(await project.preview(all(isPro))).toMatchObject({ count: 0, sample: [] })
  })

  test('stores nothing', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    const before = await sterna.digest()
    await project.preview(all(isPro))
    expect(await sterna.digest()).toEqual(before)
  })
})

test.each<[string, unknown, string]>([
  ['no condition', undefined, 'condition'],
  ['a text', 'x', 'condition'],
  ['no groups', { logic: 'AND', groups: [] }, 'condition.groups'],
  ['an unknown segment', all(filter(`segment.${randomUUID()}`, 'memberOfSegment')), 'condition.groups.0.filters.0.field'],
])('a preview of %s is a 422 that names the field', async (_, condition, field) => {
  const project = await newProject()
  const answer = await project.call('POST', '/segments/preview', { condition })
  expect([answer.status, fields(answer)]).toEqual([422, [field]])
})
