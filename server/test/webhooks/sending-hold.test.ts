import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { run } from '../../src/cli.ts'
import { many, maybeOne, scalar, transact } from '../../src/db/index.ts'
import { FOLDED_LEDGERS } from '../../src/ledgers.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { serveMetrics } from '../../src/monitoring/serve-metrics.ts'
import { holdPartially } from '../../src/nodes/sending-hold.ts'
import { useApp } from '../support/app.ts'
import { eventually, until } from '../support/eventually.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startStripeServer } from '../support/servers/stripe-server.ts'
import { newWorkflowProject } from '../workflows/workflow-project.ts'

const METRICS_TOKEN = 'a token of tests'
const env: Record<string, string> = { RATE_LIMIT_PER_MINUTE: '0', WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32', METRICS_TOKEN }
let stripe: Awaited<ReturnType<typeof startStripeServer>>
beforeAll(async () => {
  stripe = await startStripeServer()
  Object.assign(env, stripe.env)
})
afterAll(() => stripe.stop())

const logged: string[] = []
const log = createLog('info', new Writable({ write: (chunk, _, done) => void done(void logged.push(String(chunk))) }))
const sterna = useApp({
  env,
  log,
  // Soon after its deadline, so that only the hold keeps a wait open.
  intervals: { timeoutAfterMs: 0, campaigns: { startMs: 50, countMs: 100 } },
  extend: (app, deps) => void serveMetrics(app, deps, FOLDED_LEDGERS),
})

/** Requests to the customer's host. */
const received: {
  path: string
  id: string
  body: { type?: string; data?: { id?: string; contact?: { email: string } | null }; contact?: { email: string } }
}[] = []
const host = createServer((req, res) => {
  let text = ''
  req.on('data', (chunk) => {
    text += chunk
  })
  req.on('end', () => {
    received.push({ path: req.url!, id: String(req.headers['webhook-id']), body: JSON.parse(text) })
    res.end()
  })
})
let url: string
let project: Awaited<ReturnType<typeof newWorkflowProject>>
let endpointId: string
beforeAll(async () => {
  await new Promise<void>((listening) => host.listen(0, '127.0.0.2', listening))
  url = `http://127.0.0.2:${(host.address() as AddressInfo).port}`
  project = await newWorkflowProject(sterna)
  const { body } = await project.call('POST', '/webhook-endpoints', { url: `${url}/endpoint`, events: ['*'] })
  endpointId = body.id
})
afterAll(() => void host.close())

const to = (path: string) => received.filter((request) => request.path === path)
const webhook = (path: string) => ({ type: 'WEBHOOK', config: { url: `${url}${path}` } })

/** What the command prints. */
async function cli(...args: string[]) {
  const printed: string[] = []
  const spy = vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line))
  try {
    expect(await run(args, { DATABASE_URL: sterna.url, SECRET_KEY })).toBe(0)
  } finally {
    spy.mockRestore()
  }
  return printed.join('\n')
}

/** By the command, as on a running installation; the worker has noticed. */
async function hold() {
  logged.length = 0
  expect(await cli('sending', 'hold', '--reason', 'a look at what waits')).toContain('Sending is held')
  await until('the worker notices', () => logged.some((line) => line.includes('sending is held: nothing leaves')))
}
async function resume() {
  expect(await cli('sending', 'resume')).toContain('Emails leave again')
  await until('the worker notices', () => logged.some((line) => line.includes('sending goes on')))
}
// After a test that failed while sending was held.
afterEach(async () => {
  if (await maybeOne(sterna.db, sql`select from instance where sending_held_at is not null or sending_waits_before is not null`))
    await resume()
})

/** The worker has handled reactions and facts several times, each after a rest: whatever was due before has had its turn. */
async function rounds() {
  const waiting = () => scalar<number>(sterna.db)`select (select count(*) from reactions)::int + (select count(*) from webhook_outbox)::int`
  for (let round = 0; round < 6; round++) {
    expect((await project.track({ email: 'rounds@example.com', event: 'round' })).status).toBe(200)
    await until('reactions and facts are handled', async () => (await waiting()) === 0)
  }
}

const runJob = async (name: string) => {
  await sql`select graphile_worker.add_job(${name})`.execute(sterna.db)
  const waiting = sql`
    select 1 from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier = ${name}`
  await until('the job has run', async () => (await many(sterna.db, waiting)).length === 0)
}

describe('while sending is held', () => {
  test('nothing leaves and executions stand still; then each thing leaves once, and waits end by the events stored meanwhile, in order', async () => {
    // Two contacts wait for the same event; one contact is in a delay.
    const waiting = await project.create({ name: 'Waits', eventName: 'ordered' })
    const wait = await project.addStep(waiting.id, { type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', timeout: 3_600 } })
    const [paid, late] = [await project.addStep(waiting.id, webhook('/paid')), await project.addStep(waiting.id, webhook('/late'))]
    for (const [from, step, branch] of [
      [waiting.steps[0].id, wait.id],
      [wait.id, paid.id],
      [wait.id, late.id, 'timeout'],
    ] as const)
      await project.created(await project.connect(waiting.id, from, step, branch))
    await project.call('PATCH', `/workflows/${waiting.id}`, { enabled: true })
    for (const name of ['intime', 'toolate']) await project.track({ email: `${name}@example.com`, event: 'ordered' })
    const delayed = await project.line([{ type: 'DELAY', config: { amount: 1, unit: 'hours' } }, webhook('/delayed')], {
      eventName: 'slow',
    })
    await project.track({ email: 'slow@example.com', event: 'slow' })
    const charge = await project.line([webhook('/charge')], { eventName: 'order' })
    await until('the waits are open', async () => (await project.executions(waiting.id, '?status=WAITING')).length === 2)
    const inDelay = await project.waiting(delayed.id)
    await until(
      'all facts are delivered',
      async () => to('/endpoint').length > 0 && (await many(sterna.db, sql`select 1 from webhook_batches`)).length === 0,
    )

    await hold()
    await rounds()
    const before = received.length

    // Events are stored, and start executions. The first wait ends by its event, which came in time; the second by its timeout.
    for (const name of ['ann', 'bob', 'eve'])
      expect((await project.track({ email: `${name}@example.com`, event: 'order' })).status).toBe(200)
    expect((await project.track({ email: 'intime@example.com', event: 'paid' })).status).toBe(200)
    await sql`update workflow_executions set deadline_at = clock_timestamp(), due_at = clock_timestamp() where project_id = ${project.id} and awaits is not null`.execute(
      sterna.db,
    )
    await project.elapse(inDelay.id)
    expect((await project.track({ email: 'toolate@example.com', event: 'paid' })).status).toBe(200)
    const email = { to: 'reader@example.com', from: `hello@${project.domain}`, subject: 'Hi', body: '<p>Hi</p>' }
    const sent = (await project.send(email)).body.data.emails[0].email as string
    const { data: campaign } = (
      await project.call('POST', '/campaigns', { name: 'C', subject: 'C', body: '<p>C</p>', from: email.from, audienceType: 'ALL' })
    ).body
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString()
    expect((await project.call('POST', `/campaigns/${campaign.id}/send`, { scheduledFor })).status).toBe(200)
    await sql`update campaigns set scheduled_for = now() - interval '1 minute' where project_id = ${project.id}`.execute(sterna.db)
    const segmentId = (await project.call('POST', '/segments', { name: 'Fixed', type: 'STATIC' })).body.id as string
    await project.call('POST', `/segments/${segmentId}/members`, { emails: ['ann@example.com'] })
    const at = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 180_000)
    const scheduled = await project.line([webhook('/scheduled')])
    const schedule = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
    await project.call('PATCH', `/workflows/${scheduled.id}`, { triggerType: 'SCHEDULE', triggerConfig: { schedule, segmentId } })
    await sql`update workflows set next_firing_at = ${at} where id = ${scheduled.id}`.execute(sterna.db)
    await sql`
      insert into usage_reports (project_id, category, hour, part, value, customer, identifier)
      values (${project.id}, 'transactional', date_trunc('hour', now()) - interval '2 hours', 0, 5, 'cus_held', 'held-report')
    `.execute(sterna.db)
    await runJob('cron.report-usage')
    await rounds()

    const open = async (id: string) => (await project.executions(id)).map(({ status }) => status).sort()
    expect(await open(charge.id)).toEqual(['RUNNING', 'RUNNING', 'RUNNING'])
    expect(await open(waiting.id)).toEqual(['WAITING', 'WAITING'])
    expect(await open(delayed.id)).toEqual(['WAITING'])
    expect((await project.stats(scheduled.id)).firings).toEqual([])
    expect((await project.call('GET', `/campaigns/${campaign.id}`)).body.status).toBe('SCHEDULED')
    expect((await project.call('GET', `/emails/${sent}`)).body.status).toBe('PENDING')
    expect(received.slice(before)).toEqual([])
    expect(stripe.meterEvents).toEqual([])

    await resume()
    await until('all executions have ended', async () => {
      const ids = [charge.id, waiting.id, delayed.id, scheduled.id]
      const statuses = (await Promise.all(ids.map(open))).flat()
      return statuses.length === 7 && statuses.every((status) => status === 'COMPLETED')
    })
    const addresses = (path: string) =>
      to(path)
        .map(({ body }) => body.contact!.email)
        .sort()
    expect(addresses('/charge')).toEqual(['ann@example.com', 'bob@example.com', 'eve@example.com'])
    expect([addresses('/paid'), addresses('/late')]).toEqual([['intime@example.com'], ['toolate@example.com']])
    expect([addresses('/delayed'), addresses('/scheduled')]).toEqual([['slow@example.com'], ['ann@example.com']])
    await eventually(async () => expect((await project.call('GET', `/emails/${sent}`)).body.status).toBe('SENT'))
    await eventually(async () => expect((await project.call('GET', `/campaigns/${campaign.id}`)).body.status).toBe('SENT'))
    await runJob('cron.report-usage')
    expect(stripe.meterEvents.map(({ identifier }) => identifier)).toEqual(['held-report'])
    // Each tracked event is told once.
    await eventually(() => expect(to('/endpoint').filter(({ body }) => body.type === 'event.order')).toHaveLength(3))
    await until('all facts are delivered', async () => (await many(sterna.db, sql`select 1 from webhook_batches`)).length === 0)
    const ids = to('/endpoint').map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('a subscription of a deleted project is not ended at Stripe', async () => {
    await hold()
    stripe.requests.length = 0
    await sql`select graphile_worker.add_job('billing.cancel', ${JSON.stringify({ subscription: 'sub_held', projectId: project.id })}::json)`.execute(
      sterna.db,
    )
    const later = sql`
      select 1 from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
      where t.identifier = 'billing.cancel' and run_at > now() + interval '10 s'`
    await until('it waits', async () => (await many(sterna.db, later)).length === 1)
    expect(stripe.requests).toEqual([])
    await resume()
  })

  test('a test of a webhook is refused', async () => {
    await hold()
    const { id } = await project.create()
    const before = to('/tested').length
    const tested = await project.call('POST', `/workflows/${id}/webhook-test`, { config: { url: `${url}/tested` } })
    const told = await project.call('POST', `/webhook-endpoints/${endpointId}/test`)
    for (const answer of [tested, told])
      expect([answer.status, answer.body.error]).toMatchObject([409, { code: 'CONFLICT', details: { reason: 'sending_held' } }])
    expect(to('/tested')).toHaveLength(before)
    await resume()
    expect((await project.call('POST', `/webhook-endpoints/${endpointId}/test`)).body).toMatchObject({ status: 200, error: null })
  })

  test('in part, what was recorded before waits, and later emails, executions and deliveries run', async () => {
    await hold()
    const line = await project.line([webhook('/in-part')], { eventName: 'partly' })
    const email = { from: `hello@${project.domain}`, subject: 'Hi', body: '<p>Hi</p>' }
    const sent = async (to: string) => (await project.send({ ...email, to })).body.data.emails[0].email as string
    const statusOf = async (id: string) => (await project.call('GET', `/emails/${id}`)).body.status
    const told = () => to('/endpoint').flatMap(({ body }) => (body.type === 'event.partly' ? [body.data!.contact!.email] : []))
    await project.track({ email: 'former@example.com', event: 'partly' })
    const former = await sent('former@example.com')
    await rounds()

    await transact(sterna.db, (tx) => holdPartially(tx, { reason: 'a standby took over', untilResumed: true }))
    await sql`update instance set sending_held_at = null, sending_held_reason = null`.execute(sterna.db)
    await until('the worker notices', () => logged.some((each) => each.includes('sending is held in part')))
    await project.track({ email: 'later@example.com', event: 'partly' })
    const later = await sent('later@example.com')
    await eventually(async () => expect(await statusOf(later)).toBe('SENT'))
    await eventually(() => expect(to('/in-part').map(({ body }) => body.contact!.email)).toEqual(['later@example.com']))
    await eventually(() => expect(told()).toEqual(['later@example.com']))
    await rounds()
    expect([await statusOf(former), to('/in-part').length, told()]).toEqual(['PENDING', 1, ['later@example.com']])
    expect((await sterna.call('GET', '/ready')).body.sendingHeld).toBe('partial')

    await resume()
    await eventually(async () => expect(await statusOf(former)).toBe('SENT'))
    await eventually(() =>
      expect(to('/in-part').map(({ body }) => body.contact!.email)).toEqual(['later@example.com', 'former@example.com']),
    )
    await eventually(() => expect(told()).toEqual(['later@example.com', 'former@example.com']))
    await eventually(async () =>
      expect((await project.executions(line.id)).map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED']),
    )
  })

  test('/ready, doctor and a metric say so', async () => {
    const operator = await sterna.newPerson()
    await sql`update users set operator = true where id = ${operator.id}`.execute(sterna.db)
    const seen = async () => {
      const ready = await sterna.call('GET', '/ready')
      const { checks } = (await operator.call('GET', '/doctor')).body
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
      const metrics = (await sterna.app.inject({ url: '/metrics', headers })).body
      return {
        ready: [ready.status, ready.body.sendingHeld],
        doctor: checks.filter(({ name }: { name: string }) => name === 'sending').map(({ note }: { note: string }) => note),
        metric: /^sterna_sending_held\{kind="full"\} (\d)$/m.exec(metrics)?.[1],
      }
    }
    await hold()
    const doctor = [expect.stringMatching(/^held in full: nothing leaves.* a look at what waits; .*sending resume$/)]
    await eventually(async () => expect(await seen()).toEqual({ ready: [200, 'full'], doctor, metric: '1' }))
    await resume()
    await eventually(async () => expect(await seen()).toEqual({ ready: [200, null], doctor: ['nothing is paused'], metric: '0' }))
  })
})
