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

  test('lose every access the moment they are removed', async () => {
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

  test('change what they may do the moment their role changes', async () => {
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

  test.each(['ADMIN', 'MEMBER'] as const)('who are %s may leave', async (role) => {
    const project = await sterna.newProject()
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, role)
    expect((await member.call('DELETE', `/projects/${project.id}/members/${member.id}`)).status).toBe(204)
    expect(await projectsOf(member)).toEqual([])
  })

  test('cannot remove, demote or replace the owner, who cannot leave either', async () => {
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

  test('who are nobody here are not found, whether they exist elsewhere or not', async () => {
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

describe('who may do what', () => {
  const ROLES = ['OWNER', 'ADMIN', 'MEMBER', 'STRANGER'] as const
  let cast: Record<(typeof ROLES)[number], Person>
  let target: Person

  beforeAll(async () => {
    const people = await Promise.all(Array.from({ length: 5 }, () => sterna.newPerson({ verified: true })))
    cast = { OWNER: people[0]!, ADMIN: people[1]!, MEMBER: people[2]!, STRANGER: people[3]! }
    target = people[4]!
  })

  type Stage = { project: Project; self: Person; invitationId: string }
  type Deed = (stage: Stage) => [method: string, path: string, body?: unknown]

  test.each<[string, number[], Deed]>([
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
    // The owner's own reset has a test above.
    ['reset the project', [0, 403, 403, 404], ({ project }) => ['POST', `/users/@me/projects/${project.id}/reset`]],
  ])('to %s: owner, admin, member, stranger', async (_, expected, deed) => {
    for (const [index, role] of ROLES.entries()) {
      if (expected[index] === 0) continue
      const project = await sterna.newProject(cast.OWNER)
      await sql`
        insert into memberships (project_id, user_id, role)
        values (${project.id}, ${cast.ADMIN.id}, 'ADMIN'), (${project.id}, ${cast.MEMBER.id}, 'MEMBER'), (${project.id}, ${target.id}, 'MEMBER')
      `.execute(sterna.db)
      await invite(project, newEmail())
      const [{ id: invitationId }] = await invitationsOf(project)
      const before = await rowsOf(project.id)

      const [method, path, body] = deed({ project, self: cast[role], invitationId })
      const answer = await cast[role].call(method, path, { body })

      const code = { 403: 'FORBIDDEN', 404: 'RESOURCE_NOT_FOUND' }[answer.status]
      expect([role, answer.status, answer.body.error?.code]).toEqual([role, expected[index], code])
      if (answer.status >= 400) expect(await rowsOf(project.id)).toEqual(before)
    }
  })
})

describe('a foreign project', () => {
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
  ])('answers to %s as if it never was', async (_, request) => {
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
