import { describe, expect, test } from 'vitest'
import { outcome } from '../../support/answers.ts'
import { useSharedApp } from '../../support/app.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())

const ADA = 'ada@example.com'

describe('the caller of track', () => {
  test('is recorded with every change of a subscription', async () => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: ADA })
    await project.track({ email: ADA, event: 'e', subscribed: false }, { headers: { 'x-request-id': 'from-the-website' } })
    await project.call('POST', '/events/track', { email: ADA, event: 'e', subscribed: true })
    const bySession = await project.owner.call('POST', '/events/track', {
      body: { email: ADA, event: 'e', subscribed: false },
      headers: { 'x-project-id': project.id },
    })
    expect(bySession.status).toBe(200)
    expect(await project.contacts.consents()).toEqual([
      { subscribed: false, source: 'public-key', details: { requestId: 'from-the-website', network: '127.0.0.1' } },
      { subscribed: true, source: 'secret-key', details: { requestId: expect.any(String) } },
      { subscribed: false, source: 'dashboard', details: { requestId: expect.any(String), userId: project.owner.id } },
    ])
  })

  test('needs the public key on /v1/track, and the secret key or a session on /events/track', async () => {
    const project = await newProject()
    const body = { email: ADA, event: 'e' }
    const session = { body, cookie: project.owner.cookie, headers: { 'x-project-id': project.id } }
    const answers = [
      await sterna.call('POST', '/v1/track', { body, key: project.sk }),
      await sterna.call('POST', '/v1/track', { body, key: `pk_${'0'.repeat(64)}` }),
      await sterna.call('POST', '/v1/track', { body, key: project.pk.toUpperCase() }),
      await sterna.call('POST', '/v1/track', { body, key: project.pk.replace('pk_', 'sk_') }),
      await sterna.call('POST', '/v1/track', { body }),
      await sterna.call('POST', '/v1/track', session),
      await sterna.call('POST', '/events/track', { body, key: project.pk }),
      await sterna.call('POST', '/events/track', { body }),
    ]
    const wrong = [401, 'INVALID_API_KEY']
    const missing = [401, 'MISSING_AUTH']
    expect(answers.map(outcome)).toEqual([wrong, wrong, wrong, wrong, missing, missing, wrong, missing])
    // A cached key has no more rights than before.
    expect((await project.track(body)).status).toBe(200)
    expect(outcome(await sterna.call('POST', '/events/track', { body, key: project.pk }))).toEqual(wrong)
    expect(outcome(await sterna.call('POST', '/v1/track', { body, key: project.sk }))).toEqual(wrong)
    expect((await sterna.call('POST', '/events/track', session)).status).toBe(200)
    expect(await project.events.names()).toEqual(['e', 'e'])
  })

  test('on another origin can read the response', async () => {
    const project = await newProject()
    const origin = { origin: 'https://shop.example' }
    const preflight = await sterna.call('OPTIONS', '/v1/track', {
      headers: { ...origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,idempotency-key' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, Idempotency-Replay',
    })
    const answers = [
      await project.track({ email: ADA, event: 'e' }, { headers: origin }),
      await project.track({ email: ADA, event: 'email.x' }, { headers: origin }),
      await project.track({ email: ADA, event: 'e' }, { headers: origin, pk: project.sk }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 422, 401])
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(headers['access-control-allow-credentials']).toBeUndefined()
      expect(headers['access-control-expose-headers']).toContain('Retry-After')
    }
    const elsewhere = await sterna.call('POST', '/events/track', { key: project.sk, body: { email: ADA, event: 'e' }, headers: origin })
    expect(elsewhere.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('cannot tell existing contacts from new ones, and cannot use the contact id', async () => {
    const project = await newProject()
    await project.call('POST', '/contacts', { email: 'known@example.com', subscribed: false, data: { secret: 1 } })
    const [known, unknown] = [
      await project.track({ email: 'known@example.com', event: 'e' }),
      await project.track({ email: 'unknown@example.com', event: 'e' }),
    ]
    expect(Object.keys(known.body.data)).toEqual(Object.keys(unknown.body.data))
    expect([known.status, Object.keys(known.headers).sort()]).toEqual([unknown.status, Object.keys(unknown.headers).sort()])
    const { contact } = known.body.data
    for (const key of [project.pk, undefined]) {
      for (const [method, url] of [
        ['GET', `/contacts/${contact}`],
        ['PATCH', `/contacts/${contact}`],
        ['DELETE', `/contacts/${contact}`],
        ['GET', `/contacts/${contact}/consent`],
        ['GET', `/events/contact/${contact}`],
        ['GET', '/events'],
      ] as const) {
        expect((await sterna.call(method, url, { key, ...(method === 'PATCH' ? { body: {} } : {}) })).status).toBe(401)
      }
    }
  })
})
