import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { type Person, type Project, useTeams } from './team-client.ts'

const { sterna, newEmail, projectsOf, invite, membersOf, accept, join, keyStatuses, rowsOf } = useTeams()

describe('deleting a project', () => {
  const remove = (project: Project, by: Pick<Person, 'call'> = project.owner) => by.call('DELETE', `/users/@me/projects/${project.id}`)

  test('revokes its keys immediately, hides it from its members and removes its rows and no others', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'MEMBER')
    await invite(project, newEmail())
    for (const { sk } of [project, other])
      await sterna.call('POST', '/probe/once', { key: sk, body: {}, headers: { 'idempotency-key': 'k' } })
    // The use of a key is written some time after the request.
    for (const { id } of [project, other]) await expect.poll(() => rowsOf(id)).toHaveProperty('key_usage')
    const others = await rowsOf(other.id)
    expect(Object.keys(await rowsOf(project.id)).sort()).toEqual([
      'audit_entries',
      'idempotency_keys',
      'invitations',
      'key_usage',
      'memberships',
      'projects',
      'rate_windows',
    ])

    const answer = await remove(project)
    expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([204, '', undefined])
    expect(await keyStatuses({ public: project.pk, secret: project.sk })).toEqual([401, 401])
    for (const person of [project.owner, member]) {
      expect(await projectsOf(person)).toEqual([])
      expect(outcome(await person.call('GET', `/projects/${project.id}/members`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
      expect(outcome(await person.call('GET', '/probe/project', { headers: { 'x-project-id': project.id } }))).toEqual([
        403,
        'PROJECT_ACCESS_DENIED',
      ])
    }

    await expect.poll(() => rowsOf(project.id), { interval: 50 }).toEqual({})
    expect(await rowsOf(other.id)).toEqual(others)
    expect(await keyStatuses({ public: other.pk, secret: other.sk })).toEqual([200, 200])
  })

  test('a second time is a 404', async () => {
    const project = await sterna.newProject()
    await remove(project)
    expect(outcome(await remove(project))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    for (const [method, path] of [
      ['PATCH', ''],
      ['POST', '/regenerate-keys'],
      ['POST', '/reset'],
    ] as const) {
      const answer = await project.owner.call(
        method,
        `/users/@me/projects/${project.id}${path}`,
        method === 'PATCH' ? { body: { name: 'Alive' } } : {},
      )
      expect(outcome(answer)).toEqual([404, 'RESOURCE_NOT_FOUND'])
    }
  })

  test('invalidates its invitations', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)
    await remove(project)

    expect(outcome(await accept(guest, token))).toEqual([400, 'INVALID_TOKEN'])
    expect(await projectsOf(guest)).toEqual([])
    expect((await guest.call('GET', '/users/@me')).body.emailVerified).toBe(false)
  })
})

describe('resetting a project', () => {
  const wipe = (project: Project) => project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
  const once = (project: Project, key: string) =>
    sterna.call('POST', '/probe/once', { key: project.sk, body: {}, headers: { 'idempotency-key': key } })

  test('removes its data and keeps members and keys', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'ADMIN')
    for (const each of [project, other]) expect((await once(each, 'k')).status).toBe(200)
    const members = await membersOf(project)
    const [before] = await projectsOf(project.owner)

    const { status, body } = await wipe(project)

    expect([status, body]).toEqual([200, { success: true, message: 'All data of this project was deleted.' }])
    // The use of a key is written at most once a minute, some time after the request.
    const { key_usage: _, audit_entries: audited, ...rows } = await rowsOf(project.id)
    expect(rows).toEqual({ projects: 1, memberships: 2, rate_windows: 1 })
    expect(audited).toBeGreaterThan(0)
    expect(await membersOf(project)).toEqual(members)
    expect(await projectsOf(project.owner)).toEqual([before])
    expect(await keyStatuses({ public: project.pk, secret: project.sk })).toEqual([200, 200])
    expect([(await once(project, 'k')).status, (await once(other, 'k')).status]).toEqual([200, 409])
  })

  test('does not block the deletion of other projects', async () => {
    const [first, second] = [await sterna.newProject(), await sterna.newProject()]
    await wipe(first)
    await second.owner.call('DELETE', `/users/@me/projects/${second.id}`)
    await expect.poll(() => rowsOf(second.id), { interval: 50 }).toEqual({})
  })
})
