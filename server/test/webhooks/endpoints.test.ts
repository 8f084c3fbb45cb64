import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/log.ts'
import { disableProject, enableProject } from '../../src/projects/suspensions.ts'
import { createWebhookPartitions, dropOldWebhooks } from '../../src/webhook-endpoints/retention.ts'
import { checkBacklogs } from '../../src/webhook-endpoints/switch-off.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newProject } from '../support/project.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { isSignedBy, newEndpointProject, RECEIVER_ENV, startReceiver } from './endpoint-project.ts'

let dns: Awaited<ReturnType<typeof startDnsServer>>
const env: Record<string, string> = { ...RECEIVER_ENV }
// Before the app, which reads its configuration.
beforeAll(async () => {
  dns = await startDnsServer()
  env.DNS_SERVERS = dns.address
})
afterAll(() => dns.stop())
const sterna = useApp({ env, intervals: { campaigns: { startMs: 50, countMs: 100 } } })
type Project = Awaited<ReturnType<typeof newEndpointProject>>
let project: Project
const stops: (() => void)[] = []
beforeAll(async () => {
  project = await newEndpointProject(sterna, await sterna.newPerson())
})
afterAll(() => {
  for (const stop of stops) stop()
})

let number = 0
const receiver = async (...given: Parameters<typeof startReceiver>) => {
  const started = await startReceiver(...given)
  stops.push(started.stop)
  return started
}
/** An event of a name of its own, and an endpoint that listens to it alone. */
async function listen(respond?: Parameters<typeof startReceiver>[0], of: Project = project) {
  const event = `happened-${++number}`
  const host = await receiver(respond)
  const endpoint = await of.endpoint(host.url, [`event.${event}`])
  const happen = (data: object = {}) => of.track({ email: `ada${number}@example.com`, event, data })
  return { ...host, endpoint, event, happen }
}
/** As if the waits of all deliveries were over. */
const makeDue = (endpointId: string) =>
  sql`update webhook_deliveries set due_at = now() where endpoint_id = ${endpointId}`.execute(sterna.db)
const disabled = (reason: string | null) => ({ enabled: false, disabledReason: reason })
const answer = (status: number) => (res: Parameters<NonNullable<Parameters<typeof startReceiver>[0]>>[0]) => {
  res.statusCode = status
  res.end('a secret of the host')
}

describe('a delivery', () => {
  test('is signed, and has the event with its contact', async () => {
    const { happen, received, endpoint, event } = await listen()
    const tracked = (await happen({ plan: 'pro', text: '</script> \u2028 {{x}}' })).body.data
    await eventually(() => expect(received).toHaveLength(1))
    expect(received[0]!.body).toEqual({
      type: `event.${event}`,
      timestamp: tracked.timestamp,
      data: {
        contact: { id: tracked.contact, email: `ada${number}@example.com` },
        id: tracked.event,
        name: event,
        data: { plan: 'pro', text: '</script> \u2028 {{x}}' },
        contactId: tracked.contact,
        emailId: null,
        projectId: project.id,
        createdAt: tracked.timestamp,
      },
    })
    expect(isSignedBy(endpoint.secret, received[0]!)).toBe(true)
    const [delivery] = await eventually(async () => {
      const listed = await project.deliveries(endpoint.id, '?status=delivered')
      expect(listed).toHaveLength(1)
      return listed
    })
    expect(delivery).toMatchObject({
      id: received[0]!.headers['webhook-id'],
      status: 'delivered',
      attempts: [{ status: 200, error: null }],
      nextAttemptAt: null,
      payload: received[0]!.body,
    })
    expect((await project.get(endpoint.id)).health).toMatchObject({ succeeded: 1, failed: 0, successRate: 1 })
  })

  test('is tried again with the same id, and shows status and duration only', async () => {
    const { happen, received, endpoint } = await listen((res, n) => answer(n < 3 ? 500 : 204)(res))
    await happen()
    for (const attempts of [1, 2]) {
      const waiting = await eventually(async () => {
        const [delivery] = await project.deliveries(endpoint.id, '?status=pending')
        expect(delivery.attempts).toHaveLength(attempts)
        return delivery
      })
      expect(JSON.stringify(waiting)).not.toContain('a secret of the host')
      expect(waiting.attempts[0]).toMatchObject({ status: 500, error: 'The host answered with status 500.' })
      await makeDue(endpoint.id)
    }
    await eventually(async () => expect(await project.deliveries(endpoint.id, '?status=delivered')).toHaveLength(1))
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect((await project.get(endpoint.id)).failingSince).toBeNull()
  })

  test('fails after eight attempts, and can be made again', async () => {
    const { happen, received, endpoint } = await listen((res, n) => answer(n < 9 ? 302 : 200)(res))
    await happen()
    for (let attempt = 1; attempt <= 8; attempt++) {
      await eventually(() => expect(received).toHaveLength(attempt))
      await eventually(async () => expect((await project.deliveries(endpoint.id))[0].attempts).toHaveLength(attempt))
      await makeDue(endpoint.id)
    }
    const [{ id, status }] = await project.deliveries(endpoint.id)
    expect(status).toBe('failed')
    const replayed = await project.replay(endpoint.id, id)
    expect([replayed.status, replayed.body]).toEqual([200, expect.objectContaining({ id, status: 'pending' })])
    await eventually(async () => expect((await project.deliveries(endpoint.id))[0]).toMatchObject({ id, status: 'delivered' }))
    expect(received.at(-1)!.headers['webhook-id']).toBe(id)
    expect(received.at(-1)!.text).toBe(received[0]!.text)
  })

  test('waits as long as the schedule says', async () => {
    const { happen, endpoint } = await listen(answer(503))
    await happen()
    const waits: number[] = []
    for (let attempt = 1; attempt <= 7; attempt++) {
      const [delivery] = await eventually(async () => {
        const listed = await project.deliveries(endpoint.id)
        expect(listed[0]?.attempts).toHaveLength(attempt)
        return listed
      })
      waits.push(Math.round((Date.parse(delivery.nextAttemptAt) - Date.parse(delivery.attempts.at(-1).at)) / 60_000))
      await makeDue(endpoint.id)
    }
    expect(waits).toEqual([0, 5, 30, 120, 300, 600, 600])
  })
})

describe('what is told', () => {
  test('an endpoint gets what it listens to, and nothing is stored if none does', async () => {
    const other = await newEndpointProject(sterna)
    await other.track({ email: 'early@example.com', event: 'unheard' })
    expect(await many(sterna.db, sql`select from webhook_outbox where project_id = ${other.id}`)).toEqual([])
    const host = await receiver()
    await other.endpoint(host.url, ['contact.*'])
    const { id } = await other.contacts.create('bea@example.com', { subscribed: true })
    await other.contacts.update(id, { subscribed: false })
    await other.call('DELETE', `/contacts/${id}`)
    await other.track({ email: 'bea@example.com', event: 'unheard' })
    await eventually(() =>
      expect(host.types().sort()).toEqual(['contact.created', 'contact.created', 'contact.deleted', 'contact.unsubscribed']),
    )
    const deleted = host.received.find(({ body }) => body.type === 'contact.deleted')!
    expect(deleted.body.data).toMatchObject({ contact: { id, email: 'bea@example.com' }, contactId: id })
  })

  test('types are validated, and platform types cannot be confused with tracked events', async () => {
    const refused = await project.call('POST', '/webhook-endpoints', { url: 'https://hooks.example.com', events: ['email.nothing'] })
    expect(outcome(refused)).toEqual([422, 'VALIDATION_ERROR'])
    expect(refused.body.error.errors ?? refused.body.errors).toEqual([
      expect.objectContaining({ field: 'events.0', code: 'invalid_enum_value' }),
    ])
    const host = await receiver()
    const endpoint = await project.endpoint(host.url, ['contact.created', 'event.contact.created', 'segment.*', 'segment.vip.entry'])
    await project.track({ email: 'liar@example.com', event: 'contact.created' })
    await eventually(() => expect(host.types().sort()).toEqual(['contact.created', 'event.contact.created']))
    expect(outcome(await project.call('DELETE', `/webhook-endpoints/${endpoint.id}`))).toEqual([204])
  })

  test('emails, campaigns and the project are told, also while the project is disabled', async () => {
    const sending = await newProject(sterna).sending()
    const host = await receiver()
    const events = ['email.*', 'campaign.*', 'project.*', 'contact.created']
    await sending.call('POST', '/webhook-endpoints', { url: host.url, events })
    await sending.contacts.create('ada@example.com', { subscribed: true })
    const { id } = await sending.sent()
    const campaign = { name: 'News', subject: 'Hi', body: '<p>Hi</p>', from: `hello@${sending.domain}`, audienceType: 'ALL' }
    const campaignId = (await sending.call('POST', '/campaigns', campaign)).body.data.id
    expect(outcome(await sending.call('POST', `/campaigns/${campaignId}/send`))).toEqual([200])
    const told = ['campaign.sent', 'campaign.started', 'contact.created', 'email.sent', 'email.sent']
    await eventually(() => expect(host.types().sort()).toEqual(told))
    const dataOf = (type: string) => host.received.find(({ body }) => body.type === type)!.body.data
    expect(host.received.map(({ body }) => body.data.emailId)).toContain(id)
    expect(dataOf('campaign.sent')).toMatchObject({ contact: null, data: { campaignId, totalRecipients: 1, sentCount: 1 } })
    await transact(sterna.db, (tx) => disableProject(tx, sending.id, 'EMAIL_REPUTATION'))
    await eventually(() => expect(host.types().at(-1)).toBe('project.disabled'))
    expect(dataOf('project.disabled').data).toEqual({ reason: 'EMAIL_REPUTATION' })
    await transact(sterna.db, (tx) => enableProject(tx, sending.id, { by: 'operator' }))
    await eventually(() => expect(host.types().at(-1)).toBe('project.enabled'))
  })
})

describe('an endpoint', () => {
  test.each([
    ['http://169.254.169.254/latest', 422],
    ['http://127.0.0.1/', 422],
    ['http://[::1]/', 422],
    ['http://user@hooks.example.com/', 422],
    ['ftp://hooks.example.com/', 422],
    ['http://localhost:5432/', 422],
    ['https://hooks.example.com/in', 201],
  ])('%s is answered with %i', async (url, status) => {
    const { body, ...created } = await project.call('POST', '/webhook-endpoints', { url })
    expect(created.status).toBe(status)
    if (status === 201) await project.call('DELETE', `/webhook-endpoints/${body.id}`)
  })

  test('a name with a private address is refused at delivery, without a connection', async () => {
    dns.set('hooks.example.com', { A: ['127.0.0.2', '127.0.0.1'] })
    const host = await receiver()
    const endpoint = await project.endpoint(host.url.replace('127.0.0.2', 'hooks.example.com'), ['event.nowhere'])
    await project.track({ email: 'ada@example.com', event: 'nowhere' })
    await eventually(async () => {
      const [delivery] = await project.deliveries(endpoint.id)
      expect(delivery.attempts).toEqual([expect.objectContaining({ status: null, error: 'The address is not a public one.' })])
    })
    expect(host.received).toEqual([])
  })

  test('that answers 410 is disabled, its deliveries fail, and the owners get an email', async () => {
    const { happen, endpoint } = await listen((res, n) => answer(n === 1 ? 500 : 410)(res))
    await happen()
    await eventually(async () => expect((await project.deliveries(endpoint.id))[0]?.attempts).toHaveLength(1))
    await happen()
    await eventually(async () => expect(await project.get(endpoint.id)).toMatchObject(disabled('gone')))
    await eventually(async () =>
      expect((await project.deliveries(endpoint.id)).map(({ status }: { status: string }) => status)).toEqual(['failed', 'failed']),
    )
    const emails = await many(
      sterna.db,
      sql<{ subject: string }>`select subject from account_mails where subject like 'A webhook endpoint of%'`,
    )
    expect(emails).toHaveLength(1)
    const [{ id }] = await project.deliveries(endpoint.id)
    expect(outcome(await project.replay(endpoint.id, id))).toEqual([409, 'CONFLICT'])
    expect((await project.patch(endpoint.id, { enabled: true })).body).toMatchObject({ enabled: true, disabledReason: null })
  })

  test('is disabled after five days of failures, and by a backlog', async () => {
    const failing = await listen(answer(500))
    await sql`update webhook_endpoints set failing_since = now() - interval '121 hours' where id = ${failing.endpoint.id}`.execute(
      sterna.db,
    )
    await failing.happen()
    await eventually(async () => expect(await project.get(failing.endpoint.id)).toMatchObject(disabled('failing')))
    const late = await listen(answer(500))
    for (let n = 0; n < 3; n++) await late.happen()
    await eventually(async () => expect(await project.deliveries(late.endpoint.id)).toHaveLength(3))
    const deps = { secrets: sterna.secrets, log: createLog('silent'), publicUrl: 'http://localhost', isDelivered: false }
    await checkBacklogs(sterna.db, deps, 3)
    expect(await project.get(late.endpoint.id)).toMatchObject({ enabled: true })
    await checkBacklogs(sterna.db, deps, 2)
    expect(await project.get(late.endpoint.id)).toMatchObject(disabled('backlog'))
  })

  test('signs with both secrets after a rotation, and with one without grace', async () => {
    const { happen, received, endpoint } = await listen()
    const rotate = (body?: object) => project.call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, body)
    const second = (await rotate({ graceHours: 24 })).body.secret
    await happen()
    await eventually(() => expect(received).toHaveLength(1))
    expect([endpoint.secret, second].map((secret) => isSignedBy(secret, received[0]!))).toEqual([true, true])
    const third = (await rotate()).body.secret
    await happen()
    await eventually(() => expect(received).toHaveLength(2))
    expect([endpoint.secret, second, third].map((secret) => isSignedBy(secret, received[1]!))).toEqual([false, false, true])
    expect(outcome(await rotate({ graceHours: 169 }))).toEqual([422, 'VALIDATION_ERROR'])
  })

  test('gets a test request, whose answer is status and duration', async () => {
    const { received, endpoint } = await listen(answer(418))
    const { status, body } = await project.call('POST', `/webhook-endpoints/${endpoint.id}/test`)
    expect([status, body]).toEqual([200, { status: 418, durationMs: expect.any(Number), error: 'The host answered with status 418.' }])
    expect([received[0]!.body.type, isSignedBy(endpoint.secret, received[0]!)]).toEqual(['test', true])
    expect(await project.deliveries(endpoint.id)).toEqual([])
  })

  test('of another project is unknown, and so are its deliveries', async () => {
    const { happen, received, endpoint } = await listen()
    await happen()
    await eventually(async () => expect(await project.deliveries(endpoint.id, '?status=delivered')).toHaveLength(1))
    const [{ id }] = await project.deliveries(endpoint.id)
    const stranger = await newEndpointProject(sterna)
    const own = await stranger.endpoint('https://hooks.example.com')
    const tries = [
      await stranger.call('GET', `/webhook-endpoints/${endpoint.id}`),
      await stranger.call('GET', `/webhook-endpoints/${endpoint.id}/deliveries`),
      await stranger.replay(endpoint.id, id),
      await stranger.replay(own.id, id),
      await stranger.call('POST', `/webhook-endpoints/${endpoint.id}/test`),
      await stranger.call('POST', `/webhook-endpoints/${endpoint.id}/replay`, { from: '2020-01-01T00:00:00Z' }),
    ]
    expect(tries.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404])
    expect(received).toHaveLength(1)
  })

  test('a project has at most 20', async () => {
    const other = await newEndpointProject(sterna)
    const made = await Promise.all(
      Array.from({ length: 22 }, (_, n) => other.call('POST', '/webhook-endpoints', { url: `https://h${n}.example.com` })),
    )
    expect(made.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(outcome(made.find(({ status }) => status !== 201)!)).toEqual([409, 'CONFLICT'])
  })
})

test('the deliveries of a period are made again by a job, each with its id', async () => {
  const { happen, received, endpoint } = await listen((res, n) => answer(n === 1 ? 410 : 200)(res))
  await happen()
  await eventually(async () => expect(await project.get(endpoint.id)).toMatchObject(disabled('gone')))
  await project.patch(endpoint.id, { enabled: true })
  await happen()
  await eventually(async () => expect(await project.deliveries(endpoint.id, '?status=delivered')).toHaveLength(1))
  const ids = received.map(({ headers }) => headers['webhook-id'])
  const replay = (body: object) => project.call('POST', `/webhook-endpoints/${endpoint.id}/replay`, body)
  const { status, body } = await replay({ from: new Date(Date.now() - 60_000).toISOString() })
  expect([status, body]).toEqual([202, { message: expect.any(String), jobId: expect.any(String) }])
  await eventually(() => expect(received).toHaveLength(4))
  expect(
    received
      .slice(2)
      .map(({ headers }) => headers['webhook-id'])
      .sort(),
  ).toEqual(ids.sort())
  await eventually(async () =>
    expect((await project.call('GET', `/jobs/${body.jobId}`)).body).toMatchObject({ state: 'completed', result: { replayedCount: 2 } }),
  )
  expect(outcome(await replay({ from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' }))).toEqual([422, 'VALIDATION_ERROR'])
})

test('a reset keeps endpoints and drops deliveries', async () => {
  const owner = await sterna.newPerson()
  const other = await newEndpointProject(sterna, owner)
  const host = await receiver(answer(500))
  const endpoint = await other.endpoint(host.url)
  await other.track({ email: 'ada@example.com', event: 'x' })
  await eventually(async () => expect(await other.deliveries(endpoint.id)).not.toEqual([]))
  expect(outcome(await owner.call('POST', `/users/@me/projects/${other.id}/reset`))).toEqual([200])
  await eventually(async () => expect(await other.deliveries(endpoint.id)).toEqual([]))
  expect(await other.get(endpoint.id)).toMatchObject({ enabled: true })
})

test('days are dropped as a whole, and failed deliveries keep their payload', async () => {
  const failing = await listen(answer(410))
  const fine = await listen()
  await failing.happen()
  await fine.happen()
  await eventually(async () => expect(await project.deliveries(fine.endpoint.id, '?status=delivered')).toHaveLength(1))
  await eventually(async () => expect((await project.deliveries(failing.endpoint.id))[0]?.status).toBe('failed'))
  const before = await project.deliveries(failing.endpoint.id)
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
  await createWebhookPartitions(sterna.db, createLog('silent'), inDays(1))
  await dropOldWebhooks(sterna.db, inDays(10))
  expect(await project.deliveries(fine.endpoint.id)).toEqual([])
  expect(await project.deliveries(failing.endpoint.id)).toEqual(before)
  expect(before[0].payload.data.name).toBe(failing.event)
  expect(await many(sterna.db, sql`select from webhook_messages where name = ${failing.event}`)).toEqual([])
  await dropOldWebhooks(sterna.db, inDays(31))
  expect(await project.deliveries(failing.endpoint.id)).toEqual([])
})
