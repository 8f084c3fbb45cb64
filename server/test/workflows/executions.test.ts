import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32' } })
let project: Awaited<ReturnType<typeof newWorkflowProject>>
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
})

let people = 0
const newAddress = () => `person${++people}@example.com`
const exit = (reason: string) => ({ type: 'EXIT', config: { reason } })

/** Every event so far was handled. */
const noReactions = () =>
  eventually(async () => expect(await many(sterna.db, sql`select 1 from reactions where project_id = ${project.id}`)).toEqual([]))

describe('an event', () => {
  test('takes the contact through the steps, with one email', async () => {
    const templateId = await project.template({ subject: 'Hi {{name}}, {{code}} {{event.code}}', from: `hello@${project.domain}` })
    const event = `signup-${++people}`
    const workflow = await project.line(
      [
        { type: 'UPDATE_CONTACT', config: { updates: { greeted: true, email: 'x@y.z' } } },
        { type: 'SEND_EMAIL', config: { templateId } },
        exit('done'),
      ],
      { eventName: event },
    )
    const email = newAddress()
    await project.track({ email, event, data: { name: 'Ada', code: { value: 'C1', persistent: false } } })
    const execution = await project.ended(workflow.id)
    expect(execution).toMatchObject({
      status: 'EXITED',
      exitReason: 'done',
      contact: { email },
      currentStep: { type: 'EXIT' },
      context: {},
    })
    expect(execution.stepExecutions.map(({ step, status }: { step: { type: string }; status: string }) => [step.type, status])).toEqual([
      ['TRIGGER', 'COMPLETED'],
      ['UPDATE_CONTACT', 'COMPLETED'],
      ['SEND_EMAIL', 'COMPLETED'],
      ['EXIT', 'COMPLETED'],
    ])
    const { emailId } = execution.stepExecutions[2]
    await eventually(async () =>
      expect(await project.email(emailId)).toMatchObject({
        subject: 'Hi Ada, C1 C1',
        to: email,
        sourceType: 'WORKFLOW',
        workflowExecutionId: execution.id,
        templateId,
        status: 'SENT',
      }),
    )
    expect((await project.contacts.find(email)).data).toEqual({ name: 'Ada', greeted: true })
    const { body: stats } = await project.call('GET', `/workflows/${workflow.id}/stats`)
    expect(stats).toMatchObject({ started: 1, steps: [{ entered: 1 }, { completed: 1 }, { completed: 1, waiting: 0 }, { completed: 1 }] })
    expect(stats.transitions.map(({ taken }: { taken: number }) => taken)).toEqual([1, 1, 1])
  })

  test('starts a workflow without re-entry once', async () => {
    const event = `once-${++people}`
    const { id } = await project.line([exit('done')], { eventName: event })
    const email = newAddress()
    await project.track({ email, event })
    const { contactId } = await project.ended(id)
    await project.track({ email, event })
    await project.track({ email: newAddress(), event })
    await eventually(async () => expect(await project.executions(id)).toHaveLength(2))
    expect(await project.executions(id, `?contactId=${contactId}`)).toHaveLength(1)
    expect((await project.call('GET', `/workflows/${id}/explain/${contactId}`)).body).toMatchObject({
      isActive: false,
      canEnter: false,
      reason: 'reentry',
      executions: [{ status: 'EXITED', exitReason: 'done' }],
    })
  })
})

describe('a condition', () => {
  test('takes one branch', async () => {
    const { id, steps } = await project.create({ eventName: `buy-${++people}` })
    await project.call('PATCH', `/workflows/${id}`, { triggerType: 'MANUAL', allowReentry: true })
    const condition = await project.addStep(id, {
      type: 'CONDITION',
      config: {
        logic: 'AND',
        groups: [
          {
            filters: [
              { field: 'data.plan', operator: 'equals', value: 'pro' },
              { field: 'context.amount', operator: 'greaterThan', value: 10 },
            ],
          },
        ],
      },
    })
    const [yes, no] = [await project.addStep(id, exit('yes')), await project.addStep(id, exit('no'))]
    await project.connect(id, steps[0].id, condition.id)
    await project.connect(id, condition.id, yes.id, 'yes')
    await project.connect(id, condition.id, no.id, 'no')
    const contact = await project.contacts.create(newAddress(), { data: { plan: 'pro' } })
    const start = (context: object) => project.call('POST', `/workflows/${id}/executions`, { contactId: contact.id, context })
    expect((await start({ amount: 11 })).status).toBe(409)
    await project.call('PATCH', `/workflows/${id}`, { enabled: true })
    for (const [amount, reason] of [
      [11, 'yes'],
      [10, 'no'],
    ] as const) {
      const { status, body } = await start({ amount })
      expect(status).toBe(201)
      await eventually(async () => expect(await project.execution(id, body.id)).toMatchObject({ status: 'EXITED', exitReason: reason }))
    }
  })
})

describe('a wait', () => {
  const waiting = async (timeout: number | null) => {
    const event = `start-${++people}`
    const awaited = `paid-${people}`
    const { id, steps } = await project.create({ eventName: event })
    const wait = await project.addStep(id, { type: 'WAIT_FOR_EVENT', config: { eventName: awaited, timeout } })
    const [paid, late] = [await project.addStep(id, exit('paid')), await project.addStep(id, exit('late'))]
    await project.connect(id, steps[0].id, wait.id)
    await project.connect(id, wait.id, paid.id)
    await project.connect(id, wait.id, late.id, 'timeout')
    await project.call('PATCH', `/workflows/${id}`, { enabled: true })
    return { id, event, awaited, waitId: wait.id }
  }

  test('ends by its event, whose data is in the context', async () => {
    const { id, event, awaited, waitId } = await waiting(3_600)
    const email = newAddress()
    await project.track({ email, event })
    await eventually(async () =>
      expect(await project.executions(id)).toMatchObject([{ status: 'WAITING', currentStepId: waitId, awaits: awaited }]),
    )
    await project.track({ email: newAddress(), event: awaited })
    await project.track({ email, event: awaited, data: { amount: { value: 5, persistent: false } } })
    expect(await project.ended(id)).toMatchObject({
      status: 'EXITED',
      exitReason: 'paid',
      awaits: null,
      context: { lastEvent: { name: awaited, data: { amount: 5 } } },
    })
  })

  test('ends by its timeout', async () => {
    const { id, event } = await waiting(3_600)
    await project.track({ email: newAddress(), event })
    const { id: executionId, startedAt, dueAt } = await project.waiting(id)
    // The time of the event that started it, which is a moment earlier, and the timeout: not the seconds after which it is taken.
    expect(Date.parse(dueAt)).toBeLessThanOrEqual(Date.parse(startedAt) + 3_600_000)
    await project.elapse(executionId)
    expect(await project.ended(id)).toMatchObject({ exitReason: 'late' })
  })

  test('is not missed by an event that follows at once', async () => {
    const { id, event, awaited } = await waiting(3_600)
    const email = newAddress()
    await project.track({ email, event })
    await project.track({ email, event: awaited })
    expect(await project.ended(id)).toMatchObject({ exitReason: 'paid' })
  })

  test('is not ended by an earlier event that is handled only now', async () => {
    const { id, event, awaited } = await waiting(3_600)
    const email = newAddress()
    await project.track({ email, event })
    const { id: executionId } = await project.waiting(id)
    // As if the step before had ended in an hour: the next event is then too early.
    const arrive = (after: string) =>
      sql`update workflow_executions set arrived_at = now() + ${after}::interval where id = ${executionId}`.execute(sterna.db)
    await arrive('1 hour')
    await project.track({ email, event: awaited, data: { n: { value: 1, persistent: false } } })
    await noReactions()
    expect(await project.execution(id, executionId)).toMatchObject({ status: 'WAITING' })
    await arrive('0 seconds')
    await project.track({ email, event: awaited, data: { n: { value: 2, persistent: false } } })
    expect(await project.ended(id)).toMatchObject({ exitReason: 'paid', context: { lastEvent: { data: { n: 2 } } } })
  })

  test('is neither ended nor brought forward by an event during the delay before it', async () => {
    const awaited = `paid-${++people}`
    const { id, steps } = await project.line([
      { type: 'DELAY', config: { amount: 1, unit: 'days' } },
      { type: 'WAIT_FOR_EVENT', config: { eventName: awaited } },
      exit('paid'),
    ])
    const email = newAddress()
    await project.start(id, (await project.contacts.create(email)).id)
    const { id: executionId } = await project.waiting(id)
    const dueOf = async () =>
      await one(sterna.db, sql<{ due: Date }>`select due_at as due from workflow_executions where id = ${executionId}`)
    const { due } = await dueOf()
    await project.track({ email, event: awaited })
    await noReactions()
    expect((await dueOf()).due).toEqual(due)
    expect(await project.execution(id, executionId)).toMatchObject({ status: 'WAITING', currentStepId: steps[0] })
    await project.elapse(executionId)
    await eventually(async () => expect(await project.executions(id)).toMatchObject([{ status: 'WAITING', currentStepId: steps[1] }]))
    await project.track({ email, event: awaited })
    expect(await project.ended(id)).toMatchObject({ exitReason: 'paid' })
  })
})

describe('cancelling', () => {
  test('ends an execution once, those that match, and all that are active', async () => {
    const event = `cancel-${++people}`
    const { id } = await project.line([{ type: 'DELAY', config: { amount: 1, unit: 'days' } }], { eventName: event })
    for (let n = 0; n < 3; n++) await project.track({ email: newAddress(), event })
    const active = await eventually(async () => {
      const found = await project.executions(id, '?status=WAITING')
      expect(found).toHaveLength(3)
      return found
    })
    expect((await project.call('DELETE', `/workflows/${id}`)).status).toBe(409)
    const cancel = () => project.call('DELETE', `/workflows/${id}/executions/${active[0].id}`)
    expect(await cancel()).toMatchObject({ status: 200, body: { status: 'CANCELLED', exitReason: 'cancelled' } })
    expect((await cancel()).status).toBe(409)
    const cancelAll = (query = '') => project.call('POST', `/workflows/${id}/executions/cancel-all${query}`)
    expect((await cancelAll(`?stepID=${id}`)).status).toBe(422) // a misspelt filter cancels nothing
    expect((await cancelAll('?status=RUNNING')).body).toEqual({ cancelled: 0 })
    expect((await cancelAll(`?stepId=${id}`)).body).toEqual({ cancelled: 0 })
    expect((await cancelAll(`?contactId=${active[1].contactId}`)).body).toEqual({ cancelled: 1 })
    expect((await cancelAll()).body).toEqual({ cancelled: 1 })
    expect((await project.call('GET', `/workflows/${id}/stats`)).body.steps[1]).toMatchObject({ entered: 3, waiting: 0, cancelled: 3 })
    expect((await project.call('DELETE', `/workflows/${id}`)).status).toBe(204)
  })

  test('follows the deletion of the contact', async () => {
    const event = `gone-${++people}`
    const { id } = await project.line([{ type: 'DELAY', config: { amount: 1, unit: 'days' } }], { eventName: event })
    await project.track({ email: newAddress(), event })
    const [{ contactId }] = await eventually(async () => {
      const found = await project.executions(id, '?status=WAITING')
      expect(found).toHaveLength(1)
      return found
    })
    await project.call('DELETE', `/contacts/${contactId}`)
    expect(await project.ended(id)).toMatchObject({ status: 'CANCELLED', exitReason: 'contact_deleted', contact: null })
  })
})

describe('an email step', () => {
  test('is skipped for an unsubscribed contact, and fails without a sender', async () => {
    const event = `mail-${++people}`
    const marketing = await project.template({ type: 'MARKETING', from: `hello@${project.domain}` })
    const skipped = await project.line([{ type: 'SEND_EMAIL', config: { templateId: marketing } }], { eventName: event })
    const nameless = await project.template()
    const failing = await project.line([{ type: 'SEND_EMAIL', templateId: nameless }], { eventName: event })
    expect((await project.get(failing.id)).problems).toMatchObject([{ stepId: failing.steps[0], code: 'no_sender' }])
    await project.track({ email: newAddress(), event, subscribed: false })
    expect(await project.ended(skipped.id)).toMatchObject({
      status: 'COMPLETED',
      stepExecutions: [{}, { status: 'SKIPPED', output: { reason: 'unsubscribed' } }],
    })
    expect(await project.ended(failing.id)).toMatchObject({ status: 'FAILED', exitReason: 'no_sender' })
  })

  test('to a custom address shows the data of the execution’s contact and nothing of the recipient’s', async () => {
    const event = `custom-${++people}`
    const templateId = await project.template({ subject: '{{email}}|{{plan}}|{{secret}}', from: `hello@${project.domain}` })
    const sales = newAddress()
    await project.contacts.create(sales, { data: { plan: 'internal', secret: 'hidden' } })
    const recipient = { type: 'CUSTOM', customEmail: sales }
    const { id } = await project.line([{ type: 'SEND_EMAIL', config: { templateId, recipient } }], { eventName: event })
    const email = newAddress()
    await project.track({ email, event, data: { plan: 'pro' } })
    const { emailId } = (await project.ended(id)).stepExecutions[1]
    await eventually(async () =>
      expect(await project.email(emailId)).toMatchObject({ status: 'SENT', to: sales, subject: `${email}|pro|` }),
    )
  })
})

describe('a webhook', () => {
  test('is tried again, then signed with the secret of the project and the same id', async () => {
    const received: { headers: IncomingHttpHeaders; body: string }[] = []
    const server = createServer((req, res) => {
      let body = ''
      req.on('data', (chunk) => (body += chunk))
      req.on('end', () => {
        received.push({ headers: req.headers, body })
        res.writeHead(received.length === 1 ? 503 : 200).end()
      })
    }).listen(0, '127.0.0.2')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const event = `hook-${++people}`
    const config = {
      url: `http://127.0.0.2:${port}/in?plan={{plan}}`,
      headers: { 'X-Plan': '{{plan}}' },
      body: { text: 'for "{{plan}}" <{{email}}>' },
    }
    const { id } = await project.line([{ type: 'WEBHOOK', config }], { eventName: event })
    const email = newAddress()
    await project.track({ email, event, data: { plan: 'pro' } })
    const [waiting] = await eventually(async () => {
      const found = await project.executions(id)
      expect(received).toHaveLength(1)
      expect(found).toMatchObject([{ status: 'WAITING' }])
      return found
    })
    // The first attempt is counted a moment after its response.
    await eventually(async () => {
      const due = sql`update workflow_executions set due_at = now() where id = ${waiting.id} and attempts = 1 returning 1`
      expect(await many(sterna.db, due)).toHaveLength(1)
    })
    const execution = await project.ended(id)
    server.close()
    expect(execution).toMatchObject({
      status: 'COMPLETED',
      stepExecutions: [{}, { status: 'COMPLETED', output: { status: 200, attempts: 2 } }],
    })
    const [first, second] = received as [(typeof received)[0], (typeof received)[0]]
    expect(JSON.parse(second.body)).toEqual({ text: `for "pro" <${email}>` })
    expect(second.headers).toMatchObject({ 'x-plan': 'pro', 'content-type': 'application/json', host: `127.0.0.2:${port}` })
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
    const { secret } = (await project.owner.call('GET', `/projects/${project.id}/webhook-secret`)).body
    const signed = `${second.headers['webhook-id']}.${second.headers['webhook-timestamp']}.${second.body}`
    const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
      .update(signed)
      .digest('base64')
    expect(second.headers['webhook-signature']).toBe(`v1,${signature}`)
  })
})

describe('a simulation', () => {
  test('shows the path, and stores nothing', async () => {
    const templateId = await project.template({ subject: 'Hi {{name}}', from: `hello@${project.domain}` })
    const { id } = await project.line([
      { type: 'SEND_EMAIL', config: { templateId } },
      { type: 'DELAY', config: { amount: 2, unit: 'days' } },
      { type: 'WEBHOOK', config: { url: 'https://example.com/{{name}}' } },
      { type: 'WEBHOOK', config: { url: 'https://example.com/again' } },
      exit('over'),
    ])
    const before = await sterna.digest()
    const { body } = await project.call('POST', `/workflows/${id}/simulate`, {
      contact: { data: { name: 'Ada' } },
      at: '2026-01-01T00:00:00.000Z',
    })
    expect(body).toMatchObject({
      end: 'EXITED',
      reason: 'over',
      endsAt: '2026-01-03T00:00:00.000Z',
      path: [
        { type: 'TRIGGER' },
        { type: 'SEND_EMAIL', at: '2026-01-01T00:00:00.000Z', result: { subject: 'Hi Ada' } },
        { type: 'DELAY' },
        { type: 'WEBHOOK', at: '2026-01-03T00:00:00.000Z', result: { url: 'https://example.com/Ada', method: 'POST' } },
        { type: 'WEBHOOK' },
        { type: 'EXIT' },
      ],
    })
    const shown = body.path.slice(3, 5).map(({ result }: { result: { body: string } }) => JSON.parse(result.body).execution)
    expect(shown[0]).toEqual({ id: expect.any(String), startedAt: '2026-01-01T00:00:00.000Z' })
    expect(shown[1]).toEqual(shown[0])
    expect(await sterna.digest()).toBe(before)
  })
})
