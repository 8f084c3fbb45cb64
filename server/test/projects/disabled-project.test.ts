import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { newSendingProject } from '../support/project.ts'
import { useTeams } from './team-client.ts'

const { sterna, from, projectsOf } = useTeams()
let project: Awaited<ReturnType<typeof newSendingProject>>
let template: string
beforeAll(async () => {
  project = await newSendingProject(sterna)
  template = await project.template()
  await project.call('POST', '/contacts', { email: 'ada@example.com' })
  await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
})

test('a disabled project may use the reads that are POST requests', async () => {
  const reads: [string, object][] = [
    ['/v1/verify', { email: 'not an address' }],
    ['/contacts/lookup', { emails: ['ada@example.com'] }],
    [`/templates/${template}/preview`, {}],
    [`/templates/${template}/lint`, {}],
    ['/templates/lint', { subject: 'x', body: 'x' }],
  ]
  for (const [url, body] of reads) expect([url, outcome(await project.call('POST', url, body))]).toEqual([url, [200]])
})

test('a disabled project may not write', async () => {
  const writes: [string, string, object?][] = [
    ['POST', '/v1/send', project.sendBody()],
    ['POST', '/contacts', { email: 'new@example.com' }],
    ['POST', '/templates', { name: 'T', subject: 'S', body: 'B', type: 'TRANSACTIONAL' }],
    ['PATCH', `/templates/${template}`, { name: 'Other' }],
    ['POST', `/templates/${template}/duplicate`],
    ['POST', '/domains', { domain: 'other.example' }],
    ['POST', '/suppressions', { address: 'ada@example.com' }],
    ['POST', '/events/track', { name: 'x' }],
  ]
  for (const [method, url, body] of writes)
    expect([url, outcome(await project.call(method, url, body))]).toEqual([url, [403, 'PROJECT_DISABLED']])
  expect(outcome(await project.track({ email: 'ada@example.com', event: 'x' }))).toEqual([403, 'PROJECT_DISABLED'])
})

test('the settings, keys and members of a disabled project can be changed by its members', async () => {
  const { owner, id } = project
  expect(outcome(await owner.call('PATCH', `/users/@me/projects/${id}`, { body: { name: 'Renamed' } }))).toEqual([200])
  expect(
    outcome(await owner.call('POST', `/projects/${id}/members`, { body: { email: 'new@example.com', role: 'MEMBER' } }))[0],
  ).toBeLessThan(300)
  expect(outcome(await owner.call('POST', `/users/@me/projects/${id}/reset`))).toEqual([200])
  expect(outcome(await owner.call('POST', `/users/@me/projects/${id}/regenerate-keys`))).toEqual([200])
})

describe('a disabled project', () => {
  async function newDisabled() {
    const project = await sterna.newProject()
    await sql`update projects set disabled = true, disabled_reason = 'EMAIL_REPUTATION' where id = ${project.id}`.execute(sterna.db)
    return project
  }

  test('is read-only for keys and sessions', async () => {
    const project = await newDisabled()
    const byKey = { key: project.sk }
    const bySession = { cookie: project.owner.cookie, headers: { 'x-project-id': project.id } }

    expect((await sterna.call('GET', '/probe/secret', byKey)).status).toBe(200)
    for (const caller of [byKey, bySession]) {
      expect((await sterna.call('GET', '/probe/project', caller)).status).toBe(200)
      expect(outcome(await sterna.call('POST', '/probe/project', { ...caller, body: {} }))).toEqual([403, 'PROJECT_DISABLED'])
    }
    expect(outcome(await sterna.call('POST', '/probe/once', { ...byKey, body: {} }))).toEqual([403, 'PROJECT_DISABLED'])
    expect(outcome(await sterna.call('POST', '/probe/track', { key: project.pk, body: {} }))).toEqual([403, 'PROJECT_DISABLED'])
  })

  test('shows the reason to its members and works again when enabled', async () => {
    const project = await newDisabled()
    expect(await projectsOf(project.owner)).toMatchObject([{ disabled: true, disabledReason: 'EMAIL_REPUTATION' }])
    await sql`update projects set disabled = false where id = ${project.id}`.execute(sterna.db)
    expect((await sterna.call('POST', '/probe/project', { key: project.sk, body: {} })).status).toBe(200)
  })

  test('does not affect other projects', async () => {
    const person = await sterna.newPerson()
    const [one, two] = [await sterna.newProject(person), await sterna.newProject(person)]
    await sql`update projects set disabled = true where id = ${one.id}`.execute(sterna.db)
    expect((await sterna.call('POST', '/probe/project', { key: two.sk, body: {} })).status).toBe(200)
  })

  test('refuses a wrong kind of key without revealing that it is disabled', async () => {
    const project = await newDisabled()
    expect(outcome(await sterna.call('POST', '/probe/project', { key: project.pk, body: {}, headers: from() }))).toEqual([
      401,
      'INVALID_API_KEY',
    ])
  })
})
