import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { clearVars } from '../../src/delivery/outbox/clear-vars.ts'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()
type Project = Awaited<ReturnType<typeof newSendingProject>>

const CODE = { value: '123456', persistent: false }
const varsOf = async (emailId: string) =>
  (await many(sterna.db, sql<{ vars: object | null }>`select vars from emails where id = ${emailId}`))[0]!.vars
const resend = (project: Project, id: string) => project.call('POST', `/emails/${id}/resend`)

/** An email that failed because its subject became too long. */
async function newFailed(project: Project): Promise<string> {
  const { id, status } = await project.sent({ subject: '{{ long }}Your code {{ code }}', data: { code: CODE, long: 'x'.repeat(1_000) } })
  expect(status).toBe('FAILED')
  return id
}

const shorten = (id: string) => sql`update emails set vars = jsonb_set(vars, '{long}', '""') where id = ${id}`.execute(sterna.db)

describe('a failed transactional email', () => {
  test('is resent as a new one, with the data of its request', async () => {
    const project = await newSendingProject(sterna)
    const failed = await newFailed(project)
    await shorten(failed)

    const { status, body } = await resend(project, failed)
    expect([status, body]).toMatchObject([201, { resentFrom: failed, to: 'ada@example.com', sourceType: 'TRANSACTIONAL' }])
    expect(body.id).not.toBe(failed)
    await eventually(async () => expect((await project.email(body.id)).status).toBe('SENT'))
    expect(await project.source(body.id)).toContain('Subject: Your code 123456\r\n')

    const [first, second] = [await project.email(failed), await project.email(body.id)]
    expect([first.status, first.resentFrom]).toEqual(['FAILED', null])
    expect(second.messageId).not.toBe(first.messageId)
    const again = await resend(project, failed)
    expect([outcome(again), again.body.error.details]).toEqual([[409, 'CONFLICT'], { emailId: body.id }])
  })

  test('can be resent again when the resend has failed too, and once when asked for many times', async () => {
    const project = await newSendingProject(sterna)
    const failed = await newFailed(project)
    const { body } = await resend(project, failed)
    await eventually(async () => expect((await project.email(body.id)).status).toBe('FAILED'))
    await shorten(failed)
    const answers = await Promise.all(Array.from({ length: 5 }, () => resend(project, failed)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
  })

  test('cannot be resent when its contact, its domain or the data of its request is gone', async () => {
    const project = await newSendingProject(sterna)
    const [cleared, old, orphan] = [await newFailed(project), await newFailed(project), await newFailed(project)]
    await sql`update emails set vars = null where id = ${cleared}`.execute(sterna.db)
    expect(outcome(await resend(project, cleared))).toEqual([409, 'CONFLICT'])
    await sql`update emails set updated_at = now() - interval '8 days' where id = ${old}`.execute(sterna.db)
    expect(outcome(await resend(project, old))).toEqual([409, 'CONFLICT'])
    await project.call('DELETE', `/contacts/${(await project.email(orphan)).contactId}`)
    expect(outcome(await resend(project, orphan))).toEqual([409, 'CONFLICT'])
    const last = await newFailed(project)
    await project.call('DELETE', `/domains/${project.domainId}`)
    expect(outcome(await resend(project, last))).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
  })
})

test('an email that has not failed, or of another project, is not resent', async () => {
  const [project, other] = [await newSendingProject(sterna), await newSendingProject(sterna)]
  const { id } = await project.sent()
  expect(outcome(await resend(project, id))).toEqual([409, 'CONFLICT'])
  for (const unknown of [randomUUID(), 'x', id]) expect(outcome(await resend(other, unknown))).toEqual([404, 'RESOURCE_NOT_FOUND'])
})

describe('the data of a request', () => {
  test('is cleared when its email is sent, skipped or bounced', async () => {
    const project = await newSendingProject(sterna)
    const sent = await project.sent({ data: { code: CODE } })
    expect([sent.status, await varsOf(sent.id)]).toEqual(['SENT', null])
    const { id: bounced } = await project.sent({ to: 'refuse@example.com', data: { code: CODE } })
    await eventually(async () => expect((await project.email(bounced)).bouncedAt).not.toBe(null))
    expect(await varsOf(bounced)).toBe(null)
    const suppressed = await project.sent({ to: 'refuse@example.com', data: { code: CODE } })
    expect([suppressed.status, await varsOf(suppressed.id)]).toEqual(['SKIPPED', null])
    const template = await project.template({ type: 'MARKETING' })
    await project.call('POST', '/contacts', { email: 'subscriber@example.com' })
    const { body } = await project.send({ template, to: ['subscriber@example.com', 'ada@example.com'], data: { code: CODE } })
    expect(await varsOf(body.data.emails[1].email)).toBe(null)
  })

  test('is kept for 7 days after its email failed', async () => {
    const project = await newSendingProject(sterna)
    const [old, recent] = [await newFailed(project), await newFailed(project)]
    const age = (id: string) => sql`
      update emails set id = ('00000000' || substr(id::text, 9))::uuid, updated_at = now() - interval '8 days' where id = ${id} returning id`
    const { rows } = await age(old).execute(sterna.db)
    const { id: aged } = rows[0] as { id: string }
    while (await transact(sterna.db, (tx) => clearVars(tx, 100)));
    expect([await varsOf(aged), await varsOf(recent)]).toEqual([null, { code: '123456', long: 'x'.repeat(1_000) }])
  })
})
