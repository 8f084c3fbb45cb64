import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { ADA, times, useSecondNode, useSending } from '../support/delivery/sending.ts'
import { eventually } from '../support/eventually.ts'

const { sterna, newProject } = useSending()
/** Another node on the same database. */
const second = useSecondNode(sterna)
type Project = Awaited<ReturnType<typeof newProject>>

const keysOf = ({ owner, id }: Project) => owner.call('GET', `/projects/${id}/keys`)
const asOwner = (project: Project, method: string, path: string, body?: object) =>
  project.owner.call(method, `/projects/${project.id}/keys${path}`, body ? { body } : {})
async function create(project: Project, settings: object = {}) {
  const { status, body } = await asOwner(project, 'POST', '', { name: 'CI', kind: 'secret', ...settings })
  expect([status, body]).toEqual([201, expect.anything()])
  return body as { id: string; key: string; prefix: string }
}
const track = (key: string, at: Pick<typeof sterna, 'call'> = sterna) =>
  at.call('POST', '/v1/track', { key, body: { email: ADA, event: 'e' } })

describe('API keys', () => {
  test('are listed behind the pair; the key itself is shown once', async () => {
    const project = await newProject()
    const { key, ...created } = await create(project, {
      scopes: ['send', 'read'],
      senderDomains: ['Example.com'],
      networks: ['10.0.0.1', '2001:db8::/32'],
    })
    expect(key).toMatch(/^sk_[0-9a-f]{64}$/)
    expect(created).toMatchObject({
      name: 'CI',
      kind: 'secret',
      isPair: false,
      scopes: ['send', 'read'],
      senderDomains: ['example.com'],
      networks: ['10.0.0.1/32', '2001:db8::/32'],
      expiresAt: null,
      lastUsedAt: null,
      createdBy: project.owner.id,
      prefix: key.slice(0, 11),
      graceUntil: null,
    })
    const { body } = await keysOf(project)
    expect(body.map(({ id, isPair, scopes }: { id: string; isPair: boolean; scopes: string[] }) => [id, isPair, scopes])).toEqual([
      ['public', true, null],
      ['secret', true, ['full']],
      [created.id, false, ['send', 'read']],
    ])
    expect(body[1].prefix).toBe(project.sk.slice(0, 11))
    expect(JSON.stringify(body)).not.toContain(key)
  })

  test.each([
    [{ scopes: ['admin'] }, 'scopes.0'],
    [{ scopes: [] }, 'scopes'],
    [{ kind: 'public', scopes: ['send'] }, 'scopes'],
    [{ kind: 'public', senderDomains: ['example.com'] }, 'senderDomains'],
    [{ networks: ['10.0.0.0/33'] }, 'networks.0'],
    [{ senderDomains: ['not a domain'] }, 'senderDomains.0'],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    [{ name: ' ' }, 'name'],
  ])('with %j are refused', async (settings, field) => {
    const project = await newProject()
    const answer = await asOwner(project, 'POST', '', { name: 'CI', kind: 'secret', ...settings })
    expect([answer.status, answer.body.error.errors?.[0]?.field]).toEqual([422, field])
  })

  test('are at most 50, and the pair is not changed here', async () => {
    const project = await newProject()
    await sql`
      insert into api_keys (project_id, id, kind, name, prefix) select ${project.id}, gen_random_uuid(), 'public', 'x', 'pk_' from generate_series(1, 49)
    `.execute(sterna.db)
    const answers = await Promise.all(times(3, () => asOwner(project, 'POST', '', { name: 'CI', kind: 'secret' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    for (const [method, path, body] of [
      ['PATCH', '/secret', { name: 'x' }],
      ['DELETE', '/public', undefined],
      ['POST', '/secret/rotate', { graceHours: 1 }],
    ] as const)
      expect(outcome(await asOwner(project, method, path, body))).toEqual([409, 'CONFLICT'])
  })

  test('of another project are not found', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const { id } = await create(other)
    expect((await asOwner(project, 'DELETE', `/${id}`)).status).toBe(404)
    expect((await asOwner(project, 'PATCH', `/${id}`, { name: 'x' })).status).toBe(404)
    expect((await asOwner(project, 'POST', `/${id}/rotate`)).status).toBe(404)
  })

  test('are named in the audit trail, which has their settings', async () => {
    const project = await newProject()
    const { id, key } = await create(project, { scopes: ['templates'] })
    await sterna.call('POST', '/templates', { key, body: { name: 'T', subject: 'S', body: 'B', type: 'TRANSACTIONAL' } })
    await asOwner(project, 'DELETE', `/${id}`)
    const { data } = (await project.owner.call('GET', `/projects/${project.id}/audit`)).body
    expect(data.slice(0, 3)).toMatchObject([
      { action: 'key.revoke', target: { type: 'key', id, name: 'CI' } },
      { action: 'template.create', actor: { type: 'key', id, name: 'CI' } },
      { action: 'key.create', target: { id, name: 'CI' }, changes: expect.arrayContaining([{ field: 'scopes', value: ['templates'] }]) },
    ])
    expect(JSON.stringify(data)).not.toContain(key)
  })

  test('that are in use and expire soon are in the report of doctor', async () => {
    const project = await newProject()
    const { key } = await create(project, { expiresAt: new Date(Date.now() + 5 * 24 * 3_600_000).toISOString() })
    await sterna.call('GET', '/contacts', { key })
    await sql`update users set operator = true where id = ${project.owner.id}`.execute(sterna.db)
    await eventually(async () => {
      const { checks } = (await project.owner.call('GET', '/doctor')).body
      expect(checks).toContainEqual(expect.objectContaining({ name: 'keys', verdict: 'warn', note: expect.stringMatching(/^1 API key/) }))
    })
  })

  test('show when they were last used', async () => {
    const project = await newProject()
    const { key } = await create(project)
    await sterna.call('GET', '/contacts', { key })
    await eventually(async () => expect((await keysOf(project)).body[2].lastUsedAt).toEqual(expect.any(String)))
  })
})

describe('on a node that has cached the key', () => {
  const send = (project: Project, sk: string) => project.send({ to: ADA }, { at: second.sterna, sk })

  test('a revoked key is refused by the next request', async () => {
    const project = await newProject()
    const { id, key } = await create(project, { scopes: ['send'] })
    const { id: publicId, key: publicKey } = await create(project, { kind: 'public' })
    expect([(await send(project, key)).status, (await track(publicKey, second.sterna)).status]).toEqual([200, 200])
    await asOwner(project, 'DELETE', `/${id}`)
    await asOwner(project, 'DELETE', `/${publicId}`)
    expect(outcome(await send(project, key))).toEqual([401, 'INVALID_API_KEY'])
    expect(outcome(await track(publicKey, second.sterna))).toEqual([401, 'INVALID_API_KEY'])
    expect((await project.send({ to: ADA }, { at: second.sterna })).status).toBe(200)
  })

  test('a rotation with grace refuses no request, and ends the key before when the grace period is over', async () => {
    const project = await newProject()
    const { id, key: old } = await create(project, { kind: 'public' })
    expect((await track(old, second.sterna)).status).toBe(200)
    const { body: rotated } = await asOwner(project, 'POST', `/${id}/rotate`, { graceHours: 1 })
    expect(rotated).toMatchObject({ id, prefix: rotated.key.slice(0, 11), graceUntil: expect.any(String) })
    for (const key of [old, rotated.key, old]) expect((await track(key, second.sterna)).status).toBe(200)

    await sql`update api_key_hashes set valid_until = now() where project_id = ${project.id} and valid_until is not null`.execute(sterna.db)
    await sql`update api_keys set version = version + 1 where project_id = ${project.id}`.execute(sterna.db)
    expect(outcome(await track(old, second.sterna))).toEqual([401, 'INVALID_API_KEY'])

    const { body: again } = await asOwner(project, 'POST', `/${id}/rotate`)
    expect(again.graceUntil).toBeNull()
    expect((await track(rotated.key, second.sterna)).status).toBe(401)
    expect((await track(again.key, second.sterna)).status).toBe(200)
  })

  test('changed scopes, domains, networks and expiry hold for the next request', async () => {
    const project = await newProject()
    const { id, key } = await create(project, { scopes: ['send'] })
    const change = (changes: object) => asOwner(project, 'PATCH', `/${id}`, changes)
    expect((await send(project, key)).status).toBe(200)
    await change({ scopes: ['read'] })
    const refused = await send(project, key)
    expect([outcome(refused), refused.body.error.details]).toEqual([[403, 'INSUFFICIENT_SCOPE'], { scope: 'send' }])
    await change({ scopes: ['send', 'contacts'] })
    expect((await send(project, key)).status).toBe(200)
    await change({ senderDomains: ['elsewhere.example'] })
    const foreign = await send(project, key)
    expect([outcome(foreign), foreign.body.error.details]).toEqual([[403, 'INSUFFICIENT_SCOPE'], { senderDomains: ['elsewhere.example'] }])
    await change({ senderDomains: null, networks: ['192.0.2.0/24'] })
    expect(outcome(await send(project, key))).toEqual([401, 'INVALID_API_KEY'])
    await change({ networks: ['127.0.0.0/8'] })
    expect((await send(project, key)).status).toBe(200)
    await sql`update api_keys set expires_at = now(), version = version + 1 where project_id = ${project.id}`.execute(sterna.db)
    expect(outcome(await send(project, key))).toEqual([401, 'INVALID_API_KEY'])
  })

  test('a key that expires while it is cached is refused then', async () => {
    const project = await newProject()
    const { key } = await create(project, { scopes: ['send'], expiresAt: new Date(Date.now() + 1_500).toISOString() })
    expect((await send(project, key)).status).toBe(200)
    await eventually(async () => expect(outcome(await send(project, key))).toEqual([401, 'INVALID_API_KEY']))
  })
})

describe('sender domains of a key', () => {
  test('hold for stored templates, campaigns and tests', async () => {
    const project = await newProject()
    const { key } = await create(project, { senderDomains: ['elsewhere.example'] })
    const { from } = project.sendBody({}) as { from: string }
    const template = { name: 'T', subject: 'S', body: 'B {{unsubscribeUrl}}', type: 'MARKETING', from }
    const { body: stored } = await project.call('POST', '/templates', template)
    const { body: campaign } = await project.call('POST', '/campaigns', { name: 'C', subject: 'S', body: 'B', from, audienceType: 'ALL' })
    const ofCampaign = `/campaigns/${campaign.data.id}`
    const calls = [
      ['POST', '/templates', { ...template, name: 'U' }],
      ['PATCH', `/templates/${stored.id}`, { subject: 'x' }],
      ['POST', `/templates/${stored.id}/test`, { email: ADA }],
      ['POST', '/v1/send', { to: ADA, template: stored.id }],
      ['POST', `${ofCampaign}/send`, {}],
      ['POST', `${ofCampaign}/test`, { email: ADA }],
      ['POST', '/campaigns', { name: 'C', subject: 'S', body: 'B', from, audienceType: 'ALL' }],
    ] as const
    for (const [method, url, body] of calls) {
      const answer = await sterna.call(method, url, { key, body })
      expect([url, outcome(answer)]).toEqual([url, [403, 'INSUFFICIENT_SCOPE']])
    }
  })

  test('hold for emails that exist, and for what is sent later', async () => {
    const project = await newProject()
    const { from } = project.sendBody({}) as { from: string }
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const { body: sent } = await project.send({ sendAt })
    const email = `/emails/${sent.data.emails[0].email}`
    const { body: failed } = await project.send({ sendAt })
    await sql`
      update emails set state = 'failed', error = 'x', error_code = 'transient', due_at = null where id = ${failed.data.emails[0].email}
    `.execute(sterna.db)
    const { body: campaign } = await project.call('POST', '/campaigns', { name: 'C', subject: 'S', body: 'B', from, audienceType: 'ALL' })
    const ofCampaign = `/campaigns/${campaign.data.id}`
    const { body: template } = await project.call('POST', '/templates', { name: 'T', subject: 'S', body: 'B', type: 'TRANSACTIONAL', from })
    const { body: workflow } = await project.call('POST', '/workflows', { name: 'W', eventName: 'e' })
    const step = { type: 'SEND_EMAIL', name: 'Send', config: { templateId: template.id } }
    const { body: added } = await project.call('POST', `/workflows/${workflow.id}/steps`, step)
    const ofWorkflow = `/workflows/${workflow.id}`
    const calls = [
      ['POST', `${email}/cancel`, undefined],
      ['PATCH', email, { sendAt: null }],
      ['POST', `/emails/${failed.data.emails[0].email}/resend`, undefined],
      ['POST', `${ofCampaign}/send`, { scheduledFor: sendAt }],
      ['POST', `${ofCampaign}/resume`, undefined],
      ['POST', `${ofCampaign}/resend`, undefined],
      ['PATCH', ofWorkflow, { enabled: true }],
      ['POST', `${ofWorkflow}/executions`, { contactId: crypto.randomUUID() }],
    ] as const
    const { key } = await create(project, { senderDomains: ['elsewhere.example'] })
    for (const [method, url, body] of calls) {
      const answer = await sterna.call(method, url, { key, body })
      expect([url, outcome(answer)]).toEqual([url, [403, 'INSUFFICIENT_SCOPE']])
    }
    expect((await project.call('GET', email)).body).toMatchObject({ status: 'PENDING', sendAt })

    // Without "send" a disabled workflow is a draft; once it is enabled, every change changes what is sent.
    const change = (name: string, by: string) => sterna.call('PATCH', `${ofWorkflow}/steps/${added.id}`, { key: by, body: { name } })
    const { key: unsending } = await create(project, { scopes: ['workflows'] })
    expect(outcome(await change('Draft', key))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect((await change('Draft', unsending)).status).toBe(200)
    await project.call('PATCH', ofWorkflow, { enabled: true })
    for (const by of [key, unsending]) {
      expect(outcome(await change('Live', by))).toEqual([403, 'INSUFFICIENT_SCOPE'])
      expect(outcome(await sterna.call('POST', `${ofWorkflow}/steps`, { key: by, body: step }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
      const delay = { type: 'DELAY', name: 'Wait', config: { amount: 1, unit: 'hours' } }
      expect(outcome(await sterna.call('POST', `${ofWorkflow}/steps`, { key: by, body: delay }))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    }
  })
})

describe('scopes that depend on the body', () => {
  test('to enable a workflow, or to schedule a campaign, needs "send"', async () => {
    const project = await newProject()
    const { key } = await create(project, { scopes: ['workflows', 'campaigns'] })
    const { body: workflow } = await project.call('POST', '/workflows', { name: 'W', eventName: 'e' })
    const answer = await sterna.call('PATCH', `/workflows/${workflow.id}`, { key, body: { enabled: true } })
    expect([outcome(answer), answer.body.error.details]).toEqual([[403, 'INSUFFICIENT_SCOPE'], { scope: 'send' }])
    expect((await sterna.call('PATCH', `/workflows/${workflow.id}`, { key, body: { name: 'V' } })).status).toBe(200)
  })

  test('jobs are read by the scope that starts them', async () => {
    const project = await newProject()
    const { body } = await project.call('POST', '/contacts/export', {})
    const { body: bulk } = await project.call('POST', '/contacts/bulk-subscribe', { contactIds: [crypto.randomUUID()] })
    const { key } = await create(project, { scopes: ['contacts'] })
    const { key: reader } = await create(project, { scopes: ['read'] })
    const status = async (jobId: string, by: string) => (await sterna.call('GET', `/jobs/${jobId}`, { key: by })).status
    expect([await status(bulk.jobId, key), await status(body.jobId, key)]).toEqual([200, 404])
    expect([await status(bulk.jobId, reader), await status(body.jobId, reader)]).toEqual([200, 200])
    const listed = (await sterna.call('GET', '/jobs', { key })).body
    expect([listed.total, listed.data.map(({ id }: { id: string }) => id)]).toEqual([1, [bulk.jobId]])
  })
})
