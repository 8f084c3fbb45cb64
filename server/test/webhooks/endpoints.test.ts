import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { disableProject, enableProject } from '../../src/projects/suspensions.ts'
import { createWebhookPartitions, dropOldWebhooks } from '../../src/webhook-endpoints/retention.ts'
import { checkBacklogs } from '../../src/webhook-endpoints/switch-off.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newProject } from '../support/project.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { newWorkflowProject } from '../workflows/workflow-project.ts'
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
/** A worker that has taken the endpoint, and does nothing: what happens waits. Undone by `release`. */
const hold = (endpointId: string) =>
  sql`update webhook_endpoints set leased_until = now() + interval '1 hour' where id = ${endpointId}`.execute(sterna.db)
const release = (endpointId: string) => sql`update webhook_endpoints set leased_until = null where id = ${endpointId}`.execute(sterna.db)
type Delivery = {
  id: string
  type: string
  status: string
  attempts: { status: number; error: string }[]
  payload: { data: { id: string } }
}
/** All deliveries, by pages of two. */
async function listAll(endpointId: string, query = ''): Promise<Delivery[]> {
  const found: Delivery[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await project.call('GET', `/webhook-endpoints/${endpointId}/deliveries?limit=2${query}&cursor=${cursor}`)
    if (cursor === '' && !query) expect(body.total).toBeGreaterThanOrEqual(body.data.length)
    found.push(...body.data)
    cursor = body.cursor as string | null
  }
  return found
}
/** As if the waits of all deliveries were over. */
const makeDue = (endpointId: string) =>
  sql`update webhook_deliveries set due_at = now() where endpoint_id = ${endpointId}`.execute(sterna.db)
const disabled = (reason: string | null) => ({ enabled: false, disabledReason: reason })
const answer = (status: number) => (res: Parameters<NonNullable<Parameters<typeof startReceiver>[0]>>[0]) => {
  res.statusCode = status
  res.end('a secret of the host')
}

const HOSTILE = '</script>\r\nX-Injected: 1\r\n\r\n \u2028\u202e {{ contact.email }} "\\\'; --'

describe('a delivery', () => {
  test('is signed, and has the event with its contact', async () => {
    const { happen, received, endpoint, event } = await listen()
    const data = { plan: 'pro', text: HOSTILE, list: { value: [HOSTILE, { [HOSTILE]: null }], persistent: false } }
    const tracked = (await happen(data)).body.data
    await eventually(() => expect(received).toHaveLength(1))
    expect(received[0]!.body).toEqual({
      type: `event.${event}`,
      timestamp: tracked.timestamp,
      data: {
        contact: { id: tracked.contact, email: `ada${number}@example.com` },
        id: tracked.event,
        name: event,
        data: { plan: 'pro', text: HOSTILE, list: [HOSTILE, { [HOSTILE]: null }] },
        contactId: tracked.contact,
        emailId: null,
        projectId: project.id,
        createdAt: tracked.timestamp,
      },
    })
    expect(isSignedBy(endpoint.secret, received[0]!)).toBe(true)
    expect(received[0]!.headers).not.toHaveProperty('x-injected')
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

describe('deliveries that are made together', () => {
  test('are listed one by one, each with its message, before and after they are made', async () => {
    const { happen, received, endpoint, event } = await listen((res, n) => answer(n === 2 ? 500 : 200)(res))
    await hold(endpoint.id)
    const tracked = await Promise.all(Array.from({ length: 7 }, (_, index) => happen({ index })))
    const events = tracked.map(({ body }) => body.data.event as string).sort()
    const waiting = await eventually(async () => {
      const listed = await listAll(endpoint.id, '&status=pending')
      expect(listed).toHaveLength(7)
      return listed
    })
    const ids = waiting.map(({ id }) => id).sort()
    expect(new Set(ids).size).toBe(7)
    expect(waiting.map(({ payload }) => payload.data.id).sort()).toEqual(events)
    expect(waiting.every(({ attempts }) => attempts.length === 0)).toBe(true)
    expect((await project.replay(endpoint.id, ids[3]!)).body).toMatchObject({ id: ids[3], status: 'pending' })
    await release(endpoint.id)

    await eventually(async () => expect(await listAll(endpoint.id, '&status=delivered')).toHaveLength(6))
    const listed = await listAll(endpoint.id)
    expect(listed.map(({ id }) => id).sort()).toEqual(ids)
    expect(received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(ids)
    expect(listed.map(({ status, attempts }) => [status, attempts[0]?.status]).sort()).toEqual([
      ...Array.from({ length: 6 }, () => ['delivered', 200]),
      ['pending', 500],
    ])
    expect(await listAll(endpoint.id, `&type=${encodeURIComponent(`event.${event}`)}`)).toHaveLength(7)
    expect(await listAll(endpoint.id, '&type=event.other')).toEqual([])

    const told = listed.find(({ status }) => status === 'delivered')!
    expect((await project.replay(endpoint.id, told.id)).body).toMatchObject({ id: told.id, payload: told.payload })
    await eventually(() => expect(received).toHaveLength(8))
    expect([received[7]!.headers['webhook-id'], received[7]!.body]).toEqual([told.id, told.payload])
    await eventually(async () => {
      const again = await listAll(endpoint.id)
      expect(again.map(({ id }) => id).sort()).toEqual(ids)
      expect(again.find(({ id }) => id === told.id)).toMatchObject({ status: 'delivered', attempts: [{ status: 200 }, { status: 200 }] })
    })
  })

  test('count as a backlog, and fail with the endpoint', async () => {
    const { happen, endpoint } = await listen()
    await hold(endpoint.id)
    await Promise.all([happen(), happen(), happen()])
    await eventually(async () => expect(await project.deliveries(endpoint.id, '?status=pending')).toHaveLength(3))
    const deps = { secrets: sterna.secrets, log: createLog('silent'), publicUrl: 'http://localhost', isDelivered: false }
    await checkBacklogs(sterna.db, deps, 3)
    expect(await project.get(endpoint.id)).toMatchObject({ enabled: true })
    await checkBacklogs(sterna.db, deps, 2)
    await eventually(async () => expect(await project.deliveries(endpoint.id, '?status=failed')).toHaveLength(3))
    expect((await project.deliveries(endpoint.id))[0].attempts).toMatchObject([{ status: null, error: 'The endpoint was disabled.' }])
  })
})

describe('what is told', () => {
  test('an endpoint gets what it listens to, and nothing is stored if none does', async () => {
    const other = await newEndpointProject(sterna)
    await other.track({ email: 'early@example.com', event: 'unheard' })
    expect(await many(sterna.db, sql`select from webhook_messages where project_id = ${other.id}`)).toEqual([])
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
    const dataOf = (type: string) => host.received.find(({ body }) => body.type === type)?.body.data
    expect(host.received.map(({ body }) => body.data.emailId)).toContain(id)
    expect(dataOf('campaign.sent')).toMatchObject({ contact: null, data: { campaignId, totalRecipients: 1, sentCount: 1 } })
    const later = { ...campaign, ratePerMinute: 1 }
    await sending.contacts.create('bea@example.com', { subscribed: true })
    const pausedId = (await sending.call('POST', '/campaigns', later)).body.data.id
    await sending.call('POST', `/campaigns/${pausedId}/send`)
    expect(outcome(await sending.call('POST', `/campaigns/${pausedId}/pause`))).toEqual([200])
    await eventually(() => expect(dataOf('campaign.paused')).toMatchObject({ data: { campaignId: pausedId, reason: 'person' } }))
    await eventually(() => expect(host.types().filter((type) => type === 'campaign.started')).toHaveLength(2))
    await transact(sterna.db, (tx) => disableProject(tx, sending.id, 'EMAIL_REPUTATION'))
    await eventually(() => expect(host.types()).toContain('project.disabled'))
    expect(dataOf('project.disabled').data).toEqual({ reason: 'EMAIL_REPUTATION' })
    await transact(sterna.db, (tx) => enableProject(tx, sending.id, { by: 'operator' }))
    await eventually(() => expect(host.types()).toContain('project.enabled'))
  })

  test('the end of an execution is told, with why it ended', async () => {
    const workflows = await newWorkflowProject(sterna)
    const host = await receiver()
    await workflows.call('POST', '/webhook-endpoints', { url: host.url, events: ['workflow.*'] })
    const { id: contactId } = await workflows.contacts.create('ada@example.com')
    const completed = await workflows.line([{ type: 'EXIT', config: { reason: 'enough' } }], { name: 'Short' })
    const failed = await workflows.line([{ type: 'WEBHOOK', config: { url: 'https://private.example.com/' } }], { name: 'Broken' })
    dns.set('private.example.com', { A: ['127.0.0.1'] })
    for (const { id } of [completed, failed]) expect((await workflows.start(id, contactId)).status).toBe(201)
    await eventually(() => expect(host.types().sort()).toEqual(['workflow.completed', 'workflow.failed']))
    const dataOf = (type: string) => host.received.find(({ body }) => body.type === type)!.body.data
    const contact = { id: contactId, email: 'ada@example.com' }
    expect(dataOf('workflow.completed')).toMatchObject({ contact, data: { workflowId: completed.id, exitReason: 'enough' } })
    expect(dataOf('workflow.failed')).toMatchObject({ contact, data: { workflowId: failed.id, executionId: expect.any(String) } })
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
    const countEmails = async () =>
      (await many(sterna.db, sql`select from account_mails where subject like 'A webhook endpoint of%'`)).length
    const emailsBefore = await countEmails()
    await happen()
    await eventually(async () => expect((await project.deliveries(endpoint.id))[0]?.attempts).toHaveLength(1))
    await happen()
    await eventually(async () => expect(await project.get(endpoint.id)).toMatchObject(disabled('gone')))
    await eventually(async () =>
      expect((await project.deliveries(endpoint.id)).map(({ status }: { status: string }) => status)).toEqual(['failed', 'failed']),
    )
    expect(await countEmails()).toBe(emailsBefore + 1)
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

  test('is in the audit trail by the host of its URL, with its settings and without its secret', async () => {
    const owner = await sterna.newPerson()
    const other = await newEndpointProject(sterna, owner)
    const host = await receiver(answer(410))
    const { id, url, secret } = await other.endpoint(host.url, ['event.x'])
    await other.patch(id, { description: 'Shop' })
    const rotated = await other.call('POST', `/webhook-endpoints/${id}/rotate-secret`)
    await other.call('POST', `/webhook-endpoints/${id}/test`)
    await other.track({ email: 'ada@example.com', event: 'x' })
    await eventually(async () => expect(await other.get(id)).toMatchObject(disabled('gone')))
    await other.call('DELETE', `/webhook-endpoints/${id}`)
    const { data } = (await owner.call('GET', `/projects/${other.id}/audit?action=webhook_endpoint`)).body
    const target = { type: 'webhook_endpoint', id, name: new URL(url).host }
    expect(data).toMatchObject([
      { action: 'webhook_endpoint.delete', target },
      { action: 'webhook_endpoint.disable', actor: { type: 'system' }, target, changes: [{ field: 'disabledReason', value: 'gone' }] },
      { action: 'webhook_endpoint.test', target },
      { action: 'webhook_endpoint.rotate_secret', target },
      { action: 'webhook_endpoint.update', target, changes: [{ field: 'description', value: 'Shop' }] },
      { action: 'webhook_endpoint.create', target, changes: expect.arrayContaining([{ field: 'url', value: url }]) },
    ])
    for (const each of [secret, rotated.body.secret]) expect(JSON.stringify(data)).not.toContain(each)
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
  const waiting = await listen()
  await hold(waiting.endpoint.id)
  await failing.happen()
  await fine.happen()
  await waiting.happen()
  await eventually(async () => expect(await project.deliveries(waiting.endpoint.id, '?status=pending')).toHaveLength(1))
  await eventually(async () => expect(await project.deliveries(fine.endpoint.id, '?status=delivered')).toHaveLength(1))
  await eventually(async () => expect((await project.deliveries(failing.endpoint.id))[0]?.status).toBe('failed'))
  const before = await project.deliveries(failing.endpoint.id)
  const beforeWaiting = await project.deliveries(waiting.endpoint.id)
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000)
  await createWebhookPartitions(sterna.db, createLog('silent'), inDays(1))
  await dropOldWebhooks(sterna.db, inDays(10))
  expect(await project.deliveries(fine.endpoint.id)).toEqual([])
  expect(await project.deliveries(failing.endpoint.id)).toEqual(before)
  expect(await project.deliveries(waiting.endpoint.id)).toEqual(beforeWaiting)
  expect(before[0].payload.data.name).toBe(failing.event)
  expect(await many(sterna.db, sql`select from webhook_messages where name = ${failing.event}`)).toEqual([])
  await dropOldWebhooks(sterna.db, inDays(31))
  expect(await project.deliveries(failing.endpoint.id)).toEqual([])
})
