import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { all, filter, memberOf, newSegmentProject } from './segment-project.ts'

const sterna = useSharedApp()

/** A project with static, dynamic and tracked segments, with members. */
async function newFullProject() {
  const project = await newSegmentProject(sterna)
  const list = await project.fixed({ trackMembership: true })
  await project.addMembers(
    list.id,
    times(20, (n) => `m${n}@example.com`),
    { createMissing: true },
  )
  const pro = await project.dynamic(all(filter('data.until', 'notExists')), { trackMembership: true })
  await project.dynamic(all(memberOf(pro), memberOf(list), filter('data.until', 'within', 7, 'days')), { trackMembership: true })
  await eventually(async () => expect(await rowsOf('segment_members', project.id)).toHaveLength(40))
  return project
}

const rowsOf = (table: string, projectId: string) => many(sterna.db, sql`select 1 from ${sql.table(table)} where project_id = ${projectId}`)

const TABLES = ['segments', 'segment_members', 'tracked_segments', 'segment_due', 'listeners', 'reactions', 'contacts', 'events']

test.each([
  ['a reset', 'POST', '/reset'],
  ['the deletion', 'DELETE', ''],
])('%s of a project removes its segments, members and listeners', async (_, method, path) => {
  const [project, other] = [await newFullProject(), await newFullProject()]
  const answer = await project.owner.call(method, `/users/@me/projects/${project.id}${path}`)
  expect(answer.status).toBeLessThan(300)
  await eventually(async () => {
    const left = await Promise.all(TABLES.map(async (table) => [table, (await rowsOf(table, project.id)).length]))
    expect(left).toEqual(TABLES.map((table) => [table, 0]))
    expect(await many(sterna.db, sql`select 1 from project_wipes`)).toEqual([])
  })
  expect(await rowsOf('segments', other.id)).toHaveLength(3)
  expect(await rowsOf('segment_members', other.id)).toHaveLength(40)
})

test('segments can be created again after a reset, with the same slug', async () => {
  const project = await newFullProject()
  await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
  await eventually(async () => expect(await many(sterna.db, sql`select 1 from project_wipes`)).toEqual([]))
  const { id, slug } = await project.fixed()
  expect(slug).toBe('static')
  await project.addMembers(id, ['a@example.com'], { createMissing: true })
  expect(await project.members(id)).toEqual(['a'])
})
