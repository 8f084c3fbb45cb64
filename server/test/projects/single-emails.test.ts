import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { issues, outcome } from '../support/answers.ts'
import { ADA, BOB, file, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, expectNothingOf } = useSending()
type Project = Pick<Awaited<ReturnType<typeof newProject>>, 'id' | 'owner'>
type Entry = { action: string; actor: object; target: object; changes: object[] }

async function newMember(project: Project, role = 'MEMBER') {
  const person = await sterna.newPerson({ verified: true })
  await sql`insert into memberships (project_id, user_id, role) values (${project.id}, ${person.id}, ${role})`.execute(sterna.db)
  const send = (body: object, headers: Record<string, string> = {}) =>
    person.call('POST', '/emails', { body, headers: { 'x-project-id': project.id, ...headers } })
  return { ...person, send }
}

const newKey = async (project: Project, settings: object) =>
  (await project.owner.call('POST', `/projects/${project.id}/keys`, { body: { name: 'k', kind: 'secret', ...settings } })).body
    .key as string
const byKey = (key: string, body: object) => sterna.call('POST', '/emails', { key, body })
const auditOf = async (project: Project): Promise<Entry[]> =>
  (await project.owner.call('GET', `/projects/${project.id}/audit?action=email`)).body.data

describe('POST /emails', () => {
  test('sends one email for a member, who has no key, and is in the audit trail without its recipient', async () => {
    const project = await newProject()
    const member = await newMember(project)
    const answer = await member.send(project.sendBody({ to: ADA, subject: 'Hi {{name}}', data: { name: 'Ada' }, attachments: [file()] }))
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({ to: ADA, status: 'PENDING', sourceType: 'TRANSACTIONAL', requestId: expect.any(String) })
    const [sent] = await project.ended({ ...answer, body: { data: { emails: [{ email: answer.body.id }] } } })
    expect(sent).toMatchObject({ status: 'SENT', subject: 'Hi Ada' })
    expect(await project.source(answer.body.id)).toContain('a.txt')
    const [entry, ...others] = await auditOf(project)
    expect(others).toEqual([])
    expect(entry).toMatchObject({
      action: 'email.send',
      actor: { type: 'user', id: member.id },
      target: { type: 'email', id: answer.body.id, name: null },
    })
    expect(entry!.changes).toContainEqual({ field: 'to' })
    expect(JSON.stringify(entry)).not.toContain(ADA)
  })

  test('leaves the last use of the key pair as it is', async () => {
    // Nothing of this project was done with a key.
    const project = await sterna.newProject()
    const domain = 'unused-key.example'
    await project.owner.call('POST', '/domains', { body: { domain }, headers: { 'x-project-id': project.id } })
    const member = await newMember(project)
    expect((await member.send({ to: ADA, from: `hello@${domain}`, subject: 'Hi', body: '<p>Hi</p>' })).status).toBe(201)
    const { body } = await project.owner.call('GET', `/projects/${project.id}/keys`)
    expect(body.map(({ lastUsedAt }: { lastUsedAt: string | null }) => lastUsedAt)).toEqual([null, null])
  })

  test('sends with a key that has `send`, from its sender domains only', async () => {
    const project = await newProject()
    const [reads, sends, elsewhere] = [
      await newKey(project, { scopes: ['read'] }),
      await newKey(project, { scopes: ['send'], senderDomains: [project.domain] }),
      await newKey(project, { scopes: ['send'], senderDomains: ['other.example'] }),
    ]
    expect(outcome(await byKey(reads, project.sendBody()))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect(outcome(await byKey(elsewhere, project.sendBody()))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect((await byKey(sends, project.sendBody())).status).toBe(201)
    expect(await auditOf(project)).toMatchObject([{ action: 'email.send', actor: { type: 'key', name: 'k' } }])
    expect(outcome(await sterna.call('POST', '/emails', { key: project.pk, body: project.sendBody() }))).toEqual([401, 'INVALID_API_KEY'])
  })

  test('refuses what /v1/send refuses, and writes nothing', async () => {
    const project = await newProject()
    const member = await newMember(project)
    const marketing = await project.template({ type: 'MARKETING' })
    await project.call('POST', '/contacts', { email: BOB, subscribed: false })
    const body = project.sendBody()
    const stranger = await sterna.newPerson()
    await expectNothingOf(async () => {
      const many = await member.send({ ...body, to: [ADA, BOB] })
      expect([outcome(many), issues(many)]).toEqual([[422, 'VALIDATION_ERROR'], [['to', 'too_big']]])
      expect(issues(await member.send({ ...body, to: [] }))).toEqual([['to', 'too_small']])
      expect(issues(await member.send({ ...body, headers: { From: 'x@example.com' } }))).toEqual([['headers.From', 'custom']])
      expect(outcome(await member.send({ to: BOB, from: body.from, template: marketing }))).toEqual([400, 'CONTACT_UNSUBSCRIBED'])
      expect(outcome(await member.send({ ...body, from: 'x@elsewhere.example' }))).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
      expect(outcome(await member.send({ ...body, template: '6ba7b810-9dad-11d1-80b4-00c04fd430c8' }))).toEqual([404, 'TEMPLATE_NOT_FOUND'])
      expect(outcome(await member.send(body, { 'sec-fetch-site': 'cross-site' }))).toEqual([403, 'FORBIDDEN'])
      expect(outcome(await stranger.call('POST', '/emails', { body, headers: { 'x-project-id': project.id } }))).toEqual([
        403,
        'PROJECT_ACCESS_DENIED',
      ])
    })
    expect(await auditOf(project)).toEqual([])
  })

  test('is refused while the project is disabled', async () => {
    const project = await newProject()
    const member = await newMember(project)
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect(outcome(await member.send(project.sendBody()))).toEqual([403, 'PROJECT_DISABLED'])
  })

  test('records consent that it changes as given in the dashboard', async () => {
    const project = await newProject()
    const member = await newMember(project)
    await project.call('POST', '/contacts', { email: BOB, subscribed: false })
    expect((await member.send({ ...project.sendBody({ to: BOB }), subscribed: true })).status).toBe(201)
    expect(
      await many(sterna.db, sql`select subscribed, source, details from consents where project_id = ${project.id} and subscribed`),
    ).toMatchObject([{ subscribed: true, source: 'dashboard', details: { userId: member.id } }])
  })

  test('takes a time to send at', async () => {
    const project = await newProject()
    const member = await newMember(project)
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    expect((await member.send(project.sendBody({ sendAt }))).body).toMatchObject({ status: 'PENDING', sendAt })
  })
})
