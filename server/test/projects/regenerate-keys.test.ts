import { describe, expect, test } from 'vitest'
import { statuses } from '../support/answers.ts'
import { type Project, useTeams } from './team-client.ts'

const { sterna, from, projectsOf, keyStatuses } = useTeams()

describe('regenerate-keys', () => {
  const rotate = (project: Project) => project.owner.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`)

  test('replaces both keys and revokes the old pair', async () => {
    const project = await sterna.newProject()
    const [before] = await projectsOf(project.owner)
    const { status, body } = await rotate(project)

    expect(status).toBe(200)
    expect(body).toEqual({ ...before, public: body.public, secret: body.secret, updatedAt: expect.any(String) })
    expect(body.public).toMatch(/^pk_[0-9a-f]{64}$/)
    expect(body.secret).toMatch(/^sk_[0-9a-f]{64}$/)
    expect(await keyStatuses({ public: project.pk, secret: project.sk })).toEqual([401, 401])
    expect(await keyStatuses(body)).toEqual([200, 200])
    // All four keys differ.
    expect(new Set([project.pk.slice(3), project.sk.slice(3), body.public.slice(3), body.secret.slice(3)]).size).toBe(4)
  })

  test('20 times at once leaves exactly one valid pair', async () => {
    const project = await sterna.newProject()
    const answers = await Promise.all(Array.from({ length: 20 }, () => rotate(project)))
    expect(new Set(statuses(answers))).toEqual(new Set([200]))

    const pairs = await Promise.all(answers.map(({ body }) => keyStatuses(body)))
    expect(pairs.filter((pair) => pair.join() === '200,200')).toHaveLength(1)
    expect(pairs.filter((pair) => pair.join() === '401,401')).toHaveLength(19)
    const [shown] = await projectsOf(project.owner)
    expect(await keyStatuses(shown as { public: string; secret: string })).toEqual([200, 200])
    expect(await keyStatuses({ public: project.pk, secret: project.sk })).toEqual([401, 401])
  })

  test('does not change the keys of other projects', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    await rotate(project)
    expect(await keyStatuses({ public: other.pk, secret: other.sk })).toEqual([200, 200])
  })

  test('during use accepts no old key after its response', async () => {
    const project = await sterna.newProject()
    const headers = from()
    let answered = false
    const late: number[] = []
    const use = async () => {
      for (let n = 0; n < 15; n++) {
        const after = answered
        const { status } = await sterna.call('GET', '/probe/secret', { key: project.sk, headers })
        if (after) late.push(status)
      }
    }
    await Promise.all([use(), use(), rotate(project).then(() => (answered = true))])
    await use()
    expect(new Set(late)).toEqual(new Set([401]))
  })
})
