import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { BOB, type Project, useHeldEmails, useSending } from '../support/delivery/sending.ts'

const { sterna, newProject, quiet, busy, expectNothingOf, expectRefused } = useSending()
const { hold, release } = useHeldEmails(sterna)

describe('a template', () => {
  test('never has an address of another domain as its display name, neither from the project nor from an older template', async () => {
    const nameOf = async (project: Project, more: object = {}) => (await project.deliver(more)).from
    const named = await newProject({ name: 'Billing of ceo@bank.com' })
    expect(await nameOf(named)).toEqual({ name: 'Billing of', address: `hello@${named.domain}` })
    const template = await named.template({ fromName: 'Ada' })
    await sql`update templates set from_name = 'ceo@bank.com' where id = ${template}`.execute(sterna.db)
    expect(await nameOf(named, { template, subject: undefined, body: undefined })).toMatchObject({ name: 'Billing of' })
    const bare = await newProject({ name: 'CEO＠bank.com' })
    expect(await nameOf(bare)).toEqual({ name: bare.domain, address: `hello@${bare.domain}` })
  })

  test('gives subject, body, sender and reply address, and each can be overridden', async () => {
    const project = await newProject()
    const template = await project.template({ from: `t@${project.domain}`, fromName: 'Of the template', replyTo: 'r@example.com' })
    const nothing = { from: undefined, subject: undefined, body: undefined }
    const asIs = await project.deliver({ ...nothing, template })
    expect(asIs).toMatchObject({
      subject: 'Of the template',
      html: '<p>template</p>\n',
      from: { name: 'Of the template', address: `t@${project.domain}` },
      replyTo: [{ name: '', address: 'r@example.com' }],
    })
    const changed = await project.deliver({
      template,
      subject: 'Own',
      body: '<p>own</p>',
      from: { name: 'Me', email: `me@${project.domain}` },
      reply: BOB,
    })
    expect(changed).toMatchObject({
      subject: 'Own',
      html: '<p>own</p>\n',
      from: { name: 'Me', address: `me@${project.domain}` },
      replyTo: [{ name: '', address: BOB }],
    })
    expect(await project.deliver({ ...nothing, template, subject: 'Own' })).toMatchObject({ subject: 'Own', html: '<p>template</p>\n' })
    expect(await project.deliver({ ...nothing, template, body: '<p>own</p>' })).toMatchObject({
      subject: 'Of the template',
      html: '<p>own</p>\n',
    })
    const answer = await project.send({ ...nothing, template })
    expect((await project.ended(answer))[0]).toMatchObject({ templateId: template, type: 'TRANSACTIONAL', replyTo: 'r@example.com' })
    expect(await project.deliver({ ...nothing, template, subject: '{{x}}', data: { x: 'from data' } })).toMatchObject({
      subject: 'from data',
    })
  })

  test('without a sender needs one in the request', async () => {
    const template = await quiet.template()
    await expectRefused([['no sender', { template, from: undefined }, [['from', 'required']]]])
  })

  test('that is unknown, deleted or of another project is not found', async () => {
    const foreign = await busy.template()
    const deleted = await quiet.template()
    await quiet.call('DELETE', `/templates/${deleted}`)
    await expectNothingOf(async () => {
      for (const template of [randomUUID(), foreign, deleted]) {
        const answer = await quiet.send({ template }, { key: 'k' })
        expect(outcome(answer)).toEqual([404, 'TEMPLATE_NOT_FOUND'])
        expect(answer.body.error.details).toEqual({ resource: 'template', id: template })
      }
    })
  })

  test('changed after the request does not change the email', async () => {
    const project = await newProject()
    await hold(project)
    const template = await project.template()
    const answer = await project.send({ template, subject: undefined, body: undefined })
    await project.call('PATCH', `/templates/${template}`, { subject: 'Changed' })
    await project.call('DELETE', `/templates/${template}`)
    await release(project)
    const [email] = await project.ended(answer)
    expect((await PostalMime.parse(await project.source(email!.id))).subject).toBe('Of the template')
  })
})
