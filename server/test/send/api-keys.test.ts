import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { useSecondNode, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, quiet, expectNothingOf } = useSending()
/** Another node on the same database. */
const second = useSecondNode(sterna)

describe('a key', () => {
  test('of the wrong kind, or that is unknown, is refused', () =>
    expectNothingOf(async () => {
      for (const sk of [quiet.pk, `sk_${'0'.repeat(64)}`, quiet.sk.toUpperCase(), quiet.sk.replace('sk_', 'pk_')])
        expect(outcome(await quiet.send({}, { sk }))).toEqual([401, 'INVALID_API_KEY'])
      expect(outcome(await sterna.call('POST', '/v1/send', { body: quiet.sendBody() }))).toEqual([401, 'MISSING_AUTH'])
      const cookie = { cookie: quiet.owner.cookie, headers: { 'x-project-id': quiet.id }, body: quiet.sendBody() }
      expect(outcome(await sterna.call('POST', '/v1/send', cookie))).toEqual([401, 'MISSING_AUTH'])
    }))

  test('that was replaced, or whose project is disabled or deleted, stops at once, on every node', async () => {
    const project = await newProject()
    for (const at of [sterna, second.sterna]) expect((await project.send({}, { at })).status).toBe(200)
    const { body } = await project.owner.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`)
    await expectNothingOf(async () => {
      for (const at of [sterna, second.sterna]) expect(outcome(await project.send({}, { at }))).toEqual([401, 'INVALID_API_KEY'])
    })
    const sk = body.secret as string
    for (const at of [sterna, second.sterna]) expect((await project.send({}, { at, sk })).status).toBe(200)
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    for (const at of [sterna, second.sterna])
      expect(outcome(await project.send({ to: 'new@example.com' }, { at, sk }))).toEqual([403, 'PROJECT_DISABLED'])
    await sql`update projects set disabled = false where id = ${project.id}`.execute(sterna.db)
    for (const at of [sterna, second.sterna]) expect((await project.send({}, { at, sk })).status).toBe(200)
    await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
    for (const at of [sterna, second.sterna]) expect(outcome(await project.send({}, { at, sk }))).toEqual([401, 'INVALID_API_KEY'])
  })
})
