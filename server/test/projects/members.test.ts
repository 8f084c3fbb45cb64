import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { fields, outcome } from '../support/answers.ts'
import { type Person, type Project, useTeams } from './team-client.ts'

const { sterna, newEmail, projectsOf, invite, membersOf, invitationsOf, join, settledDigest, rowsOf } = useTeams()

describe('members', () => {
  test('are listed with their roles', async () => {
    const project = await sterna.newProject()
    const { status, body } = await project.owner.call('GET', `/projects/${project.id}/members`)
    expect([status, body]).toEqual([
      200,
      [{ userId: project.owner.id, email: project.owner.email, role: 'OWNER', createdAt: expect.stringMatching(/Z$/) }],
    ])
  })

  test('lose all access when they are removed', async () => {
    const project = await sterna.newProject()
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'ADMIN')
    const byHeader = () => member.call('GET', '/probe/project', { headers: { 'x-project-id': project.id } })
    expect((await byHeader()).status).toBe(200)

    const answer = await project.owner.call('DELETE', `/projects/${project.id}/members/${member.id}`)
    expect([answer.status, answer.body]).toEqual([204, ''])
    expect(outcome(await byHeader())).toEqual([403, 'PROJECT_ACCESS_DENIED'])
    expect(outcome(await member.call('GET', `/projects/${project.id}/members`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect(outcome(await member.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect(await projectsOf(member)).toEqual([])
    expect((await member.call('GET', '/users/@me')).status).toBe(200)
  })

  test('have new permissions as soon as their role changes', async () => {
    const project = await sterna.newProject()
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'ADMIN')
    const asAdmin = () => member.call('GET', '/probe/admin', { headers: { 'x-project-id': project.id } })
    expect((await asAdmin()).status).toBe(200)

    const answer = await project.owner.call('PATCH', `/projects/${project.id}/members/${member.id}`, { body: { role: 'MEMBER' } })
    expect([answer.status, answer.body]).toEqual([
      200,
      { userId: member.id, email: member.email, role: 'MEMBER', createdAt: expect.any(String) },
    ])
    expect(outcome(await asAdmin())).toEqual([403, 'FORBIDDEN'])
    expect(await projectsOf(member)).toMatchObject([{ role: 'MEMBER', public: null, secret: null }])
  })

  test.each(['ADMIN', 'MEMBER'] as const)('with the role %s may leave', async (role) => {
    const project = await sterna.newProject()
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, role)
    expect((await member.call('DELETE', `/projects/${project.id}/members/${member.id}`)).status).toBe(204)
    expect(await projectsOf(member)).toEqual([])
  })

  test('cannot remove, demote or replace the owner, and the owner cannot leave', async () => {
    const project = await sterna.newProject()
    const admin = await sterna.newPerson({ verified: true })
    await join(project, admin, 'ADMIN')
    const path = `/projects/${project.id}/members`
    const attempts = [
      [admin, 'DELETE', `${path}/${project.owner.id}`, undefined],
      [admin, 'PATCH', `${path}/${project.owner.id}`, { role: 'MEMBER' }],
      [project.owner, 'DELETE', `${path}/${project.owner.id}`, undefined],
      [project.owner, 'PATCH', `${path}/${project.owner.id}`, { role: 'ADMIN' }],
    ] as const
    for (const [person, method, url, body] of attempts)
      expect(outcome(await person.call(method, url, { body }))).toEqual([403, 'FORBIDDEN'])

    const promotion = await admin.call('PATCH', `${path}/${admin.id}`, { body: { role: 'OWNER' } })
    expect([promotion.status, fields(promotion)]).toEqual([422, ['role']])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${admin.email} ADMIN`])
  })

  test('of other projects are not found, like unknown ids', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    for (const id of [other.owner.id, randomUUID(), 'x', '00000000-0000-0000-0000-000000000000']) {
      const url = `/projects/${project.id}/members/${id}`
      for (const answer of [await project.owner.call('DELETE', url), await project.owner.call('PATCH', url, { body: { role: 'ADMIN' } })]) {
        expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'RESOURCE_NOT_FOUND', { resource: 'member', id }])
      }
    }
    expect(await membersOf(other)).toEqual([`${other.owner.email} OWNER`])
  })
})

describe('permissions by role', () => {
  const ROLES = ['OWNER', 'ADMIN', 'MEMBER', 'STRANGER'] as const
  let people: Record<(typeof ROLES)[number], Person>
  let target: Person

  beforeAll(async () => {
    const persons = await Promise.all(Array.from({ length: 5 }, () => sterna.newPerson({ verified: true })))
    people = { OWNER: persons[0]!, ADMIN: persons[1]!, MEMBER: persons[2]!, STRANGER: persons[3]! }
    target = persons[4]!
  })

  type Context = { project: Project; self: Person; invitationId: string }
  type ProjectRequest = (context: Context) => [method: string, path: string, body?: unknown]

  test.each<[string, number[], ProjectRequest]>([
    ['see the members', [200, 200, 200, 404], ({ project }) => ['GET', `/projects/${project.id}/members`]],
    ['see the setup state', [200, 200, 200, 404], ({ project }) => ['GET', `/projects/${project.id}/setup-state`]],
    ['see the invitations', [200, 200, 403, 404], ({ project }) => ['GET', `/projects/${project.id}/invitations`]],
    ['invite', [201, 201, 403, 404], ({ project }) => ['POST', `/projects/${project.id}/members`, { email: newEmail(), role: 'MEMBER' }]],
    [
      'withdraw an invitation',
      [204, 204, 403, 404],
      ({ project, invitationId }) => ['DELETE', `/projects/${project.id}/invitations/${invitationId}`],
    ],
    ['change a role', [200, 200, 403, 404], ({ project }) => ['PATCH', `/projects/${project.id}/members/${target.id}`, { role: 'ADMIN' }]],
    [
      'promote oneself',
      [403, 200, 403, 404],
      ({ project, self }) => ['PATCH', `/projects/${project.id}/members/${self.id}`, { role: 'ADMIN' }],
    ],
    ['remove a member', [204, 204, 403, 404], ({ project }) => ['DELETE', `/projects/${project.id}/members/${target.id}`]],
    ['leave', [403, 204, 204, 404], ({ project, self }) => ['DELETE', `/projects/${project.id}/members/${self.id}`]],
    ['change settings', [200, 200, 403, 404], ({ project }) => ['PATCH', `/users/@me/projects/${project.id}`, { name: 'New' }]],
    ['regenerate the keys', [200, 200, 403, 404], ({ project }) => ['POST', `/users/@me/projects/${project.id}/regenerate-keys`]],
    ['delete the project', [204, 403, 403, 404], ({ project }) => ['DELETE', `/users/@me/projects/${project.id}`]],
    // The reset by the owner has a test of its own.
    ['reset the project', [0, 403, 403, 404], ({ project }) => ['POST', `/users/@me/projects/${project.id}/reset`]],
  ])('to %s, for owner, admin, member and stranger', async (_, expected, request) => {
    for (const [index, role] of ROLES.entries()) {
      if (expected[index] === 0) continue
      const project = await sterna.newProject(people.OWNER)
      await sql`
        insert into memberships (project_id, user_id, role)
        values (${project.id}, ${people.ADMIN.id}, 'ADMIN'), (${project.id}, ${people.MEMBER.id}, 'MEMBER'), (${project.id}, ${target.id}, 'MEMBER')
      `.execute(sterna.db)
      await invite(project, newEmail())
      const [{ id: invitationId }] = await invitationsOf(project)
      const before = await rowsOf(project.id)

      const [method, path, body] = request({ project, self: people[role], invitationId })
      const answer = await people[role].call(method, path, { body })

      const code = { 403: 'FORBIDDEN', 404: 'RESOURCE_NOT_FOUND' }[answer.status]
      expect([role, answer.status, answer.body.error?.code]).toEqual([role, expected[index], code])
      if (answer.status >= 400) expect(await rowsOf(project.id)).toEqual(before)
    }
  })
})

describe('a project of other members', () => {
  let mine: Project
  let theirs: Project
  beforeAll(async () => {
    mine = await sterna.newProject()
    theirs = await sterna.newProject()
  })

  test.each<[string, (id: string) => [method: string, path: string, body?: unknown]]>([
    ['PATCH project', (id) => ['PATCH', `/users/@me/projects/${id}`, { name: 'Mine now' }]],
    ['DELETE project', (id) => ['DELETE', `/users/@me/projects/${id}`]],
    ['POST regenerate-keys', (id) => ['POST', `/users/@me/projects/${id}/regenerate-keys`]],
    ['POST reset', (id) => ['POST', `/users/@me/projects/${id}/reset`]],
    ['GET setup-state', (id) => ['GET', `/projects/${id}/setup-state`]],
    ['GET members', (id) => ['GET', `/projects/${id}/members`]],
    ['POST members', (id) => ['POST', `/projects/${id}/members`, { email: 'a@example.com', role: 'MEMBER' }]],
    ['PATCH member', (id) => ['PATCH', `/projects/${id}/members/${randomUUID()}`, { role: 'ADMIN' }]],
    ['DELETE member', (id) => ['DELETE', `/projects/${id}/members/${randomUUID()}`]],
    ['GET invitations', (id) => ['GET', `/projects/${id}/invitations`]],
    ['DELETE invitation', (id) => ['DELETE', `/projects/${id}/invitations/${randomUUID()}`]],
  ])('answers %s like a project that does not exist', async (_, request) => {
    const before = await settledDigest()
    const answers = []
    for (const id of [randomUUID(), theirs.id, theirs.id.toUpperCase(), 'not-an-id']) {
      const [method, path, body] = request(id)
      const { status, headers, body: answer } = await mine.owner.call(method, path, { body })
      answers.push({
        status,
        headers: Object.keys(headers),
        ...answer,
        error: { ...answer.error, requestId: '', details: { ...answer.error.details, id: answer.error.details.id === id } },
        timestamp: '',
      })
    }

    expect(answers[0]).toMatchObject({
      status: 404,
      error: { code: 'RESOURCE_NOT_FOUND', message: 'No such project.', details: { resource: 'project', id: true } },
    })
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(await sterna.digest()).toBe(before)
  })
})
