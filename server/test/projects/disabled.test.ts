import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { useTeams } from './team-client.ts'

const { sterna, from, projectsOf } = useTeams()

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
