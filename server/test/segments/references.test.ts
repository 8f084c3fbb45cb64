import { describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { all, filter, isPro, memberOf, newSegmentProject } from './segment-project.ts'

const sterna = useSharedApp()
const newProject = () => newSegmentProject(sterna)

const FIRST_FILTER = 'condition.groups.0.filters.0.field'
/** A condition of many filters. */
const wide = (filters: number) => all(...times(filters, (n) => filter('data.n', 'notEquals', n)))

describe('a condition on another segment', () => {
  test('selects the members of a static and of a dynamic segment', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    await project.add('bob', { plan: 'pro' })
    await project.add('eve')
    const [list, pro] = [await project.fixed(), await project.dynamic()]
    await project.addMembers(list.id, ['bob@example.com', 'eve@example.com'])
    const both = await project.dynamic(all(memberOf(list), memberOf(pro)))
    const others = await project.dynamic(all(filter(`segment.${list.id}`, 'notMemberOfSegment')))
    expect(await project.members(both.id)).toEqual(['bob'])
    expect(await project.members(others.id)).toEqual(['ada'])
    expect([both.memberCount, others.memberCount]).toEqual([1, 1])
  })

  test('follows a change of that segment', async () => {
    const project = await newProject()
    await project.add('ada', { plan: 'pro' })
    const inner = await project.dynamic()
    const outer = await project.dynamic(all(memberOf(inner)))
    await project.patch(inner.id, { condition: all(filter('data.plan', 'equals', 'free')) })
    expect(await project.members(outer.id)).toEqual([])
  })
})

describe('a cycle is refused', () => {
  test('of one segment', async () => {
    const project = await newProject()
    const segment = await project.dynamic()
    const answer = await project.patch(segment.id, { condition: all(memberOf(segment)) })
    expect([answer.status, issues(answer)]).toEqual([422, [[FIRST_FILTER, 'custom']]])
  })

  test('of three segments', async () => {
    const project = await newProject()
    const a = await project.dynamic()
    const b = await project.dynamic(all(memberOf(a)))
    const c = await project.dynamic(all(memberOf(b)))
    const answer = await project.patch(a.id, { condition: all(memberOf(c)) })
    expect([answer.status, issues(answer)]).toEqual([422, [[FIRST_FILTER, 'custom']]])
    expect((await project.get(a.id)).condition).toEqual(all(isPro))
  })

  test('made by two edits at the same moment', async () => {
    const project = await newProject()
    const [a, b] = [await project.dynamic(), await project.dynamic()]
    const answers = await Promise.all([
      project.patch(a.id, { condition: all(memberOf(b)) }),
      project.patch(b.id, { condition: all(memberOf(a)) }),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422])
  })
})

describe('with its segments in-lined', () => {
  test('a condition has at most 500 filters', async () => {
    const project = await newProject()
    const inner = await project.dynamic(wide(100))
    const ok = await project.call('POST', '/segments', { name: 'A', condition: all(...times(4, () => memberOf(inner))) })
    const tooWide = await project.call('POST', '/segments', { name: 'B', condition: all(...times(5, () => memberOf(inner))) })
    expect([ok.status, tooWide.status, issues(tooWide)]).toEqual([201, 422, [['condition', 'too_big']]])
  })

  test('an edit is refused if it makes a segment that refers to it too wide', async () => {
    const project = await newProject()
    const inner = await project.dynamic(wide(10))
    const middle = await project.dynamic(all(...times(6, () => memberOf(inner))))
    await project.dynamic(all(memberOf(middle)), { name: 'Outer' })
    const answer = await project.patch(inner.id, { condition: wide(100) })
    expect([answer.status, issues(answer)]).toEqual([422, [['condition', 'too_big']]])
    expect(answer.body.error.errors[0].message).toContain('refers to this one')
    expect((await project.get(inner.id)).condition).toEqual(wide(10))
    expect((await project.patch(inner.id, { condition: wide(50) })).status).toBe(200)
  })

  test('a chain of references that doubles at each step is refused quickly', async () => {
    const project = await newProject()
    let last = await project.dynamic(all(isPro, isPro))
    let status = 201
    for (let step = 0; step < 20 && status === 201; step++) {
      const answer = await project.call('POST', '/segments', { name: `Step ${step}`, condition: all(memberOf(last), memberOf(last)) })
      status = answer.status
      last = answer.body
    }
    expect(status).toBe(422)
  })
})

describe('deleting a segment that another one refers to', () => {
  test('is refused, and the answer names that segment', async () => {
    const project = await newProject()
    const inner = await project.fixed()
    const outer = await project.dynamic(all(memberOf(inner)), { name: 'Outer' })
    const answer = await project.remove(inner.id)
    expect(outcome(answer)).toEqual([409, 'CONFLICT'])
    expect(answer.body.error.details).toEqual({ usedBy: [{ type: 'segment', id: outer.id, name: 'Outer' }] })
    await project.remove(outer.id)
    expect((await project.remove(inner.id)).status).toBe(204)
  })

  test('is refused also by a reference in capital letters, and one deep in the condition', async () => {
    const project = await newProject()
    const inner = await project.fixed()
    const reference = filter(`segment.${inner.id.toUpperCase()}`, 'memberOfSegment')
    await project.dynamic({ logic: 'OR', groups: [{ filters: [isPro] }, { filters: [], conditions: all(reference) }] })
    expect((await project.remove(inner.id.toUpperCase())).status).toBe(409)
  })

  test('and a reference made in the same moment: only one of them succeeds', async () => {
    const project = await newProject()
    for (let round = 0; round < 5; round++) {
      const inner = await project.fixed()
      const [made, removed] = await Promise.all([
        project.call('POST', '/segments', { name: 'Outer', condition: all(memberOf(inner)) }),
        project.remove(inner.id),
      ])
      expect([
        [201, 409],
        [422, 204],
      ]).toContainEqual([made.status, removed.status])
    }
  })
})
