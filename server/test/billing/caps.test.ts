import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { cancelQueued } from '../../src/delivery/outbox/cancel.ts'
import { checkCaps } from '../../src/projects/caps.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { useCountedSending } from '../support/delivery/counted-sending.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/process.ts'
import { newSendingProject } from '../support/project.ts'
import { deliver } from '../support/servers/smtp-client.ts'

const env: Record<string, string> = {}
beforeAll(async () => {
  Object.assign(env, { INBOUND_SMTP_PORT: String(await freePort()), INBOUND_SMTP_HOST: '127.0.0.1' })
})
const { sterna, newProject, merge } = useCountedSending({ env })
const owner = () => sterna.sharedOwner()

const OVER = [402, 'BILLING_LIMIT_EXCEEDED']
const to = (count: number, name = 'r') => Array.from({ length: count }, (_, n) => `${name}${n}@example.com`)

describe('a cap on transactional emails', () => {
  test('refuses a request that would exceed it as a whole, and leaves neither email nor key', async () => {
    const project = await newProject(await owner())
    await project.limit({ transactional: 3 })
    expect(outcome(await project.send({ to: to(2) }))).toEqual([200])
    const refused = await project.send({ to: to(2, 'over') }, { key: 'k' })
    expect([outcome(refused), refused.body.error.details]).toEqual([OVER, { category: 'transactional', limit: 3, used: 2, wanted: 2 }])
    expect(await project.idempotencyKeys()).toEqual([])
    expect(await many(sterna.db, sql`select 1 from contacts where project_id = ${project.id} and email like 'over%'`)).toEqual([])
    expect(outcome(await project.send())).toEqual([200])
    expect(outcome(await project.send())).toEqual(OVER)
    expect(await project.get('billing-limits')).toMatchObject({
      transactional: { limit: 3, usage: 3, percentage: 100, isWarning: true, isBlocked: true },
      campaigns: { limit: null, usage: 0, percentage: null, isWarning: false, isBlocked: false },
      currency: null,
    })
    await project.limit({ transactional: null })
    expect(outcome(await project.send())).toEqual([200])
  })

  test('refuses an email that a person sends, which counts alike', async () => {
    const project = await newProject(await owner())
    await project.limit({ transactional: 1 })
    const send = () =>
      project.owner.call('POST', '/emails', {
        body: { to: 'ada@example.com', from: `hello@${project.domain}`, subject: 'Hi', body: 'Hi' },
        headers: { 'x-project-id': project.id },
      })
    expect(outcome(await send())).toEqual([201])
    expect(await project.usage('transactional')).toBe(1)
    expect(outcome(await send())).toEqual(OVER)
    expect(outcome(await project.send())).toEqual(OVER)
  })

  test('counts what was added up and what was not alike, also in requests of one batch', async () => {
    const project = await newProject(await owner())
    await project.limit({ transactional: 5 })
    await project.send({ to: to(2) })
    await merge()
    await project.send()
    const requests = [1, 2, 1, 1].map((emails) => ({ projectId: project.id, emails }))
    const refusals = await transact(sterna.db, (tx) => checkCaps(tx, 'transactional', requests))
    expect(refusals.map((refusal) => refusal?.code)).toEqual([undefined, OVER[1], undefined, OVER[1]])
  })

  test('a repeat of an accepted request stays a 409 and uses up nothing', async () => {
    const project = await newProject(await owner())
    await project.limit({ transactional: 1 })
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual([200])
    expect(outcome(await project.send({}, { key: 'k' }))).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    expect(outcome(await project.send({}, { key: 'other' }))).toEqual(OVER)
    await project.limit({ transactional: 2 })
    const both = await Promise.all([project.send({}, { key: 'k' }), project.send({}, { key: 'new' })])
    expect(both.map(outcome)).toEqual([[409, 'IDEMPOTENCY_KEY_REUSED'], [200]])
  })

  test('does not count recipients that are skipped, at once or later, nor test emails', async () => {
    const project = await newProject(await owner())
    const template = await project.call('POST', '/templates', {
      name: 'News',
      subject: 'Hi',
      body: 'Hi',
      type: 'MARKETING',
      from: `hello@${project.domain}`,
    })
    await project.contacts.create('yes@example.com', { subscribed: true })
    await project.contacts.create('no@example.com', { subscribed: false })
    await project.call('POST', '/suppressions', { address: 'suppressed@example.com' })
    await project.limit({ transactional: 2 })
    const request = { template: template.body.id, to: ['yes@example.com', 'no@example.com'] }
    expect(outcome(await project.send(request))).toEqual([200])
    expect(outcome(await project.call('POST', `/templates/${template.body.id}/test`, { email: 'yes@example.com' }))).toEqual([200])
    expect(await project.usage('transactional')).toBe(1)
    // Accepted and counted, then found to be suppressed.
    expect(outcome(await project.send({ to: 'suppressed@example.com' }))).toEqual([200])
    await eventually(async () => expect(await project.usage('transactional')).toBe(1))
    expect(outcome(await project.send())).toEqual([200])
    expect(outcome(await project.send())).toEqual(OVER)
    await eventually(async () => expect(await project.expectExact()).toEqual(['attempted 2', 'transactional 2']))
  })

  test('concerns a resend too', async () => {
    const project = await newProject(await owner())
    const tooLong = { subject: '{{ long }}', data: { long: { value: 'x'.repeat(1_000), persistent: false } } }
    const id = (await project.send(tooLong)).body.data.emails[0].email
    await eventually(async () => expect((await project.call('GET', `/emails/${id}`)).body.status).toBe('FAILED'))
    await project.limit({ transactional: 1 })
    expect(outcome(await project.call('POST', `/emails/${id}/resend`))).toEqual(OVER)
    await project.limit({ transactional: 2 })
    expect((await project.call('POST', `/emails/${id}/resend`)).status).toBeLessThan(300)
    expect(await project.usage('transactional')).toBe(2)
  })

  test('begins anew with the next period', async () => {
    const project = await newProject(await owner())
    await project.limit({ transactional: 1 })
    await project.send()
    await merge()
    const hourAgo = sql`now() - interval '1 hour'`
    // A subscription whose period ended an hour ago: its next one has begun.
    await sql`update projects set period_start = now() - interval '30 days', period_end = ${hourAgo} where id = ${project.id}`.execute(
      sterna.db,
    )
    expect(outcome(await project.send())).toEqual(OVER)
    await sql`update email_counts set hour = hour - interval '2 hours' where project_id = ${project.id}`.execute(sterna.db)
    expect(outcome(await project.send())).toEqual([200])
    await merge()
    expect([await project.usage('transactional'), outcome(await project.send())]).toEqual([1, OVER])
    const { period, usage } = await project.get('billing-consumption')
    expect([new Date(period.end).getTime() - new Date(period.start).getTime() > 25 * 86_400_000, usage.total]).toEqual([true, 1])
  })

  test.each([{ transactional: -1 }, { campaigns: 0 }, { inbound: 1e20 }, { workflows: 1.5 }, { workflows: '5' }])(
    'must be a positive integer: not %j',
    async (limits) => {
      const project = await newProject(await owner())
      expect(outcome(await project.limit(limits))).toEqual([422, 'VALIDATION_ERROR'])
    },
  )

  test('owners are told once at 80 and once at 100 %', async () => {
    const person = await sterna.newPerson()
    const project = await newProject(person)
    await project.limit({ transactional: 5 })
    const subjects = async () =>
      (await sterna.accountEmailsTo(person.email)).map(({ subject }) => subject).filter((s) => s.startsWith('Test '))
    await project.send({ to: to(3) })
    await project.send()
    await eventually(async () => expect(await subjects()).toEqual(['Test has used 80% of a limit']))
    await project.send()
    await eventually(async () => expect(await subjects()).toEqual(['Test has reached a limit', 'Test has used 80% of a limit']))
  })
})

describe('a cap on campaigns', () => {
  async function newCampaign(project: Awaited<ReturnType<typeof newProject>>, contacts: number) {
    await project.contacts.createMany(contacts)
    await sql`update contacts set subscribed = true where project_id = ${project.id}`.execute(sterna.db)
    const body = { name: 'News', subject: 'Hi', body: 'Hi', from: `hello@${project.domain}`, audienceType: 'ALL', ratePerMinute: 1 }
    return (await project.call('POST', '/campaigns', body)).body.data.id as string
  }
  const campaignOf = async (project: { call: Awaited<ReturnType<typeof newProject>>['call'] }, id: string) =>
    (await project.call('GET', `/campaigns/${id}`)).body

  test('refuses to send to more recipients than it allows, and returns what is not sent', async () => {
    const project = await newProject(await owner())
    const id = await newCampaign(project, 4)
    await project.limit({ campaigns: 3 })
    expect(outcome(await project.call('POST', `/campaigns/${id}/send`))).toEqual(OVER)
    expect((await campaignOf(project, id)).status).toBe('DRAFT')
    await project.limit({ campaigns: 4 })
    expect(outcome(await project.call('POST', `/campaigns/${id}/send`))).toEqual([200])
    await eventually(async () => expect(await project.usage('campaigns')).toBe(4))
    await eventually(async () => expect((await campaignOf(project, id)).sentCount).toBe(1))
    expect(outcome(await project.call('POST', `/campaigns/${id}/cancel`))).toEqual([200])
    await transact(sterna.db, (tx) => cancelQueued(tx, { projectId: project.id, streamId: id, limit: 100 }))
    await eventually(async () => expect(await project.usage('campaigns')).toBe(1))
    await eventually(async () => expect(await project.expectExact()).toEqual(['attempted 1', 'campaigns 1']))
  })

  test('pauses a schedule that is due, which continues with a larger cap', async () => {
    const project = await newProject(await owner())
    const id = await newCampaign(project, 3)
    await project.limit({ campaigns: 2 })
    expect(outcome(await project.call('POST', `/campaigns/${id}/send`, { delaySeconds: 10 }))).toEqual(OVER)
    const scheduledFor = new Date(Date.now() + 1_000).toISOString()
    expect(outcome(await project.call('POST', `/campaigns/${id}/send`, { scheduledFor }))).toEqual([200])
    await eventually(async () =>
      expect(await campaignOf(project, id)).toMatchObject({ status: 'SENDING', pausedReason: 'billing_limit', totalRecipients: 0 }),
    )
    expect(await project.usage('campaigns')).toBe(0)
    // Room for some: the page of recipients does not fit and is not written.
    expect(outcome(await project.call('POST', `/campaigns/${id}/resume`))).toEqual([200])
    await eventually(async () => expect(await campaignOf(project, id)).toMatchObject({ pausedReason: 'billing_limit', totalRecipients: 0 }))
    await project.limit({ campaigns: 3 })
    expect(outcome(await project.call('POST', `/campaigns/${id}/resume`))).toEqual([200])
    await eventually(async () => expect(await campaignOf(project, id)).toMatchObject({ pausedReason: null, totalRecipients: 3 }))
    expect(await project.usage('campaigns')).toBe(3)
  })

  test('a campaign that is paused by it is not resumed while nothing is left', async () => {
    const project = await newProject(await owner())
    const id = await newCampaign(project, 2)
    await project.limit({ campaigns: 1 })
    await sql`
      insert into email_ledger (project_id, kind, source, hour, n)
      values (${project.id}, 'accepted', 'CAMPAIGN', date_trunc('hour', now(), 'UTC'), 1)
    `.execute(sterna.db)
    await project.call('POST', `/campaigns/${id}/send`, { scheduledFor: new Date(Date.now() + 1_000).toISOString() })
    await eventually(async () => expect((await campaignOf(project, id)).pausedReason).toBe('billing_limit'))
    expect(outcome(await project.call('POST', `/campaigns/${id}/resume`))).toEqual(OVER)
  })
})

test('a cap on workflows fails the step that would exceed it', async () => {
  const project = await newProject(await owner())
  const made = async (url: string, body: object) => (await project.call('POST', url, body)).body
  const content = { name: 'Hi', subject: 'Hi', body: 'Hi', type: 'TRANSACTIONAL', from: `hello@${project.domain}` }
  const template = await made('/templates', content)
  const workflow = await made('/workflows', { name: 'Welcome', eventName: 'signup' })
  const step = await made(`/workflows/${workflow.id}/steps`, { type: 'SEND_EMAIL', config: { templateId: template.id } })
  await made(`/workflows/${workflow.id}/transitions`, { fromStepId: workflow.steps[0].id, toStepId: step.id })
  await project.call('PATCH', `/workflows/${workflow.id}`, { enabled: true })
  await project.limit({ workflows: 1 })
  const executions = async () =>
    (await project.call('GET', `/workflows/${workflow.id}/executions`)).body.data.map(({ status }: { status: string }) => status).sort()
  await project.track({ event: 'signup', email: 'one@example.com' })
  await eventually(async () => expect(await executions()).toEqual(['COMPLETED']))
  await project.track({ event: 'signup', email: 'two@example.com' })
  await eventually(async () => expect(await executions()).toEqual(['COMPLETED', 'FAILED']))
  const [failed] = await many(
    sterna.db,
    sql<{ error: string }>`select exit_reason as error from workflow_executions where project_id = ${project.id} and status = 'FAILED'`,
  )
  expect([failed?.error, await project.usage('workflows')]).toEqual(['billing_limit', 1])
  await eventually(async () => expect(await project.expectExact()).toEqual(['attempted 1', 'workflows 1']))
})

test('a cap on received emails refuses further ones for now', async () => {
  const project = await newProject(await owner())
  const receive = (n: number) =>
    deliver(Number(env.INBOUND_SMTP_PORT), {
      to: `desk@${project.domain}`,
      message: `From: ada@example.com\nTo: desk@${project.domain}\nSubject: ${n}\nMessage-ID: <${n}.${project.id}@example.com>\n\nHello`,
    })
  await project.limit({ inbound: 1 })
  expect([await receive(1), await receive(2)]).toEqual([expect.stringMatching(/^250 /), expect.stringMatching(/^452 /)])
  expect(await project.expectExact()).toEqual(['inbound 1'])
  await project.limit({ inbound: 2 })
  expect(await receive(2)).toMatch(/^250 /)
})

test('a reset of the project keeps its usage', async () => {
  const project = await newProject(await owner())
  await project.limit({ transactional: 1 })
  await project.send()
  await merge()
  await project.post('reset')
  await eventually(async () => expect(await many(sterna.db, sql`select 1 from project_wipes where project_id = ${project.id}`)).toEqual([]))
  expect([await project.usage('transactional'), outcome(await project.send())]).toEqual([1, OVER])
})

test('a member reads the limits and an admin changes them', async () => {
  const project = await newProject(await owner())
  const member = await sterna.newPerson({ verified: true })
  await project.owner.call('POST', `/projects/${project.id}/members`, { body: { email: member.email, role: 'MEMBER' } })
  const url = `/users/@me/projects/${project.id}/billing-limits`
  expect((await member.call('GET', url)).status).toBe(200)
  expect((await member.call('PUT', url, { body: { inbound: 5 } })).status).toBe(403)
  const { body } = await project.owner.call('GET', '/users/@me/projects')
  await project.limit({ inbound: 7 })
  const [shown] = (await project.owner.call('GET', '/users/@me/projects')).body.filter(({ id }: { id: string }) => id === project.id)
  expect([body.length > 0, shown.billingLimitInbound, shown.billingLimitCampaigns]).toEqual([true, 7, null])
})

describe('in the sandbox', () => {
  const sandbox = useApp({ withWorker: false })

  test('emails are in no counts and have no caps', async () => {
    const project = await newSendingProject(sandbox)
    await project.owner.call('PUT', `/users/@me/projects/${project.id}/billing-limits`, { body: { transactional: 1 } })
    expect(outcome(await project.send({ to: to(3) }))).toEqual([200])
    expect(await one(sandbox.db, sql`select count(*)::int as n from email_ledger where hour is not null`)).toEqual({ n: 0 })
  })
})
