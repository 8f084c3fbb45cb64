import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { countStaleSegments } from '../../src/segments/evaluation/counts.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { all, filter, newSegmentProject, type Segment } from './segment-project.ts'

const sterna = useSharedApp()
const newProject = () => newSegmentProject(sterna)

const age = (id: string, seconds: number) =>
  sql`update segments set counted_at = counted_at - make_interval(secs => ${seconds}) where id = ${id}`.execute(sterna.db)

describe('the count of members', () => {
  test('is stored: reading it does not count again while it is recent', async () => {
    const project = await newProject()
    const { id, countedAt } = await project.dynamic()
    await project.add('ada', { plan: 'pro' })
    expect(await project.get(id)).toMatchObject({ memberCount: 0, countedAt })
  })

  test('is refreshed in the background when an old one is read', async () => {
    const project = await newProject()
    const { id } = await project.dynamic()
    await project.add('ada', { plan: 'pro' })
    await age(id, 60)
    expect((await project.get(id)).memberCount).toBe(0)
    await eventually(async () => expect(await project.get(id)).toMatchObject({ memberCount: 1, countEstimated: false }))
  })

  test('of all segments is refreshed when an old list is read', async () => {
    const project = await newProject()
    const segments = [await project.dynamic(), await project.dynamic(all(filter('email', 'contains', 'ada')))]
    await project.add('ada', { plan: 'pro' })
    for (const { id } of segments) await age(id, 60)
    await eventually(async () => {
      const { body } = await project.call('GET', '/segments')
      expect(body.map(({ memberCount }: Segment) => memberCount)).toEqual([1, 1])
    })
  })

  test('is refreshed less often if it takes long', async () => {
    const project = await newProject()
    const { id } = await project.dynamic()
    await project.add('ada', { plan: 'pro' })
    await sql`update segments set count_ms = 5000 where id = ${id}`.execute(sterna.db)
    await age(id, 60)
    await countStaleSegments(sterna.db, { projectId: project.id })
    expect((await project.get(id)).memberCount).toBe(0)
    await age(id, 500)
    await countStaleSegments(sterna.db, { projectId: project.id })
    expect((await project.get(id)).memberCount).toBe(1)
  })

  test('does not change the revision of the segment', async () => {
    const project = await newProject()
    const { id, updatedAt } = await project.dynamic()
    await project.call('POST', `/segments/${id}/refresh`)
    expect((await project.get(id)).updatedAt).toBe(updatedAt)
  })
})

describe('refreshing a count', () => {
  test('counts now, writes no membership and records no event', async () => {
    const project = await newProject()
    const { id } = await project.dynamic()
    await project.add('ada', { plan: 'pro' })
    const { status, body } = await project.call('POST', `/segments/${id}/refresh`)
    expect([status, body]).toEqual([200, { memberCount: 1 }])
    expect((await project.get(id)).memberCount).toBe(1)
    expect(await project.events.names()).toEqual([])
  })

  test('works in a disabled project, and so does a preview', async () => {
    const project = await newProject()
    const { id, condition } = await project.dynamic()
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect((await project.call('POST', `/segments/${id}/refresh`)).status).toBe(200)
    expect((await project.call('POST', '/segments/preview', { condition })).status).toBe(200)
    expect(outcome(await project.patch(id, { name: 'N' }))).toEqual([403, 'PROJECT_DISABLED'])
  })
})
