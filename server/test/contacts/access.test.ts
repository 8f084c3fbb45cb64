import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

describe('access to contacts', () => {
  test('a session has the same access as the secret key, only to projects of its user', async () => {
    const project = await newProject()
    const stranger = await sterna.newPerson()
    const headers = { 'x-project-id': project.id }
    const created = await project.owner.call('POST', '/contacts', { body: { email: 'ada@example.com' }, headers })
    expect(created.status).toBe(201)
    const id = created.body.id as string
    expect((await project.owner.call('GET', `/contacts/${id}`, { headers })).body).toEqual(await project.contacts.get(id))
    expect((await project.owner.call('GET', '/contacts', { headers })).body.total).toBe(1)
    expect((await project.owner.call('PATCH', `/contacts/${id}`, { headers, body: { subscribed: false } })).body.subscribed).toBe(false)
    expect((await project.owner.call('GET', `/contacts/${id}`)).status).toBe(400)
    expect(await stranger.call('GET', `/contacts/${id}`, { headers })).toMatchObject({
      status: 403,
      body: { error: { code: 'PROJECT_ACCESS_DENIED' } },
    })
    expect((await stranger.call('DELETE', `/contacts/${id}`, { headers })).status).toBe(403)
    expect((await project.owner.call('DELETE', `/contacts/${id}`, { headers })).status).toBe(204)
  })

  test('a disabled project is read-only', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com', { data: { plan: 'pro' } })
    const { body: job } = await project.call('POST', '/contacts/bulk-unsubscribe', { contactIds: [randomUUID()] })
    await project.finished('bulk', job.jobId)
    await sql`update projects set disabled = true where id = ${project.id}`.execute(sterna.db)
    const before = await sterna.digest({ except: ['attempts'] })

    const writes: [string, string, unknown?][] = [
      ['POST', '/contacts', { email: 'new@example.com' }],
      ['PATCH', `/contacts/${id}`, { subscribed: false }],
      ['DELETE', `/contacts/${id}`],
      ['DELETE', '/contacts/fields/plan'],
      ['POST', '/contacts/bulk-subscribe', { contactIds: [id] }],
      ['POST', '/contacts/bulk-unsubscribe', { contactIds: [id] }],
      ['POST', '/contacts/bulk-delete', { contactIds: [id] }],
    ]
    for (const [method, url, body] of writes)
      expect(await project.call(method, url, body)).toMatchObject({ status: 403, body: { error: { code: 'PROJECT_DISABLED' } } })
    const upload = await project.contacts.upload('email\nnew@example.com')
    expect(upload).toMatchObject({ status: 403, body: { error: { code: 'PROJECT_DISABLED' } } })
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)

    const reads = ['', `/${id}`, `/${id}/consent`, '/fields', '/fields/plan/values', '/fields/plan/usage', `/bulk/${job.jobId}`]
    for (const path of reads) expect((await project.call('GET', `/contacts${path}`)).status).toBe(200)
  })
})
