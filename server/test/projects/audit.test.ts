import { readFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { dropOldAuditEntries } from '../../src/http/audit.ts'
import { newId } from '../../src/lib/id.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

const sterna = useSharedApp()
type Project = Awaited<ReturnType<typeof sterna.newProject>>
type Entry = { id: string; action: string; actor: object; target: object; changes: object[] }

const audit = async ({ owner, id }: Project, query = '') => (await owner.call('GET', `/projects/${id}/audit${query}`)).body
const actions = async (project: Project, query = '') => (await audit(project, query)).data.map(({ action }: Entry) => action)
const asOwner = (project: Project, method: string, url: string, body?: unknown) =>
  project.owner.call(method, url, { headers: { 'x-project-id': project.id }, ...(body === undefined ? {} : { body }) })
const template = { name: 'Welcome', subject: 'S', body: 'B', type: 'TRANSACTIONAL' }

test('a change is listed with its actor, target, fields and network', async () => {
  const project = await sterna.newProject()
  const { body: created } = await asOwner(project, 'POST', '/templates', template)
  await project.call('PATCH', `/templates/${created.id}`, { subject: 'Changed' })
  const { data, total } = await audit(project, '?action=template')
  expect(total).toBe(2)
  expect(data).toMatchObject([
    {
      action: 'template.update',
      actor: { type: 'key', id: null, name: null },
      target: { type: 'template', id: created.id, name: 'Welcome' },
      changes: [{ field: 'subject' }],
      network: '127.0.0.1',
    },
    {
      action: 'template.create',
      actor: { type: 'user', id: project.owner.id, name: project.owner.email },
      target: { type: 'template', id: created.id, name: 'Welcome' },
      changes: Object.keys(template).map((field) => ({ field })),
    },
  ])
  expect(await actions(project)).toEqual(['template.update', 'template.create', 'project.create'])
})

test('values are listed only of settings', async () => {
  const project = await sterna.newProject()
  await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'DISABLED' } })
  const [entry] = (await audit(project)).data
  expect(entry).toMatchObject({ action: 'project.update', target: { id: project.id }, changes: [{ field: 'tracking', value: 'DISABLED' }] })
})

test('targets are names and ids, not links with tokens; URLs of settings have no query', async () => {
  const project = await sterna.newProject()
  const path = `/projects/${project.id}`
  const { body: invited } = await project.owner.call('POST', `${path}/members`, { body: { email: 'bob@example.com', role: 'MEMBER' } })
  expect(invited.status).toBe('INVITED')
  const [{ id }] = (await project.owner.call('GET', `${path}/invitations`)).body
  const { body: link } = await project.owner.call('POST', `${path}/invitations/${id}/link`)
  expect(link).toEqual({ url: expect.stringContaining('token=') })
  const url = 'https://hooks.example.com/in?token=TOKEN'
  const { body: endpoint } = await asOwner(project, 'POST', '/webhook-endpoints', { url, events: ['*'] })
  expect(endpoint.url).toBe(url)
  await asOwner(project, 'DELETE', `/webhook-endpoints/${endpoint.id}`)
  const { data } = await audit(project)
  expect(data).toMatchObject([
    { action: 'webhook_endpoint.delete', target: { id: endpoint.id, name: 'hooks.example.com' } },
    {
      action: 'webhook_endpoint.create',
      target: { id: endpoint.id, name: 'hooks.example.com' },
      changes: expect.arrayContaining([{ field: 'url', value: 'https://hooks.example.com/in?•••' }]),
    },
    { action: 'invitation.link', target: { id, name: 'bob@example.com' } },
    { action: 'member.invite' },
    { action: 'project.create' },
  ])
  const csv = (await project.owner.call('GET', `${path}/audit?format=csv`)).body
  for (const text of [JSON.stringify(data), csv]) expect(text).not.toMatch(/token=|TOKEN/)
})

test('a migration removes links and tokens from older entries', async () => {
  const project = await sterna.newProject()
  const insert = (action: string, targetName: string | null, changes: object[] = []) =>
    sql`
    insert into audit_entries (project_id, id, actor_type, action, target_type, target_name, changes)
    values (${project.id}, ${newId()}, 'system', ${action}, ${action.split('.')[0]!}, ${targetName}, ${JSON.stringify(changes)}::jsonb)
  `.execute(sterna.db)
  await insert('invitation.link', 'http://localhost:3000/accept-invitation?token=TOKEN&email=bob%40example.com')
  await insert('webhook_endpoint.create', 'https://hooks.example.com:8443/in?token=TOKEN', [
    { field: 'url', value: 'https://hooks.example.com:8443/in?token=TOKEN' },
    { field: 'description', value: 'What is https://example.com/?a' },
    { field: 'events', value: ['*'] },
    { field: 'headers' },
  ])
  await insert('template.update', 'Welcome', [{ field: 'subject' }])
  const migration = await readFile(new URL('../../src/db/migrations/0084_audit_names.sql', import.meta.url), 'utf8')
  await sql.raw(migration).execute(sterna.db)
  const rows = await many<{ action: string; name: string | null; changes: object[] }>(sterna.db)`
    select action, target_name as name, changes from audit_entries where project_id = ${project.id} and actor_type = 'system' order by action
  `
  expect(rows).toEqual([
    { action: 'invitation.link', name: null, changes: [] },
    { action: 'template.update', name: 'Welcome', changes: [{ field: 'subject' }] },
    {
      action: 'webhook_endpoint.create',
      name: 'hooks.example.com:8443',
      changes: [
        { field: 'url', value: 'https://hooks.example.com:8443/in?•••' },
        { field: 'description', value: 'What is https://example.com/?a' },
        { field: 'events', value: ['*'] },
        { field: 'headers' },
      ],
    },
  ])
})

test('a refused change, and one that is rolled back, is not listed', async () => {
  const project = await sterna.newProject()
  await project.call('POST', '/templates', { ...template, from: 'x@unverified.example' })
  const { body } = await project.call('POST', '/templates', template)
  await project.call('PATCH', `/templates/${body.id}`, { subject: 'x' }, { 'if-match': '"2020-01-01T00:00:00.000Z"' })
  await project.call('DELETE', '/domains/6ba7b810-9dad-11d1-80b4-00c04fd430c8')
  expect(await actions(project)).toEqual(['template.create', 'project.create'])
})

test('a request that shares a recomputation is not listed', async () => {
  const project = await sterna.newProject()
  const condition = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] }
  const segment = { name: 'S', type: 'DYNAMIC', condition, trackMembership: true }
  const { body } = await project.call('POST', '/segments', segment)
  const compute = () => project.call('POST', `/segments/${body.id}/compute`)
  const unfinished = sql`select from jobs where project_id = ${project.id} and finished_at is null`
  await eventually(async () => expect((await unfinished.execute(sterna.db)).rows).toEqual([]))
  expect((await compute()).status).toBe(200)
  const running = await one<{ id: string }>(sterna.db)`
    insert into jobs (project_id, id, type, input)
    values (${project.id}, gen_random_uuid(), 'compute-segment', ${JSON.stringify({ segmentId: body.id })}::jsonb) returning id
  `
  const sharing = compute()
  await sql`
    update jobs set state = 'completed', finished_at = now(), result = '{"added": 7, "removed": 0, "total": 7}' where id = ${running.id}
  `.execute(sterna.db)
  const shared = await sharing
  // The request may have come after the end of the other run, and made its own.
  const expected = shared.body.added === 7 ? 1 : 2
  expect((await actions(project)).filter((action: string) => action === 'segment.compute')).toHaveLength(expected)
})

test('contacts are named by id, and listed only if a person changed them', async () => {
  const project = await sterna.newProject()
  const ada = await project.contacts.create('ada@example.com')
  await project.contacts.update(ada.id, { subscribed: false })
  await asOwner(project, 'PATCH', `/contacts/${ada.id}`, { data: { plan: 'pro' } })
  await asOwner(project, 'POST', '/suppressions', { address: 'grace@example.com' })
  const { body: bea } = await asOwner(project, 'POST', '/contacts', { email: 'bea@example.com' })
  const { data } = await audit(project)
  expect(data).toMatchObject([
    { action: 'contact.create', target: { type: 'contact', id: bea.id, name: null }, changes: [{ field: 'email' }] },
    { action: 'suppression.create', target: { type: 'suppression', id: null, name: null }, changes: [{ field: 'address' }] },
    { action: 'contact.update', target: { type: 'contact', id: ada.id, name: null }, changes: [{ field: 'data' }] },
    { action: 'project.create' },
  ])
  expect(JSON.stringify(data)).not.toMatch(/ada@|bea@|grace@|pro"/)
})

test('entries are filtered by actor and action, paged, and downloaded as CSV', async () => {
  const project = await sterna.newProject()
  for (const name of ['=A', 'B', 'C']) await project.call('POST', '/templates', { ...template, name })
  await asOwner(project, 'POST', '/segments', { name: 'S', type: 'STATIC' })
  expect(await actions(project, `?actor=${project.owner.id}`)).toEqual(['segment.create', 'project.create'])
  expect(await actions(project, '?action=template.create')).toHaveLength(3)
  expect(await actions(project, '?action=templat')).toEqual([])
  const first = await audit(project, '?limit=2&action=template')
  const second = await audit(project, `?limit=2&action=template&cursor=${encodeURIComponent(first.cursor)}`)
  expect([...first.data, ...second.data].map(({ target }) => target.name)).toEqual(['C', 'B', '=A'])
  expect((await project.owner.call('GET', `/projects/${project.id}/audit?cursor=${encodeURIComponent(first.cursor)}`)).status).toBe(400)
  const { body, headers } = await project.owner.call('GET', `/projects/${project.id}/audit?action=template&format=csv`)
  expect(headers['content-type']).toMatch('text/csv')
  expect(parse<Record<string, string>>(body, { columns: true }).map((row) => [row.action, row.targetName, row.actorType])).toEqual(
    ['C', 'B', "'=A"].map((name) => ['template.create', name, 'key']),
  )
})

test('only an owner or admin reads them, and none of another project', async () => {
  const [project, other] = [await sterna.newProject(), await sterna.newProject()]
  expect((await other.owner.call('GET', `/projects/${project.id}/audit`)).status).toBe(404)
  const member = await sterna.newPerson({ verified: true })
  await sql`insert into memberships (project_id, user_id, role) values (${project.id}, ${member.id}, 'MEMBER')`.execute(sterna.db)
  expect((await member.call('GET', `/projects/${project.id}/audit`)).status).toBe(403)
})

test('they survive a reset, and go after 400 days', async () => {
  const project = await sterna.newProject()
  await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
  expect(await actions(project)).toEqual(['project.reset', 'project.create'])
  await sql`
    update audit_entries set created_at = now() - interval '401 days' where project_id = ${project.id} and action = 'project.create'
  `.execute(sterna.db)
  await transact(sterna.db, (tx) => dropOldAuditEntries(tx, 100))
  expect(await actions(project)).toEqual(['project.reset'])
})
