import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()

let project: Awaited<ReturnType<typeof newSendingProject>>
beforeAll(async () => {
  project = await newSendingProject(sterna)
})

const patch = (id: string, changes: object) => project.call('PATCH', `/templates/${id}`, changes)
const restore = (id: string, version: number | string, headers: Record<string, string> = {}) =>
  project.call('POST', `/templates/${id}/versions/${version}/restore`, undefined, headers)

async function versions(id: string): Promise<{ version: number; subject: string; isCurrent: boolean; savedBy: string | null }[]> {
  const answer = await project.call('GET', `/templates/${id}/versions`)
  expect(outcome(answer)).toEqual([200])
  return answer.body.data
}
const subjects = async (id: string) => (await versions(id)).map(({ version, subject }) => `${version} ${subject}`)

test('every change of the content is a version; other and equal changes are none', async () => {
  const id = await project.template({ subject: 'one', body: '<p>B</p>' })
  await patch(id, { subject: 'two' })
  await patch(id, { name: 'Renamed', description: 'x' })
  await patch(id, { subject: 'two', body: '<p>B</p>' })
  await patch(id, { subject: 'three', fromName: 'Shop' })
  expect(await subjects(id)).toEqual(['3 three', '2 two', '1 one'])
  expect((await versions(id)).map(({ isCurrent }) => isCurrent)).toEqual([true, false, false])
  expect((await project.call('GET', `/templates/${id}`)).body.version).toBe(3)
})

test('a version has its body, and who saved it', async () => {
  const id = await project.template({ body: '<p>old</p>' })
  const headers = { 'x-project-id': project.id }
  await project.owner.call('PATCH', `/templates/${id}`, { body: { body: '<p>new</p>', fromName: 'Shop' }, headers })
  const first = (await project.call('GET', `/templates/${id}/versions/1`)).body
  const second = (await project.call('GET', `/templates/${id}/versions/2`)).body
  expect(first).toMatchObject({ version: 1, body: '<p>old</p>', bytes: 10, fromName: null, isCurrent: false, savedBy: null })
  expect(second).toMatchObject({ version: 2, body: '<p>new</p>', fromName: 'Shop', isCurrent: true, savedBy: project.owner.email })
})

test('restoring a version saves its content again, as a new one', async () => {
  const id = await project.template({ subject: 'one', body: 'first' })
  await patch(id, { subject: 'two', body: 'second' })
  const { status, body } = await restore(id, 1)
  expect([status, body.subject, body.body, body.version]).toEqual([200, 'one', 'first', 3])
  expect(await subjects(id)).toEqual(['3 one', '2 two', '1 one'])
})

test('restoring with an older revision is a 409', async () => {
  const id = await project.template({ subject: 'one', body: '<p>B</p>' })
  const { body: second } = await patch(id, { subject: 'two' })
  await patch(id, { subject: 'three' })
  expect(outcome(await restore(id, 1, { 'if-match': `"${second.updatedAt}"` }))).toEqual([409, 'CONFLICT'])
  expect(await subjects(id)).toEqual(['3 three', '2 two', '1 one'])
})

test('a stale edit makes no version', async () => {
  const id = await project.template({ subject: 'one', body: '<p>B</p>' })
  const stale = await project.call('PATCH', `/templates/${id}`, { subject: 'two' }, { 'if-match': '"2020-01-01T00:00:00.000Z"' })
  expect([stale.status, await subjects(id)]).toEqual([409, ['1 one']])
})

test('concurrent changes each have a version', async () => {
  const id = await project.template({ subject: 'start' })
  await Promise.all(Array.from({ length: 8 }, (_, n) => patch(id, { subject: `s${n}` })))
  const all = await versions(id)
  expect(all.map(({ version }) => version)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
  expect(new Set(all.map(({ subject }) => subject)).size).toBe(9)
})

test('a version whose sender is no longer verified is not restored', async () => {
  const id = await project.template({ from: `a@${project.domain}` })
  await patch(id, { from: null })
  await sql`update template_versions set from_address = 'a@elsewhere.example' where template_id = ${id}`.execute(sterna.db)
  expect(outcome(await restore(id, 1))).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
})

test('the newest 50 older versions are kept, up to 20 MB', async () => {
  const id = await project.template({ subject: 'v1' })
  await sql`
    insert into template_versions (project_id, template_id, version, subject, body, type, saved_at)
    select ${project.id}, ${id}, n, 'v' || n, case when n > 55 then repeat('x', 100) else '' end, 'MARKETING', now() from generate_series(1, 60) as n
  `.execute(sterna.db)
  await sql`update templates set version = 61 where id = ${id}`.execute(sterna.db)
  await patch(id, { subject: 'newest' })
  expect((await versions(id)).map(({ version }) => version)).toEqual(Array.from({ length: 51 }, (_, n) => 62 - n))
  await sql`update template_versions set body = repeat('x', 11 * 1024 * 1024) where template_id = ${id} and version in (60, 59)`.execute(
    sterna.db,
  )
  await patch(id, { subject: 'newer' })
  expect((await versions(id)).map(({ version }) => version)).toEqual([63, 62, 61, 60])
})

test('an email names the version it was sent with', async () => {
  const id = await project.template({ subject: 'one', from: `hello@${project.domain}` })
  const use = { template: id, from: undefined, subject: undefined, body: undefined }
  const first = await project.sent(use)
  await patch(id, { subject: 'two' })
  const second = await project.sent(use)
  expect([first.templateVersion, second.templateVersion, (await project.sent()).templateVersion]).toEqual([1, 2, null])
})

test('an unknown version, and that of a foreign or deleted template, is a 404', async () => {
  const id = await project.template()
  for (const version of ['0', '2', '-1', 'x', '1.0', '99999999999999999999'])
    expect([version, (await project.call('GET', `/templates/${id}/versions/${version}`)).status]).toEqual([version, 404])
  const other = await newSendingProject(sterna)
  for (const path of ['versions', 'versions/1']) expect((await other.call('GET', `/templates/${id}/${path}`)).status).toBe(404)
  expect((await other.call('POST', `/templates/${id}/versions/1/restore`)).status).toBe(404)
  await patch(id, { subject: 'two' })
  await project.call('DELETE', `/templates/${id}`)
  expect(await many(sterna.db, sql`select 1 from template_versions where template_id = ${id}`)).toEqual([])
})
