import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useSharedApp()
const REPEATED = [409, 'IDEMPOTENCY_KEY_REUSED']

describe('a repeat with a used Idempotency-Key is a 409, whatever changed since', () => {
  test('the template was deleted', async () => {
    const project = await newSendingProject(sterna)
    const template = await project.template()
    expect(outcome(await project.send({ template }, { key: 'k' }))).toEqual([200])
    await project.call('DELETE', `/templates/${template}`)
    expect(outcome(await project.send({ template }, { key: 'k' }))).toEqual(REPEATED)
    expect(outcome(await project.send({ template }, { key: 'other' }))).toEqual([404, 'TEMPLATE_NOT_FOUND'])
  })

  test('the template lost its sender', async () => {
    const project = await newSendingProject(sterna)
    const template = await project.template({ from: `news@${project.domain}` })
    const send = (key: string) => project.send({ template, from: undefined }, { key })
    expect(outcome(await send('k'))).toEqual([200])
    await project.call('PATCH', `/templates/${template}`, { from: null })
    expect(outcome(await send('k'))).toEqual(REPEATED)
    expect(outcome(await send('other'))).toEqual([422, 'VALIDATION_ERROR'])
  })

  test('the domain is gone', async () => {
    const project = await newSendingProject(sterna)
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual([200])
    await project.call('DELETE', `/domains/${project.domainId}`)
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual(REPEATED)
    expect(outcome(await project.send({}, { key: 'other' }))).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
  })

  test('the contact unsubscribed', async () => {
    const project = await newSendingProject(sterna)
    const template = await project.template({ type: 'MARKETING' })
    await project.call('POST', '/contacts', { email: 'ada@example.com', subscribed: true })
    const first = await project.send({ template }, { key: 'k' })
    expect(outcome(first)).toEqual([200])
    await project.call('PATCH', `/contacts/${first.body.data.emails[0].contact.id}`, { subscribed: false })
    const repeat = await project.send({ template }, { key: 'k' })
    expect([outcome(repeat), repeat.body.error.details]).toMatchObject([REPEATED, { emails: first.body.data.emails }])
    expect(outcome(await project.send({ template }, { key: 'other' }))).toEqual([400, 'CONTACT_UNSUBSCRIBED'])
  })

  test('but not before the body is valid and the caller may call', async () => {
    const project = await newSendingProject(sterna)
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual([200])
    expect(outcome(await project.send({ to: 'nobody' }, { key: 'k' }))).toEqual([422, 'VALIDATION_ERROR'])
    expect(outcome(await project.send({ body: '{{ broken' }, { key: 'k' }))).toEqual([422, 'VALIDATION_ERROR'])
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual([403, 'PROJECT_DISABLED'])
    // The refusal has not used the key, nor freed it.
    await sql`update projects set disabled = false where id = ${project.id}`.execute(sterna.db)
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
  })
})

test('requests refused for state at the same time with one key leave no key behind', async () => {
  const project = await newSendingProject(sterna)
  const answers = await Promise.all(Array.from({ length: 20 }, () => project.send({ from: 'a@bank.example' }, { key: 'k' })))
  for (const answer of answers) {
    const stillRunning = answer.status === 409 && answer.body.error.details.originalStatusCode === null
    expect(stillRunning || answer.status === 403).toBe(true)
  }
  expect(outcome(await project.send({}, { key: 'k' }))).toEqual([200])
})
