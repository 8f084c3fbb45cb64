import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYSTEM } from '../../src/campaigns/draft/audit.ts'
import { freezeNextPage } from '../../src/campaigns/sending/freeze.ts'
import { pauseCampaign } from '../../src/campaigns/sending/pause.ts'
import { reserveRecipients } from '../../src/campaigns/sending/reserve.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { outcome } from '../support/answers.ts'
import { startApp } from '../support/app.ts'
import { useCountedSending } from '../support/delivery/counted-sending.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { freePort } from '../support/process.ts'
import { deliver } from '../support/servers/smtp-client.ts'

const env: Record<string, string> = {}
beforeAll(async () => {
  Object.assign(env, { INBOUND_SMTP_PORT: String(await freePort()), INBOUND_SMTP_HOST: '127.0.0.1' })
})
const { sterna, newProject } = useCountedSending({ env })
type Project = Awaited<ReturnType<typeof newProject>>

/** A second node on the same database. */
let other: Awaited<ReturnType<typeof startApp>>
let otherPort: number
beforeAll(async () => {
  otherPort = await freePort()
  other = await startApp(sterna.url, { env: { ...env, INBOUND_SMTP_PORT: String(otherPort) } })
})
afterAll(() => other.close())

const nodeOf = (n: number) => (n % 2 ? other.sterna : sterna)
const to = (count: number, name = 'r') => Array.from({ length: count }, (_, n) => `${name}${n}@example.com`)
const all = <T>(count: number, work: (n: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, n) => work(n)))

/** Sends by one of the nodes, again while that one is busy. */
async function send(project: Project, n: number, recipients: string[], headers: Record<string, string> = {}) {
  const body = { to: recipients, from: `hello@${project.domain}`, subject: 'Hi', body: 'Hi' }
  for (;;) {
    const { status } = await nodeOf(n).call('POST', '/v1/send', { key: project.sk, body, headers })
    if (status !== 503) return status
  }
}

const deadlocks = async () =>
  (await one(sterna.db, sql<{ n: number }>`select deadlocks::int as n from pg_stat_database where datname = current_database()`)).n

/** As many as the limit allows, and the figures show it. */
async function expectUsed(project: Project, category: string, limit: number) {
  expect((await project.get('billing-limits'))[category]).toMatchObject({ usage: limit, percentage: 100, isBlocked: true })
  await eventually(async () => expect(await project.expectExact()).toContain(`${category} ${limit}`))
}

describe('a cap is not exceeded by requests at the same moment', () => {
  test('80 requests of one email, with room for 10', async () => {
    const project = await newProject(await sterna.sharedOwner())
    await project.limit({ transactional: 10 })
    const statuses = await all(80, (n) => send(project, n, to(1), n % 3 ? {} : { 'idempotency-key': `k${n}` }))
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(new Set(statuses)).toEqual(new Set([200, 402]))
    await expectUsed(project, 'transactional', 10)
  })

  test('a request that is checked while another one is being written waits for it', async () => {
    const project = await newProject(await sterna.sharedOwner())
    await project.limit({ transactional: 1 })
    let second: Promise<number> | undefined
    const first = await whileSleeping(
      sterna.db,
      { on: 'insert', table: 'emails', when: sql`new.to_address = 'slow@example.com' and new.project_id = ${sql.lit(project.id)}` },
      async () => ({
        started: { status: send(project, 0, ['slow@example.com']) },
        meanwhile: () => (second = send(project, 1, ['quick@example.com'])),
      }),
    )
    expect([await first.status, await second]).toEqual([200, 402])
  })

  test('received emails', async () => {
    const project = await newProject(await sterna.sharedOwner())
    await project.limit({ inbound: 3 })
    const replies = await all(12, (n) =>
      deliver(n % 2 ? otherPort : Number(env.INBOUND_SMTP_PORT), {
        to: `desk@${project.domain}`,
        message: `From: ada@example.com\nTo: desk@${project.domain}\nMessage-ID: <${n}.${project.id}@example.com>\n\nHello`,
      }),
    )
    expect(replies.filter((reply) => reply.startsWith('250 '))).toHaveLength(3)
    await expectUsed(project, 'inbound', 3)
  })

  test('emails of workflows', async () => {
    const project = await newProject(await sterna.sharedOwner())
    const made = async (url: string, body: object) => (await project.call('POST', url, body)).body
    const content = { name: 'Hi', subject: 'Hi', body: 'Hi', type: 'TRANSACTIONAL', from: `hello@${project.domain}` }
    const template = await made('/templates', content)
    const workflow = await made('/workflows', { name: 'Welcome', eventName: 'signup' })
    const config = { templateId: template.id, recipient: { type: 'CUSTOM', customEmail: 'desk@example.com' } }
    const step = await made(`/workflows/${workflow.id}/steps`, { type: 'SEND_EMAIL', config })
    await made(`/workflows/${workflow.id}/transitions`, { fromStepId: workflow.steps[0].id, toStepId: step.id })
    await project.call('PATCH', `/workflows/${workflow.id}`, { enabled: true })
    await project.limit({ workflows: 5 })
    await all(16, (n) => project.track({ event: 'signup', email: `w${n}@example.com` }))
    const ended = sql<{ status: string; n: number }>`
      select status, count(*)::int as n from workflow_executions where project_id = ${project.id} group by 1 order by 1`
    await eventually(async () =>
      expect(await many(sterna.db, ended)).toEqual([
        { status: 'COMPLETED', n: 5 },
        { status: 'FAILED', n: 11 },
      ]),
    )
    await expectUsed(project, 'workflows', 5)
  })
})

describe('recipients of campaigns', () => {
  /** A campaign that workers do not see: it starts when its status is changed. */
  async function newCampaign(project: Project) {
    const body = { name: 'News', subject: 'Hi', body: 'Hi', from: `hello@${project.domain}`, audienceType: 'ALL', ratePerMinute: 1 }
    return (await project.call('POST', '/campaigns', body)).body.data.id as string
  }
  async function withContacts(count: number) {
    const project = await newProject(await sterna.sharedOwner())
    await project.contacts.createMany(count)
    await sql`update contacts set subscribed = true where project_id = ${project.id}`.execute(sterna.db)
    return project
  }
  const stateOf = (project: Project) =>
    many(
      sterna.db,
      sql<{ total: number; reason: string | null; reserved: number | null }>`
        select total_recipients as total, paused_reason as reason, reserved from campaigns
        where project_id = ${project.id} order by total_recipients, id`,
    )

  test('of several campaigns at once do not exceed the cap; a campaign without room is paused', async () => {
    const project = await withContacts(6)
    const campaigns = [await newCampaign(project), await newCampaign(project), await newCampaign(project)]
    await project.limit({ campaigns: 12 })
    // Checked one by one they fit; together they do not.
    const started = await Promise.all(campaigns.map((id) => project.call('POST', `/campaigns/${id}/send`)))
    expect(started.map(outcome)).toEqual([[200], [200], [200]])
    await eventually(async () =>
      expect(await stateOf(project)).toEqual([
        { total: 0, reason: 'billing_limit', reserved: null },
        { total: 6, reason: null, reserved: null },
        { total: 6, reason: null, reserved: null },
      ]),
    )
    await expectUsed(project, 'campaigns', 12)
  })

  test('are reserved before they are written: what is left is room for others', async () => {
    const project = await withContacts(3)
    await project.limit({ campaigns: 5 })
    const key = await sleepingCampaign(project)
    expect(await reserveRecipients(sterna.db, key)).toBe(true)
    expect((await stateOf(project))[0]).toMatchObject({ total: 0, reserved: 3 })
    // 2 are left, whichever node asks; the reservation is not shown as usage.
    const second = await newCampaign(project)
    expect(outcome(await project.call('POST', `/campaigns/${second}/send`))).toEqual([402, 'BILLING_LIMIT_EXCEEDED'])
    expect(await project.usage('campaigns')).toBe(0)
    // The process that reserved them died; another one writes the page and returns the rest.
    await sql`update contacts set subscribed = false where project_id = ${project.id} and id = (
      select min(id::text)::uuid from contacts where project_id = ${project.id})`.execute(sterna.db)
    await wake(key)
    await eventually(async () => expect((await stateOf(project)).at(-1)).toMatchObject({ total: 2, reason: null, reserved: null }))
    expect(await project.usage('campaigns')).toBe(2)
    expect(outcome(await project.call('POST', `/campaigns/${second}/send`))).toEqual([200])
    await eventually(async () => expect(await project.usage('campaigns')).toBe(4))
  })

  test('that are reserved and never written are returned with the end of the campaign', async () => {
    const project = await withContacts(3)
    await project.limit({ campaigns: 3 })
    const key = await sleepingCampaign(project)
    expect(await reserveRecipients(sterna.db, key)).toBe(true)
    const second = await newCampaign(project)
    expect(outcome(await project.call('POST', `/campaigns/${second}/send`))).toEqual([402, 'BILLING_LIMIT_EXCEEDED'])
    expect(outcome(await project.call('POST', `/campaigns/${key.id}/cancel`))).toEqual([200])
    await wake(key)
    expect(outcome(await project.call('POST', `/campaigns/${second}/send`))).toEqual([200])
    await eventually(async () => expect(await project.usage('campaigns')).toBe(3))
  })

  test.each([
    { reason: 'audience_failed', resumed: [200], reserves: false },
    { reason: 'billing_limit', resumed: [402, 'BILLING_LIMIT_EXCEEDED'], reserves: true },
  ] as const)('are returned by a pause that stops their writing: $reason', async ({ reason, resumed, reserves }) => {
    const project = await withContacts(3)
    await project.limit({ campaigns: 3 })
    const key = await sleepingCampaign(project)
    expect(await reserveRecipients(sterna.db, key)).toBe(true)
    await transact(sterna.db, (tx) => pauseCampaign(tx, key, { reason, actor: SYSTEM }))
    expect(await stateOf(project)).toEqual([{ total: 0, reason, reserved: null }])
    // Nor does a worker that was about to reserve them do so now.
    expect(await reserveRecipients(sterna.db, key)).toBe(true)
    expect(await stateOf(project)).toEqual([{ total: 0, reason, reserved: null }])
    const second = await newCampaign(project)
    expect(outcome(await project.call('POST', `/campaigns/${second}/send`))).toEqual([200])
    expect(await reserveRecipients(sterna.db, { projectId: project.id, id: second })).toBe(true)
    expect(outcome(await project.call('POST', `/campaigns/${key.id}/resume`))).toEqual(resumed)
    // Nothing is left for it; while it is paused, it asks for nothing.
    expect(await reserveRecipients(sterna.db, key)).toBe(reserves)
  })

  test('that become more while they are written are counted again', async () => {
    const project = await withContacts(4)
    await sql`update contacts set subscribed = email < 'm' where project_id = ${project.id}`.execute(sterna.db)
    await project.limit({ campaigns: 4 })
    const key = await sleepingCampaign(project)
    await sql`update contacts set subscribed = false where project_id = ${project.id}`.execute(sterna.db)
    expect(await reserveRecipients(sterna.db, key)).toBe(true)
    expect((await stateOf(project))[0]).toMatchObject({ reserved: 0 })
    await sql`update contacts set subscribed = true where project_id = ${project.id}`.execute(sterna.db)
    await wake(key)
    await eventually(async () => expect(await stateOf(project)).toEqual([{ total: 4, reason: null, reserved: null }]))
    await expectUsed(project, 'campaigns', 4)
  })

  test('that took too long to count are reserved page by page, and not counted again; they may fill the cap', async () => {
    const project = await withContacts(4)
    await project.limit({ campaigns: 4 })
    const key = await sleepingCampaign(project)
    // The page after these four contacts is the last one, and empty.
    await sql`update campaigns set reserved_for = 'page', freeze_page = 4 where project_id = ${project.id} and id = ${key.id}`.execute(
      sterna.db,
    )
    await sql`update contacts set subscribed = email not like '%0@%' where project_id = ${project.id}`.execute(sterna.db)
    expect(await reserveRecipients(sterna.db, key)).toBe(true)
    expect(await stateOf(project)).toEqual([{ total: 0, reason: null, reserved: 4 }])
    await sql`update contacts set subscribed = true where project_id = ${project.id}`.execute(sterna.db)
    const isBetweenPages = sql`new.id = ${sql.lit(key.id)} and new.total_recipients = 4 and new.reserved is null and new.reserved_for = 'page'`
    const { page } = await whileSleeping(sterna.db, { table: 'campaigns', when: isBetweenPages }, async () => {
      // Now, and not before: the worker may be first to write the page.
      await wake(key)
      return { started: { page: freezeNextPage(sterna.db, key, createLog('silent')) }, meanwhile: async () => {} }
    })
    await page
    const frozen = sql`select 1 from campaigns where project_id = ${project.id} and frozen_at is not null`
    await eventually(async () => expect(await many(sterna.db, frozen)).toHaveLength(1))
    expect(await stateOf(project)).toEqual([{ total: 4, reason: null, reserved: null }])
  })

  /** Its recipients are not written until `wake`: to workers it looks as if its project was being reset. */
  async function sleepingCampaign(project: Project) {
    await sql`insert into project_wipes (project_id, requested_at) values (${project.id}, 'infinity')`.execute(sterna.db)
    const id = await newCampaign(project)
    expect(outcome(await project.call('POST', `/campaigns/${id}/send`))).toEqual([200])
    return { projectId: project.id, id }
  }
  const wake = ({ projectId }: { projectId: string }) => sql`delete from project_wipes where project_id = ${projectId}`.execute(sterna.db)

  test('are not reserved, nor is anything locked, without a cap', async () => {
    const project = await withContacts(2)
    const key = await sleepingCampaign(project)
    await wake(key)
    for (let turn = 0; turn < 3; turn++) await freezeNextPage(sterna.db, key, createLog('silent'))
    await eventually(async () => expect(await stateOf(project)).toEqual([{ total: 2, reason: null, reserved: null }]))
  })
})

test('many categories, batches and projects at once: no deadlock, and no cap exceeded', async () => {
  const projects = await Promise.all([1, 2, 3].map(async () => newProject(await sterna.sharedOwner())))
  for (const project of projects) await project.limit({ transactional: 40, inbound: 6 })
  const before = await deadlocks()
  const statuses = await Promise.all([
    // Contacts of all requests are the same, in different orders.
    all(90, async (n) => {
      const project = projects[n % 3]!
      const recipients = n % 2 ? to(3) : to(3).reverse()
      return `${n % 3} ${await send(project, n, recipients, n % 4 ? {} : { 'idempotency-key': newId() })}`
    }),
    all(24, (n) => {
      // Two recipients of different projects, in both orders.
      const [a, b] = [projects[n % 3]!, projects[(n + 1 + (n % 2)) % 3]!]
      const addresses = n % 2 ? [`a@${a.domain}`, `b@${b.domain}`] : [`a@${b.domain}`, `b@${a.domain}`]
      return deliver(n % 2 ? otherPort : Number(env.INBOUND_SMTP_PORT), {
        to: addresses,
        message: `From: ada@example.com\nMessage-ID: <${n}.mixed.${a.id}@example.com>\n\nHello`,
      })
    }),
  ])
  expect(await deadlocks()).toBe(before)
  for (const [n, project] of projects.entries()) {
    expect(statuses[0].filter((status) => status === `${n} 200`)).toHaveLength(13)
    const { transactional, inbound } = await project.get('billing-limits')
    expect([transactional.usage, inbound.usage <= 6]).toEqual([39, true])
  }
  // A message is refused as a whole, so at most one place of a project can be left.
  expect(statuses[1].filter((reply) => reply.startsWith('250')).length).toBeGreaterThan(0)
})

// The last one: workers are busy with its emails afterwards.
test('of 20 requests of 100 emails at the same moment, with room for 200, two are accepted', async () => {
  const project = await newProject(await sterna.sharedOwner())
  await project.limit({ transactional: 200 })
  const statuses = await all(20, (n) => send(project, n, to(100, `n${n}x`)))
  expect(statuses.sort()).toEqual([200, 200, ...Array(18).fill(402)])
  await expectUsed(project, 'transactional', 200)
})
