import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { listStuckReports, reportUsage, resolveReport } from '../../src/billing/reports.ts'
import { endSubscription, syncCustomer } from '../../src/billing/sync.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { lowestId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { beginBillingCheck, saveBillingState } from '../../src/projects/billing-state.ts'
import { WIPERS } from '../../src/wipers.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { stayWithinHour } from '../support/clock.ts'
import { countEmails, useCountedSending } from '../support/delivery/counted-sending.ts'
import { startStripeServer } from '../support/servers/stripe-server.ts'

const env: Record<string, string> = {}
let stripe: Awaited<ReturnType<typeof startStripeServer>>
beforeAll(async () => {
  stripe = await startStripeServer()
  Object.assign(env, stripe.env)
})
const { sterna, newProject, merge } = useCountedSending({ env, withWorker: false })
afterAll(() => stripe.stop())
// Usage is counted by the hour.
beforeEach(() => stayWithinHour(30))

type Project = Awaited<ReturnType<typeof newProject>>
const settings = () => loadConfig({ ...env, SECRET_KEY: 'x'.repeat(32), DATABASE_URL: sterna.url }).stripe!
const log = createLog('silent')
const reporting = (mayLeave = () => true) => ({ db: sterna.db, log, mayLeave })
const report = () => reportUsage(reporting(), settings())
const hour = (hoursAgo: number) => new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - hoursAgo * 3_600_000)
const stored = ({ id }: Project) =>
  one(
    sterna.db,
    sql<{ customer: string; subscription: string | null; start: Date | null; end: Date | null }>`
      select customer, subscription, period_start as start, period_end as end from projects where id = ${id}
    `,
  )

/** A project with a customer. */
async function newCustomer() {
  const project = await newProject(await sterna.sharedOwner())
  expect((await project.post('checkout')).body).toEqual({ url: 'https://checkout.stripe.test/cs_1' })
  return { project, customer: (await stored(project)).customer }
}

const subscription = (customer: string, more: object = {}) => ({
  id: `sub_${customer}`,
  status: 'active',
  customer,
  start: hour(30),
  periodStart: hour(30),
  periodEnd: hour(-100),
  ...more,
})

/** A project with a subscription since 30 hours ago. */
async function newSubscriber() {
  const { project, customer } = await newCustomer()
  stripe.subscriptions.push(subscription(customer))
  await syncCustomer(sterna.db, settings(), customer)
  return { project, customer }
}

const use = ({ id }: Project, category: 'transactional' | 'campaigns' | 'workflows' | 'inbound', n: number, hoursAgo: number) =>
  transact(sterna.db, (tx) => countEmails(tx, id, [{ kind: category, at: hour(hoursAgo), n }]))
const eventsOf = (customer: string) => stripe.meterEvents.filter((event) => event.customer === customer)

describe('a checkout', () => {
  test('has a customer of its own, metered prices without a quantity, and leads back to the project', async () => {
    const project = await newProject(await sterna.sharedOwner())
    stripe.requests.length = 0
    const both = await Promise.all([project.post('checkout'), project.post('checkout')])
    expect(both.map(outcome)).toEqual([[200], [200]])
    const { customer } = await stored(project)
    const session = stripe.requests.find(({ path }) => path === '/v1/checkout/sessions')!.params
    expect(stripe.customers.get(customer)!.params.get('metadata[projectId]')).toBe(project.id)
    expect([...stripe.customers.values()].filter(({ params }) => params.get('metadata[projectId]') === project.id)).toHaveLength(1)
    expect(Object.fromEntries(session)).toMatchObject({
      mode: 'subscription',
      customer,
      client_reference_id: project.id,
      'line_items[0][price]': 'price_metered1',
      'line_items[1][price]': 'price_base',
      'line_items[1][quantity]': '1',
      success_url: expect.stringContaining(`/app/p/${project.id}/settings/billing`),
    })
    expect(session.has('line_items[0][quantity]')).toBe(false)
  })

  test('is refused while there is a subscription, and for members', async () => {
    const { project } = await newSubscriber()
    expect(outcome(await project.post('checkout'))).toEqual([409, 'CONFLICT'])
    const member = await sterna.newPerson({ verified: true })
    await project.owner.call('POST', `/projects/${project.id}/members`, { body: { email: member.email, role: 'MEMBER' } })
    for (const path of ['checkout', 'billing-portal'])
      expect((await member.call('POST', `/users/@me/projects/${project.id}/${path}`)).status).toBe(403)
  })

  test('is a 503 while Stripe refuses or does not answer, without its reason', async () => {
    const project = await newProject(await sterna.sharedOwner())
    stripe.failures.push(
      { path: /customers/, status: 500, message: 'secret reason' },
      { path: /prices/, status: 401, message: 'secret reason' },
    )
    for (let attempt = 0; attempt < 2; attempt++) {
      const refused = await project.post('checkout')
      expect([outcome(refused), JSON.stringify(refused.body).includes('secret reason')]).toEqual([[503, 'SERVICE_UNAVAILABLE'], false])
    }
  })
})

test('the portal and the invoices are those of the customer', async () => {
  const nobody = await newProject(await sterna.sharedOwner())
  expect([(await nobody.post('billing-portal')).status, await nobody.get('billing-invoices')]).toEqual([
    404,
    { invoices: [], hasUnpaidInvoices: false, unpaidInvoices: [] },
  ])
  const { project, customer } = await newSubscriber()
  expect((await project.post('billing-portal')).body).toEqual({ url: `https://portal.stripe.test/${customer}` })
  const invoice = (id: string, status: string) => ({
    id,
    customer,
    number: `N-${id}`,
    status,
    currency: 'eur',
    total: 100,
    amount_due: 100,
    amount_paid: status === 'paid' ? 100 : 0,
    period_start: 1_700_000_000,
    period_end: 1_700_100_000,
    due_date: null,
    created: 1_700_100_000,
    hosted_invoice_url: `https://invoice.stripe.test/${id}`,
  })
  stripe.invoices.push(invoice('in_1', 'paid'), invoice('in_2', 'open'), { ...invoice('in_3', 'open'), customer: 'cus_other' })
  const answer = await project.get('billing-invoices')
  expect(answer).toMatchObject({ hasUnpaidInvoices: true, unpaidInvoices: [{ id: 'in_2', url: 'https://invoice.stripe.test/in_2' }] })
  expect(answer.invoices.map(({ id }: { id: string }) => id)).toEqual(['in_1', 'in_2'])
})

test('the consumption is that of the subscription’s period, and is shown also while Stripe does not answer', async () => {
  const { project, customer } = await newSubscriber()
  await use(project, 'transactional', 50, 40)
  await use(project, 'transactional', 3, 29)
  await use(project, 'inbound', 2, 0)
  stripe.customers.get(customer)!.balance = -500
  const answer = await project.get('billing-consumption')
  expect(answer).toMatchObject({
    period: { start: hour(30).toISOString(), end: hour(-100).toISOString() },
    usage: { total: 5 },
    credits: 500,
    upcomingInvoice: { currency: 'eur', total: 1234, amountDue: 1000 },
  })
  const day = (date: Date) => date.toISOString().slice(0, 10)
  expect(answer.usage.records).toEqual([
    { date: day(hour(29)), category: 'transactional', count: 3 },
    { date: day(hour(0)), category: 'inbound', count: 2 },
  ])
  stripe.failures.push({ path: /create_preview/, status: 500 })
  expect(await project.get('billing-consumption')).toMatchObject({ usage: { total: 5 }, credits: null, upcomingInvoice: null })
  expect((await project.get('billing-limits')).currency).toBe('eur')
})

describe('a notification of Stripe', () => {
  const notify = (event: object, options: { secret?: string; at?: Date; body?: string } = {}) => {
    const { payload, headers } = stripe.sign(event, options)
    return sterna.call('POST', '/webhooks/incoming/stripe', {
      body: options.body ?? payload,
      headers: { 'content-type': 'application/json', ...headers },
    })
  }
  const changed = (customer: string, id: string) => ({
    id,
    type: 'customer.subscription.updated',
    data: { object: { id: 'sub_forged', customer, status: 'active' } },
  })
  const syncJobs = async () =>
    (
      await many(
        sterna.db,
        sql<{ payload: { customer: string } }>`
          select j.payload from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
          where t.identifier = 'billing.sync'
        `,
      )
    ).map(({ payload }) => payload.customer)

  test('leads to a look-up at Stripe; its own content changes nothing', async () => {
    const { project, customer } = await newCustomer()
    expect(outcome(await notify(changed(customer, 'evt_1')))).toEqual([200])
    expect(await syncJobs()).toContain(customer)
    // Stripe has no subscription, whatever the notification says.
    await syncCustomer(sterna.db, settings(), customer)
    expect((await stored(project)).subscription).toBeNull()
    stripe.subscriptions.push(subscription(customer, { id: 'sub_old', status: 'canceled', start: hour(500) }), subscription(customer))
    await syncCustomer(sterna.db, settings(), customer)
    expect(await stored(project)).toEqual({ customer, subscription: `sub_${customer}`, start: hour(30), end: hour(-100) })
    expect((await project.owner.call('GET', `/projects/${project.id}/setup-state`)).body.hasSubscription).toBe(true)
  })

  test('counts once however often it comes', async () => {
    const { customer } = await newCustomer()
    await notify(changed(customer, 'evt_repeated'))
    await sql`select graphile_worker.remove_job(${`billing.sync:${customer}`})`.execute(sterna.db)
    for (let repeat = 0; repeat < 3; repeat++) expect((await notify(changed(customer, 'evt_repeated'))).status).toBe(200)
    expect(await syncJobs()).not.toContain(customer)
  })

  test('that was looked up earlier but is stored later does not win', async () => {
    const { project, customer } = await newCustomer()
    stripe.subscriptions.push(subscription(customer))
    const early = (await transact(sterna.db, (tx) => beginBillingCheck(tx, customer)))!
    await syncCustomer(sterna.db, settings(), customer)
    const nothing = { subscription: null, currency: null, periodStart: null, periodEnd: null }
    expect(await transact(sterna.db, (tx) => saveBillingState(tx, early, nothing))).toBe(false)
    expect((await stored(project)).subscription).toBe(`sub_${customer}`)
  })

  test.each([
    ['another secret', { secret: 'whsec_other' }],
    ['signed 6 minutes ago', { at: new Date(Date.now() - 6 * 60_000) }],
    ['signed in 6 minutes', { at: new Date(Date.now() + 6 * 60_000) }],
    ['another body', { body: JSON.stringify({ object: 'event', id: 'evt_forged', type: 'customer.subscription.deleted' }) }],
    ['the same JSON with other spaces', { body: JSON.stringify({ object: 'event', ...changed('cus_1', 'evt_forged') }, null, 1) }],
  ])('is refused and not stored: %s', async (_, options) => {
    expect(outcome(await notify(changed('cus_1', 'evt_forged'), options))).toEqual([400, 'INVALID_SIGNATURE'])
    expect(await many(sterna.db, sql`select 1 from stripe_events where id = 'evt_forged'`)).toEqual([])
  })

  test('without a signature is refused', async () => {
    expect(outcome(await sterna.call('POST', '/webhooks/incoming/stripe', { body: changed('cus_1', 'evt_2') }))).toEqual([
      400,
      'INVALID_SIGNATURE',
    ])
  })

  test('about a customer of others, or about something else, is accepted and ignored', async () => {
    await notify(changed('cus_unknown', 'evt_unknown'))
    await expect(syncCustomer(sterna.db, settings(), 'cus_unknown')).resolves.toBeUndefined()
    expect((await notify({ id: 'evt_other', type: 'charge.refunded', data: { object: { customer: 'cus_1' } } })).status).toBe(200)
    expect((await notify({ id: 'evt_odd', type: 'checkout.session.completed', data: { object: { customer: { id: 7 } } } })).status).toBe(
      200,
    )
  })
})

describe('the end of a subscription', () => {
  /** Since now, in the middle of an hour. */
  async function subscribe(customer: string, more: object = {}) {
    const id = `sub_${stripe.subscriptions.length}_${customer}`
    stripe.subscriptions.push(subscription(customer, { id, start: new Date(), periodStart: new Date(), ...more }))
    await syncCustomer(sterna.db, settings(), customer)
    return id
  }
  /** In the portal of Stripe. */
  function cancel(customer: string, endedAt = new Date()) {
    for (const each of stripe.subscriptions)
      if (each.customer === customer && each.status === 'active') Object.assign(each, { status: 'canceled', endedAt })
  }
  const reported = (customer: string) =>
    eventsOf(customer)
      .map(({ event_name, value }) => `${event_name.replace('sterna_', '')} ${value}`)
      .sort()
  const endAndReport = async (customer: string) => {
    cancel(customer)
    await syncCustomer(sterna.db, settings(), customer)
    await report()
  }

  test('within its first hour reports everything that was used, added up or not, and nothing from before it', async () => {
    const { project, customer } = await newCustomer()
    await use(project, 'transactional', 50, 0)
    await subscribe(customer)
    expect(outcome(await project.send({ to: ['a@example.com', 'b@example.com'] }))).toEqual([200])
    await use(project, 'campaigns', 7, 0)
    await merge()
    await use(project, 'transactional', 1, 0)
    await use(project, 'inbound', 4, 0)
    await endAndReport(customer)
    expect(reported(customer)).toEqual(['campaigns 7', 'inbound 4', 'transactional 3'])
    // In the period of the subscription.
    const ended = stripe.subscriptions.at(-1)!.endedAt!.getTime()
    for (const { timestamp } of eventsOf(customer)) expect(Number(timestamp) * 1000).toBeLessThan(ended)
    expect((await stored(project)).subscription).toBeNull()
    // Used afterwards, and told again, in any order: nothing more.
    await use(project, 'transactional', 9, 0)
    await merge()
    for (let repeat = 0; repeat < 2; repeat++) await endAndReport(customer)
    expect(reported(customer)).toHaveLength(3)
  })

  test('and a next one in the same hour are reported apart', async () => {
    const { project, customer } = await newCustomer()
    for (const n of [3, 5, 8]) {
      await subscribe(customer)
      await use(project, 'transactional', n, 0)
      await endAndReport(customer)
      await use(project, 'transactional', 100, 0)
      await merge()
    }
    await subscribe(customer)
    await use(project, 'transactional', 2, 0)
    await merge()
    await report()
    expect(reported(customer)).toEqual(['transactional 3', 'transactional 5', 'transactional 8'])
    expect(new Set(eventsOf(customer).map(({ identifier }) => identifier)).size).toBe(3)
    await sql`update billing_meters set since = since - interval '1 hour', reported_to = reported_to - interval '1 hour'
      where project_id = ${project.id}`.execute(sterna.db)
    await sql`update email_counts set hour = hour - interval '1 hour' where project_id = ${project.id}`.execute(sterna.db)
    await report()
    expect(reported(customer)).toEqual(['transactional 2', 'transactional 3', 'transactional 5', 'transactional 8'])
  })

  test('that is noticed late, after an outage of the workers, reports what was used until it', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'transactional', 4, 5)
    await use(project, 'transactional', 2, 3)
    await use(project, 'workflows', 6, 1)
    await merge()
    cancel(customer, new Date(hour(3).getTime() + 30 * 60_000))
    await syncCustomer(sterna.db, settings(), customer)
    await report()
    expect(reported(customer)).toEqual(['transactional 2', 'transactional 4'])
  })

  test('counts of its last hour only the emails until then', async () => {
    const { project, customer } = await newSubscriber()
    await project.send({ to: ['a@example.com', 'b@example.com', 'c@example.com'] })
    // One before the end, two after it; all in the hour before this one.
    const end = new Date(hour(1).getTime() + 30 * 60_000)
    const emails = await many(sterna.db, sql<{ id: string }>`select id from emails where project_id = ${project.id} order by id`)
    for (const [index, { id }] of emails.entries())
      await sql`update emails set id = ${lowestId(new Date(end.getTime() + (index ? 60_000 * index : -60_000)))} where project_id = ${project.id} and id = ${id}`.execute(
        sterna.db,
      )
    await merge()
    await sql`update email_counts set hour = hour - interval '1 hour' where project_id = ${project.id}`.execute(sterna.db)
    cancel(customer, end)
    await syncCustomer(sterna.db, settings(), customer)
    await report()
    expect(reported(customer)).toEqual(['transactional 1'])
    expect(Number(eventsOf(customer)[0]!.timestamp)).toBe(end.getTime() / 1000 - 1)
  })

  test('that is noticed after its last hour was reported as a full one, which Stripe refused, is not reported after its end', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'transactional', 4, 1)
    await merge()
    stripe.failures.push({ path: /meter_events/, status: 400, message: 'refused' })
    await report()
    expect(reported(customer)).toEqual([])
    const end = new Date(hour(1).getTime() + 30 * 60_000)
    cancel(customer, end)
    await syncCustomer(sterna.db, settings(), customer)
    await sql`update usage_reports set due_at = now() where customer = ${customer}`.execute(sterna.db)
    await report()
    expect(reported(customer)).toEqual(['transactional 4'])
    expect(Number(eventsOf(customer)[0]!.timestamp)).toBe(end.getTime() / 1000 - 1)
  })

  test('that began and ended during an outage is reported too, once', async () => {
    const { project, customer } = await newCustomer()
    await use(project, 'transactional', 1, 6)
    await use(project, 'transactional', 4, 4)
    await use(project, 'transactional', 8, 1)
    await merge()
    const times = { start: hour(5), endedAt: hour(2) }
    stripe.subscriptions.push(subscription(customer, { id: 'sub_missed', status: 'canceled', ...times }))
    for (let repeat = 0; repeat < 2; repeat++) {
      await syncCustomer(sterna.db, settings(), customer)
      await report()
    }
    expect(reported(customer)).toEqual(['transactional 4'])
  })

  test('is reported also if Stripe does not answer at first; the doctor lists what was not sent', async () => {
    const { project, customer } = await newCustomer()
    await subscribe(customer)
    await use(project, 'inbound', 5, 0)
    stripe.failures.push({ path: /meter_events/, status: 500, message: 'broken' })
    await endAndReport(customer)
    const stuck = async () => (await listStuckReports(sterna.db, 100)).filter(({ identifier }) => identifier.includes(project.id))
    expect([reported(customer), await stuck()]).toEqual([[], [expect.objectContaining({ value: 5, error: 'broken' })]])
    // Also if no worker has tried.
    await sql`update usage_reports set error = null, created_at = now() - interval '2 hours', due_at = now() where customer = ${customer}`.execute(
      sterna.db,
    )
    expect(await stuck()).toEqual([expect.objectContaining({ value: 5, error: null })])
    await report()
    expect([reported(customer), await stuck()]).toEqual([['inbound 5'], []])
  })
})

describe('a deleted project', () => {
  const cancellation = async () =>
    (
      await many(
        sterna.db,
        sql<{ payload: { subscription: string; projectId: string } }>`
          select j.payload from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
          where t.identifier = 'billing.cancel' order by j.id desc limit 1
        `,
      )
    )[0]!.payload
  const end = async () => endSubscription(reporting(), settings(), await cancellation())
  const statusOf = (id: string) => stripe.subscriptions.find((each) => each.id === id)!.status

  test('is invoiced for everything that was used, once that is reported', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'transactional', 4, 2)
    await merge()
    expect(outcome(await project.send())).toEqual([200])
    await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
    expect(await cancellation()).toEqual({ subscription: `sub_${customer}`, projectId: project.id })
    // Its rows are gone before the reports are sent.
    const scope = { projectId: project.id, before: 'infinity', limit: 1_000 }
    for (const wipe of WIPERS) while ((await transact(sterna.db, (tx) => wipe(tx, scope))) > 0);
    expect(await many(sterna.db, sql`select 1 from email_counts where project_id = ${project.id}`)).toEqual([])
    stripe.failures.push({ path: /meter_events/, status: 500 }, { path: /meter_events/, status: 500 })
    await end()
    expect(statusOf(`sub_${customer}`)).toBe('active')
    await sql`update usage_reports set due_at = now() where customer = ${customer}`.execute(sterna.db)
    stripe.requests.length = 0
    await end()
    expect(
      eventsOf(customer)
        .map(({ value }) => value)
        .sort(),
    ).toEqual([1, 4])
    expect(statusOf(`sub_${customer}`)).toBe('canceled')
    const last = stripe.requests.at(-1)!
    expect([last.method, last.params.get('invoice_now')]).toEqual(['DELETE', 'true'])
    // Stripe's own notification of the end changes nothing any more.
    await syncCustomer(sterna.db, settings(), customer)
    await report()
    expect(eventsOf(customer)).toHaveLength(2)
    expect(await many(sterna.db, sql`select 1 from billing_meters where project_id = ${project.id}`)).toEqual([])
  })

  test('without usage is cancelled at once, also if Stripe does not know its subscription', async () => {
    const { project, customer } = await newSubscriber()
    await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
    await end()
    expect(statusOf(`sub_${customer}`)).toBe('canceled')
    const unknown = { subscription: 'sub_unknown', projectId: project.id }
    await expect(endSubscription(reporting(), settings(), unknown)).resolves.toBeUndefined()
  })

  test('whose reports Stripe refuses is cancelled after a day', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'inbound', 4, 2)
    await merge()
    await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
    stripe.failures.push({ path: /meter_events/, status: 400, message: 'No active meter' })
    await end()
    expect(statusOf(`sub_${customer}`)).toBe('active')
    await sql`update usage_reports set created_at = now() - interval '24 hours' where customer = ${customer}`.execute(sterna.db)
    await end()
    expect(statusOf(`sub_${customer}`)).toBe('canceled')
  })
})

describe('usage', () => {
  test('is reported once per category and full hour since the subscription, with a fixed identifier', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'transactional', 9, 31)
    await use(project, 'transactional', 4, 5)
    await use(project, 'campaigns', 7, 5)
    await use(project, 'transactional', 2, 4)
    await use(project, 'transactional', 100, 0)
    await merge()
    await report()
    await report()
    const name = (date: Date) => date.toISOString().slice(0, 13).replace(/[-T]/g, '')
    const events = eventsOf(customer).map(({ event_name, value, identifier }) => [event_name, value, identifier])
    expect(events.sort()).toEqual([
      ['sterna_campaigns', 7, `sterna-${project.id}-campaigns-${name(hour(5))}`],
      ['sterna_transactional', 2, `sterna-${project.id}-transactional-${name(hour(4))}`],
      ['sterna_transactional', 4, `sterna-${project.id}-transactional-${name(hour(5))}`],
    ])
    expect(Number(eventsOf(customer)[0]!.timestamp) * 1000).toBeLessThan(hour(3).getTime())
  })

  test('that is returned after its hour was reported is subtracted from the next report', async () => {
    const { project, customer } = await newSubscriber()
    const total = () => eventsOf(customer).reduce((sum, { value }) => sum + value, 0)
    const backToHour = (hours: number) =>
      sql`update billing_meters set reported_to = ${hour(hours)} where project_id = ${project.id}`.execute(sterna.db)
    await use(project, 'campaigns', 10, 6)
    await merge()
    await report()
    expect(total()).toBe(10)
    await backToHour(6)
    await use(project, 'campaigns', -4, 6)
    await use(project, 'campaigns', 3, 5)
    await merge()
    await report()
    // Less than nothing: it waits for the next hour.
    expect(total()).toBe(10)
    await backToHour(4)
    await use(project, 'campaigns', 6, 3)
    await merge()
    await report()
    expect(total()).toBe(10 - 4 + 3 + 6)
  })

  test('is repeated after a lost answer, and counted once', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'inbound', 5, 2)
    await merge()
    // Twice: the library repeats a request on a broken connection itself.
    stripe.failures.push({ path: /meter_events/, lost: true }, { path: /meter_events/, lost: true })
    await report()
    expect(await many(sterna.db, sql`select state, error is not null as failed from usage_reports where customer = ${customer}`)).toEqual([
      { state: 'waiting', failed: true },
    ])
    await sql`update usage_reports set due_at = now() where customer = ${customer}`.execute(sterna.db)
    await report()
    expect(eventsOf(customer).map(({ value }) => value)).toEqual([5])
    expect(await many(sterna.db, sql`select state from usage_reports where customer = ${customer}`)).toEqual([{ state: 'sent' }])
  })

  test('is not repeated after 23 hours without an answer, but listed; an operator settles it', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'inbound', 5, 2)
    await merge()
    stripe.failures.push({ path: /meter_events/, status: 500, message: 'broken' })
    await report()
    const uncertain = (hours: number) =>
      sql`
        update usage_reports set uncertain_since = now() - make_interval(hours => ${hours}), due_at = now() where customer = ${customer}
      `.execute(sterna.db)
    await uncertain(24)
    await report()
    expect(eventsOf(customer)).toEqual([])
    const [stuck] = (await listStuckReports(sterna.db, 100)).filter(({ identifier }) => identifier.includes(project.id))
    expect(stuck).toMatchObject({ state: 'unknown', value: 5, error: 'broken' })
    expect(await transact(sterna.db, (tx) => resolveReport(tx, stuck!.identifier, false))).toBe(true)
    await report()
    expect(eventsOf(customer).map(({ value }) => value)).toEqual([5])
    expect(await transact(sterna.db, (tx) => resolveReport(tx, stuck!.identifier, true))).toBe(false)
  })

  test('that Stripe refuses is certainly not there, so it may be sent at any later time', async () => {
    const { project, customer } = await newSubscriber()
    await use(project, 'workflows', 5, 2)
    await merge()
    stripe.failures.push({ path: /meter_events/, status: 400, message: 'No active meter' })
    await report()
    expect(
      await many(sterna.db, sql`select state, uncertain_since as since, error from usage_reports where customer = ${customer}`),
    ).toEqual([{ state: 'waiting', since: null, error: 'No active meter' }])
    await sql`update usage_reports set created_at = now() - interval '3 days', due_at = now() where customer = ${customer}`.execute(
      sterna.db,
    )
    await report()
    expect(eventsOf(customer).map(({ value }) => value)).toEqual([5])
  })

  test('is not reported without a subscription', async () => {
    const { project, customer } = await newSubscriber()
    stripe.subscriptions.splice(0)
    await syncCustomer(sterna.db, settings(), customer)
    await use(project, 'workflows', 5, 2)
    await merge()
    await report()
    expect([eventsOf(customer), (await stored(project)).subscription]).toEqual([[], null])
  })
})

describe('without settings of Stripe', () => {
  const plain = useApp({ withWorker: false })

  test('what needs it is a 404 with a plain error, and the rest works', async () => {
    const { id, owner } = await plain.newProject()
    const at = (path: string) => `/users/@me/projects/${id}/${path}`
    for (const [method, path] of [
      ['POST', 'checkout'],
      ['POST', 'billing-portal'],
      ['GET', 'billing-invoices'],
    ] as const) {
      const { status, body } = await owner.call(method, at(path))
      expect([status, body]).toEqual([404, { error: expect.any(String) }])
    }
    expect((await plain.call('POST', '/webhooks/incoming/stripe', { body: {} })).status).toBe(404)
    expect((await owner.call('GET', at('billing-limits'))).status).toBe(200)
    const { period, usage, credits } = (await owner.call('GET', at('billing-consumption'))).body
    const month = new Date().toISOString().slice(0, 7)
    expect([period.start, usage, credits]).toEqual([`${month}-01T00:00:00.000Z`, { total: 0, records: [] }, null])
    expect((await plain.call('GET', '/config')).body.features.billing).toEqual({ enabled: false })
  })
})

test('incomplete settings stop the start', () => {
  const load = (more: Record<string, string>) => () => loadConfig(more)
  expect(load({ STRIPE_SECRET_KEY: 'sk_1' })).toThrow('STRIPE_WEBHOOK_SECRET, STRIPE_PRICE_ID')
  expect(load({ STRIPE_API_BASE: 'http://x' })).toThrow('STRIPE_SECRET_KEY')
  const all = { STRIPE_SECRET_KEY: 'sk_1', STRIPE_WEBHOOK_SECRET: 'w', STRIPE_PRICE_ID: 'price_1' }
  expect(load({ ...all, STRIPE_METERS: 'everything=x' })).toThrow('STRIPE_METERS')
  expect(loadConfig({ ...all, STRIPE_METERS: 'inbound=received' }).stripe!.meters).toEqual({ inbound: 'received' })
})
